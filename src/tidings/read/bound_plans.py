"""Binds queries and names of relations to plans, each once until a definition changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tidings.analysis.influents import reads
from tidings.compiled import CompiledPlans
from tidings.errors import InvalidExpression, Place, UnknownRelation, UnsupportedStatement, closest
from tidings.exclusive import Mutex, exclusive
from tidings.ir.expression import Expression
from tidings.ir.relation import Relation, Scan
from tidings.lang.sql import statement
from tidings.lang.sql.bind import bind
from tidings.lang.sql.context import Analyzer
from tidings.lang.sql.instant import with_instant
from tidings.lang.sql.names import session_name
from tidings.lang.sql.parameters import Params
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View

_NAME = re.compile(r"\s*(?:default\s*\.\s*)?(`[^`]+`|[^\W\d][\w.]*)\s*;?\s*", re.IGNORECASE)
"""A text that is one name, perhaps of a schema too; names without one are those of ``default``."""


@dataclass(slots=True)
class BoundPlans:
    """The bound plans of one database; transactions of other threads ask for them too."""

    relations: Relations
    analyzer: Analyzer
    _mutex: Mutex
    compiled: CompiledPlans = field(default_factory=CompiledPlans)
    _plans: dict[str, Relation] = field(init=False)
    """Plans by the text of the query, or the name of the relation."""
    _asked_once: dict[str, Relation] = field(init=False)
    """The same for queries that are asked once, which keep the order of their rows."""

    def __post_init__(self) -> None:
        self._plans, self._asked_once = self.compiled.section(), self.compiled.section()

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

    @exclusive
    def asked_once(self, text: str, params: Params | None = None) -> Relation:
        """The same for a question that is answered now: its rows have their places, if it says an order."""
        if params is not None:
            return self.parse(text, params, once=True)
        if self.relations.find(text) is not None:
            return self.plan(text)
        if text in self._asked_once:
            return self._asked_once[text]
        plan = self.parse(text, once=True)
        if not any(map(session_name, reads(plan))):  # what the session has by a name may soon be something else
            self._asked_once[text] = plan
        return plan

    def parse(self, text: str, params: Params | None = None, *, once: bool = False) -> Relation:
        """The bound plan of a query's text, which is not remembered."""
        try:
            statements = statement.read(text, params)
        except UnsupportedStatement:
            named = _NAME.fullmatch(text)
            if named is None:
                raise
            return self._named(named[1], text)
        query = _only_query(statements)
        return self.bind(query.query, text, query_text=query.query_text, once=once)

    def read(self, text: str, params: Params | None = None) -> statement.Query:
        """The one query of a text."""
        return _only_query(statement.read(text, params))

    def _named(self, written: str, text: str) -> Relation:
        """The plan of a relation whose name is quoted, or that shows what the database knows of itself."""
        name = written.strip("`")
        if self.relations.find(name) is not None:
            return self.plan(name)
        declared = self.relations.columns(name)
        if declared is None:
            known = [*self.relations.names(), *self.relations.system_tables]
            raise UnknownRelation(Place(text, 0, len(text)), closest(name, known), name=name) from None
        return Scan(declared[0], "result", declared[1])

    @exclusive
    def bind(
        self,
        query: Expression,
        text: str,
        name: str = "result",
        query_text: str | None = None,
        *,
        once: bool = False,
        reads_session: bool = False,
    ) -> Relation:
        """The bound plan of a query; places in it refer to the text, ``query_text`` is the query's part of it.

        Columns of the same name are told apart by numbers: only what is kept needs a name for each.
        """
        among = self.relations, self.analyzer
        return bind(query, text, *among, name, query_text, numbered=True, once=once, reads_session=reads_session)

    def bind_once(self, query: statement.Query, now: int | None = None) -> Relation:
        """The bound plan of a query that is asked once; the clock in it says an instant, if one is given."""
        tree = query.query if now is None else with_instant(query.query, now)
        return self.bind(tree, query.text, query_text=query.query_text, once=True)

    def relation_name(self, text: str) -> str:
        """The name of the relation that a text asks for; ``result`` for a query."""
        relation = self.relations.find(text)
        return "result" if relation is None else relation.name


def _only_query(statements: list[statement.Statement]) -> statement.Query:
    if len(statements) != 1 or not isinstance(statements[0], statement.Query):
        raise InvalidExpression(reason="one query is expected here, or the name of a table or view")
    return statements[0]
