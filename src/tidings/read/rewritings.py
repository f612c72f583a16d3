"""The rewritings of queries: from text to what :mod:`tidings.rewrite.monotone` makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa

from tidings.engine.sql.standard_text import query_text, term_text, timestamp
from tidings.ir.standard_form import GrowingTable
from tidings.lang.sql.context import Context
from tidings.lang.sql.continuous.obstacle import NotInClass
from tidings.lang.sql.continuous.read import Reader
from tidings.lang.sql.statement import ExplainContinuous, Query
from tidings.read.bound_plans import BoundPlans
from tidings.rewrite.monotone.rewriting import NoRewriting, Rewriting, rewriting
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What the rewriting asks about relations, see :class:`tidings.lang.sql.continuous.read.Catalog`."""

    relations: Relations

    def growing_table(self, name: str) -> GrowingTable | str | None:
        relation = self.relations.find(name)
        if relation is None:
            return f"{name} shows what the database knows of itself"
        if not isinstance(relation, Table):
            return None
        constraints = relation.constraints
        if relation.role == "event":
            return f"{relation.name} is an event"
        if not constraints.append_only:
            return f"{relation.name} is not append-only"
        if constraints.time_column is None:
            return f"{relation.name} does not say when its rows came"
        return GrowingTable(
            relation.name, relation.columns, constraints.time_column, constraints.key, constraints.after
        )

    def view_query(self, name: str) -> tuple[str, tuple[str, ...]]:
        relation = self.relations.find(name)
        view = relation.view if isinstance(relation, StoredView) else relation
        assert isinstance(view, View)
        return view.query, view.named


@dataclass(frozen=True, slots=True)
class Rewritings:
    """Rewrites the queries of one database."""

    plans: BoundPlans

    def rewriting(self, query: Query | ExplainContinuous) -> Rewriting | NoRewriting:
        """What the query becomes, or why it cannot be rewritten; a query that cannot be bound is refused as ever."""
        relations, analyzer = self.plans.relations, self.plans.analyzer
        plan = self.plans.bind(query.query, query.text, query_text=query.query_text)
        reader = Reader(TableFacts(relations), Context(query.text, relations, analyzer))
        try:
            return rewriting(reader.standard_form(query.query, tuple(f.name for f in plan.fields)))
        except NotInClass as obstacle:
            return NoRewriting(obstacle.reason)

    def explained(self, query: ExplainContinuous) -> pa.Table:
        """What the query becomes, step by step: texts that can be run, with ``now()`` for the present."""
        steps = list(_steps(self.rewriting(query)))
        return pa.table({"step": [step for step, _ in steps], "text": [text for _, text in steps]})


def incremental_text(rewritten: Rewriting, since: int, present: int) -> str:
    """The incremental query for two instants, as text; it is to be run ``as_of`` the second."""
    return query_text(rewritten.incremental, timestamp(present), timestamp(since))


def bounding_text(rewritten: Rewriting, present: int) -> str:
    """The minimum bounding monotone query for an instant, as text; it is to be run ``as_of`` that."""
    return query_text(rewritten.bounding, timestamp(present))


def _steps(outcome: Rewriting | NoRewriting) -> Iterator[tuple[str, str]]:
    match outcome:
        case NoRewriting():
            yield "no rewriting", outcome.reason
        case Rewriting():
            yield "standard form", query_text(outcome.standard)
            yield "monotone", "yes" if outcome.is_monotone else "no"
            for reason in outcome.reasons:
                yield "not monotone", f"{term_text(reason.term)}: {reason.because}"
            yield "minimum bounding monotone query", query_text(outcome.bounding)
            yield "incremental query", query_text(outcome.incremental)
        case _:
            assert_never(outcome)
