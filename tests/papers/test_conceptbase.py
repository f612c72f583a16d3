"""Staudt and Jarke, *Incremental Maintenance of Externally Materialized Views* (VLDB 1996), as written.

The graph of figure 2: ``edge`` with an independent part, the view ``closure``; the edge (b, c) goes, (h, d) comes.
"""

from __future__ import annotations

import pytest

import tidings
from tidings.delta.recursion.magic import on_demand_rules
from tidings.delta.recursion.maintenance import maintenance_rules
from tidings.delta.recursion.program import MaintenancePrograms
from tidings.engine.duckdb import DuckDB
from tidings.engine.recursion.indexed_rows import FetchedRows
from tidings.engine.recursion.rules_in_memory import InMemoryRun
from tidings.ir.relation import Column, Fixpoint, Scan
from tidings.ir.rule import rule_text
from tidings.lang.datalog.compile import bind_program

EDGES = ["fe", "ed", "ea", "ab", "dc", "bc", "cg"]
INDEPENDENT = [("g1", "g2"), ("g2", "g3"), ("g3", "g1"), ("g3", "g4")]
CLOSURE = """
closure(x, y) :- edge(x, y).
closure(x, y) :- edge(x, z), closure(z, y).
"""


class _Catalog:
    def names(self) -> list[str]:
        return ["edge"]

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        return ("edge", (Column("src", "string"), Column("dst", "string"))) if relation == "edge" else None


@pytest.fixture(scope="module")
def closure() -> Fixpoint:
    node = bind_program(CLOSURE, _Catalog(), DuckDB()).plan("closure")
    assert isinstance(node, Fixpoint)
    return node


def _pairs(*pairs: str) -> set[tuple[str, ...]]:
    return {tuple(pair) for pair in pairs}


def _all_edges() -> set[tuple[str, ...]]:
    return _pairs(*EDGES) | set(INDEPENDENT)


