"""Bound plans of queries and of relations by their names, kept until a definition changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock

from tidings.errors import InvalidExpression, UnknownRelation
from tidings.exclusive import exclusive
from tidings.ir.expression import Expression
from tidings.ir.relation import Relation, Scan
from tidings.lang.sql import statement
from tidings.lang.sql.bind import bind
from tidings.lang.sql.context import Analyzer
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View


@dataclass(slots=True)
class Plans:
    """The plans of one database; transactions of other threads ask for them too."""

    relations: Relations
    analyzer: Analyzer
    _mutex: RLock
    _known: dict[str, Relation] = field(default_factory=dict)

    @exclusive
    def plan(self, text: str) -> Relation:
        """The bound plan of a query or of a relation's name."""
        if text not in self._known:
            match self.relations.find(text):
                case View(plan=plan):
                    self._known[text] = plan
                case Table() | StoredView() as kept:
                    self._known[text] = Scan(kept.name, kept.name, kept.columns)
                case None:
                    self._known[text] = self.read(text)
        return self._known[text]

    def followed(self, text: str) -> Callable[[], Relation]:
        """The plan of what somebody follows, whenever it is asked for; refused if that was a name and is gone."""
        is_name = self.relations.find(text) is not None

        def plan() -> Relation:
            if is_name and self.relations.find(text) is None:
                raise UnknownRelation(name=text)
            return self.plan(text)

        return plan

    def read(self, text: str) -> Relation:
        """The bound plan of a query's text."""
        read = statement.read(text)
        if len(read) != 1 or not isinstance(read[0], statement.Query):
            raise InvalidExpression(reason="one query is expected here, or the name of a table or view")
        return self.bind(read[0].query, text, query_text=read[0].query_text)

    @exclusive
    def bind(self, query: Expression, text: str, name: str = "result", query_text: str | None = None) -> Relation:
        """The bound plan of a query; places in it refer to the text, ``query_text`` is the query's part of it."""
        return bind(query, text, self.relations, self.analyzer, name, query_text)

    def named(self, text: str) -> str:
        """What the relation is called that a text asks for."""
        found = self.relations.find(text)
        return "result" if found is None else found.name

    def forget(self) -> None:
        """A definition has changed."""
        self._known.clear()
