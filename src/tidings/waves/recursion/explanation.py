"""Explains how recursions are maintained: the rules, whether rows are stored and who decided that, and the last run."""

from __future__ import annotations

from collections.abc import Iterable

from tidings.ir.relation import Fixpoint, Relation
from tidings.store.relation.view import StoredView
from tidings.waves.recursion.deltas import Recursion, counts_duplicates, recursions, same_rows


def explained(recursion: Recursion, plans: Iterable[Relation], since: int, until: int) -> list[str]:
    """How the recursions that some plans read are maintained over a batch."""
    plans = list(plans)
    definitions = recursion.planner.definitions(plans, since)
    texts: list[str] = []
    for node in recursions(plans, definitions, frozenset()).values():
        record = recursion.records.get(node.group)
        if counts_duplicates(node):
            last = "" if record is None else f"; last time {record}"
            how = "from changes and stored rows, else evaluated anew at each instant that touches it"
            texts.append(f"recursion {node.output}: duplicates count, {how}{last}")
            continue
        programs = recursion.programs(node, since)
        way = "old rows derived on demand" if programs.on_demand else "old rows stored"
        last = "" if record is None else f"; last time {record}"
        texts.append(f"recursion {node.output}: {way}, {_decided(recursion, node, until)}{last}")
        texts += [f"  {line}" for line in programs.text().splitlines()]
    return texts


def _decided(recursion: Recursion, node: Fixpoint, at: int) -> str:
    """Who decided whether the rows of a recursion are stored, and why so."""
    relations = recursion.planner.relations
    views = [*relations.unstored(), *(v.view for v in relations.stored())]
    of_group = [v for v in views if (inner := same_rows(v.plan)) is not None and inner.group == node.group]
    if not any(view.by_cost for view in of_group):
        return "as declared"
    if any(isinstance(relations.find(view.name), StoredView) for view in of_group):
        return "by cost"
    return f"by cost: {recursion.storage_choice(node, at).reason}"