def _closed(edges: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    rows = set(edges)
    while new := {(a, d) for a, b in edges for c, d in rows if b == c} - rows:
        rows |= new
    return rows


def test_example_1_the_maintenance_rules_of_both_rules(closure: Fixpoint) -> None:
    rules = maintenance_rules(closure)
    assert [rule_text(r) for r in rules.deletions] == [
        "closure_del(x, y) :- edge_del(x, y).",
        "closure_del(x, y) :- edge_del(x, z), closure(z, y).",
        "closure_del(x, y) :- edge(x, z), closure_del(z, y).",
    ]
    assert [rule_text(r) for r in rules.new_states] == [
        "closure_new(x1, x2) :- closure(x1, x2), !closure_del(x1, x2).",
        "closure_new(x1, x2) :- closure_red(x1, x2).",
        "closure_new(x1, x2) :- closure_ins(x1, x2).",
        "edge_new(x1, x2) :- edge(x1, x2), !edge_del(x1, x2).",
        "edge_new(x1, x2) :- edge_ins(x1, x2).",
    ]
    assert [rule_text(r) for r in rules.rederivations] == [
        "closure_red(x, y) :- closure_del(x, y), edge_new(x, y).",
        "closure_red(x, y) :- closure_del(x, y), edge_new(x, z), closure_new(z, y).",
    ]
    assert [rule_text(r) for r in rules.insertions] == [
        "closure_ins(x, y) :- edge_ins(x, y).",
        "closure_ins(x, y) :- edge_ins(x, z), closure_new(z, y).",
        "closure_ins(x, y) :- edge_new(x, z), closure_ins(z, y).",
    ]
    assert [rule_text(r) for r in rules.net] == [
        "closure_plus(x1, x2) :- closure_ins(x1, x2), !closure(x1, x2).",
        "closure_minus(x1, x2) :- closure_del(x1, x2), !closure_ins(x1, x2), !closure_red(x1, x2).",
    ]


def test_the_rules_are_a_program_that_the_language_accepts(closure: Fixpoint) -> None:
    columns = (Column("a", "string"), Column("b", "string"))

    class Catalog:
        def names(self) -> list[str]:
            return ["edge", "edge_del", "edge_ins", "closure"]

        def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
            return (relation, columns) if relation in self.names() else None

    text = "\n".join(rule_text(r) for r in maintenance_rules(closure).all)
    bound = bind_program(text, Catalog(), DuckDB())
    strata = bound.resolved.components
    order = [name for component in strata for name in component]
    assert order.index("closure_del") < order.index("closure_new") < order.index("closure_minus")
    assert {"closure_new", "closure_red", "closure_ins"} in map(set, strata)


def _run(node: Fixpoint, *, stored: bool) -> tuple[InMemoryRun, MaintenancePrograms, dict[str, set[tuple[str, ...]]]]:
    """Evaluate the rules for the update of the example; the old rows that were asked for are counted by predicate."""
    columns = node.columns
    kept = {"closure": Scan("closure", "closure", columns)} if stored else {}
    programs = MaintenancePrograms(node, kept, {"edge": node.inputs[0]})
    old = {"edge": _all_edges(), "closure": _closed(_all_edges())}
    read: dict[str, set[tuple[str, ...]]] = {"edge": set(), "closure": set()}

    def fetch(name: str, positions: tuple[int, ...], keys: list[tuple[str, ...]] | None) -> set[tuple[str, ...]]:
        rows = {r for r in old[name] if keys is None or tuple(r[p] for p in positions) in keys}
        read[name] |= rows
        return rows

    given = {name: FetchedRows(name, fetch) for name in ("edge", *kept)}
    run = InMemoryRun(given, 100, trace=[])
    run.add("edge_del", _pairs("bc"))
    run.add("edge_ins", _pairs("hd"))
    for program in programs.first:
        run.evaluate(program)
    return run, programs, read


@pytest.mark.parametrize("stored", [True, False])
def test_example_2_every_set(closure: Fixpoint, stored: bool) -> None:
    run, _, _ = _run(closure, stored=stored)
    assert run.of("closure_del").rows == _pairs("bc", "bg", "ac", "ag", "ec", "eg", "fc", "fg")
    assert run.of("closure_red").rows == _pairs("ec", "eg", "fc", "fg")
    assert run.of("closure_ins").rows == _pairs("hd", "hc", "hg")
    assert run.of("closure_plus").rows == _pairs("hd", "hc", "hg")
    assert run.of("closure_minus").rows == _pairs("ac", "ag", "bc", "bg")


def test_example_2_every_iteration(closure: Fixpoint) -> None:
    run, _, _ = _run(closure, stored=True)
    assert run.trace is not None
    deletions = [found["closure_del"] for found in run.trace if found.get("closure_del")]
    assert deletions == [_pairs("bc", "bg"), _pairs("ac", "ag"), _pairs("ec", "eg"), _pairs("fc", "fg")]
    insertions = [found["closure_ins"] for found in run.trace if found.get("closure_ins")]
    assert insertions == [_pairs("hd", "hc", "hg")]
    again = [found["closure_red"] for found in run.trace if found.get("closure_red")]
    assert again == [_pairs("ec", "eg"), _pairs("fc", "fg")]


def test_figure_3_the_rules_of_re_derivation_on_demand(closure: Fixpoint) -> None:
    rules = on_demand_rules(closure)
    assert [rule_text(r) for r in rules.deletions] == [
        "closure_del(x, y) :- edge_del(x, y).",
        "m_closure_bf(z) :- edge_del(x, z).",
        "closure_del(x, y) :- edge_del(x, z), closure(z, y).",
        "closure_del(x, y) :- closure_del(z, y), edge(x, z).",
    ]
    assert [rule_text(r) for r in rules.changes] == [
        "closure_red(x, y) :- closure_del(x, y), edge_new(x, y).",
        "sup_1(x, y, z) :- closure_del(x, y), edge_new(x, z).",
        "m_closure_bb(z, y) :- sup_1(x, y, z).",
        "closure_red(x, y) :- sup_1(x, y, z), closure_new(z, y).",
        "closure_ins(x, y) :- edge_ins(x, y).",
        "m_closure_bf(z) :- edge_ins(x, z).",
        "closure_ins(x, y) :- edge_ins(x, z), closure_new(z, y).",
        "closure_ins(x, y) :- closure_ins(z, y), edge_new(x, z).",
        "m_closure_bb(x1, x2) :- closure_ins(x1, x2).",
    ]
    assert [rule_text(r) for r in rules.queries] == [
        "closure(x, y) :- m_closure_bf(x), edge(x, y).",
        "sup_2(x, z) :- m_closure_bf(x), edge(x, z).",
        "m_closure_bf(z) :- sup_2(x, z).",
        "closure(x, y) :- sup_2(x, z), closure(z, y).",
        "closure(x, y) :- m_closure_bb(x, y), edge(x, y).",
        "sup_3(x, y, z) :- m_closure_bb(x, y), edge(x, z).",
        "m_closure_bb(z, y) :- sup_3(x, y, z).",
        "closure(x, y) :- sup_3(x, y, z), closure(z, y).",
    ]


def test_example_4_the_independent_graph_is_never_derived(closure: Fixpoint) -> None:
    run, _, read = _run(closure, stored=False)
    independent = {node for pair in INDEPENDENT for node in pair}
    assert run.of("closure").rows
    assert run.of("closure").rows < _closed(_pairs(*EDGES))
    assert not any(set(row) & independent for row in run.of("closure").rows)
    assert not any(set(row) & independent for row in read["edge"])


@pytest.mark.parametrize("stored", [True, False])
def test_the_monitored_view_tells_the_changes_of_figure_2(stored: bool) -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE edge (src STRING, dst STRING)")
        with db.transaction() as tx:
            tx.insert("edge", [{"src": a, "dst": b} for a, b in sorted(_all_edges())])
        db.datalog(CLOSURE, stored=stored)
        before = db.time
        with db.transaction() as tx:
            tx.sql("DELETE FROM edge WHERE src = 'b' AND dst = 'c'")
            tx.insert("edge", [{"src": "h", "dst": "d"}])
        delta = db.changes("closure", since=before)
        assert {tuple(c.row.values()) for c in delta.rows() if c.weight > 0} == _pairs("hd", "hc", "hg")
        assert {tuple(c.row.values()) for c in delta.rows() if c.weight < 0} == _pairs("ac", "ag", "bc", "bg")
        (record,) = db._parts.scheduler.recursion.records.values()
        assert record.way == ("stored" if stored else "on demand")
        assert record.derived == (0 if stored else 9)
