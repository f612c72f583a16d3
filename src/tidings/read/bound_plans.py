"""Binds queries and names of relations to plans, each once until a definition changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock

from tidings.compiled import CompiledPlans
from tidings.engine.backend import Backend
from tidings.errors import InvalidExpression
from tidings.exclusive import exclusive
from tidings.ir.expression import Expression
from tidings.ir.relation import Relation, Scan
from tidings.lang.sql import statement
from tidings.lang.sql.bind import bind
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View


@dataclass(slots=True)
class BoundPlans:
    """The bound plans of one database; transactions of other threads ask for them too."""

    relations: Relations
    backend: Backend
    compiled: CompiledPlans
    _mutex: RLock
    _plans: dict[str, Relation] = field(init=False)
    """Plans by the text of the query, or the name of the relation."""

    def __post_init__(self) -> None:
        self._plans = self.compiled.section()

    @exclusive
    def plan(self, text: str) -> Relation:
        """The bound plan of a query or of a relation's name."""
        if text not in self._plans:
            match self.relations.find(text):
                case View(plan=plan):
                    self._plans[text] = plan
                case Table() | StoredView() as relation:
                    self._plans[text] = Scan(relation.name, relation.name, relation.columns)
                case None:
                    self._plans[text] = self.parse(text)
        return self._plans[text]

    def parse(self, text: str) -> Relation:
        """The bound plan of a query's text."""
        parsed = statement.read(text)
        if len(parsed) != 1 or not isinstance(parsed[0], statement.Query):
            raise InvalidExpression(reason="one query is expected here, or the name of a table or view")
        return self.bind(parsed[0].query, text, own=parsed[0].own)

    @exclusive
    def bind(self, query: Expression, text: str, name: str = "result", own: str | None = None) -> Relation:
        """The bound plan of a query; places in it refer to the text, ``own`` is the query's part of it."""
        return bind(query, text, self.relations, self.backend, name, own)

    def relation_name(self, text: str) -> str:
        """The name of the relation that a text asks for; ``result`` for a query."""
        relation = self.relations.find(text)
        return "result" if relation is None else relation.name
