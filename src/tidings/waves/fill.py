"""Fills a stored view: its rows and those of its groupings at an instant, computed from scratch."""

from __future__ import annotations

from collections.abc import Mapping

from tidings.engine.progress import steps
from tidings.engine.source import Source
from tidings.ir.relation import Version
from tidings.rewrite.pipeline import normalise
from tidings.store import stored_views
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView
from tidings.store.storage import Storage
from tidings.waves.engines import Engines


def fill(storage: Storage, engines: Engines, view: StoredView, at: int, filled: Mapping[str, Table]) -> None:
    """Give a stored view the rows that its query has at an instant; the stored views it reads are up to date.

    ``filled`` are groupings that have their rows already; the rest is computed from these.
    """
    relations = storage.relations
    empty = {name: node for name, node in view.groupings.items() if name not in filled}
    definitions = relations.definitions(at, at) | empty

    def sources(relation: str, version: Version) -> Source:
        return (filled.get(relation) or relations.rows(relation)).source(version, 0, at)

    rows = {}
    for name in steps(f"filling {view.name}", [n for n in view.tables if n not in filled]):
        plan = view.groupings.get(name) or (view.over if filled else view.plan)
        rows[name] = engines.query(normalise(plan, definitions), sources, at)
    stored_views.fill(storage, view, rows, at)
