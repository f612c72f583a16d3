"""Definitions of relations as records."""

from __future__ import annotations

from tidings.ir.relation import Column
from tidings.store.catalog.definitions import grouping_names, in_dependency_order, table_definition
from tidings.store.records import Definition
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.table import Table


def definition(id: int, name: str, *reads: str, kind: str = "view") -> Definition:
    return Definition(id, name, kind, {"reads": list(reads)}, 0)


def test_a_view_that_was_replaced_may_read_a_later_one() -> None:
    definitions = [definition(1, "a", "c"), definition(2, "b", "a"), definition(3, "c", "t"), definition(4, "t")]
    assert [d.name for d in in_dependency_order(definitions)] == ["t", "c", "a", "b"]


def test_groupings_are_recognised_by_their_texts() -> None:
    facts = [("v", "sum of x"), ("w", "sum of y"), ("v", "sum of z")]
    groupings = [
        Definition(n, f"{view}#{n}", "kept", {"view": view, "grouping": text}, 0)
        for n, (view, text) in enumerate(facts)
    ]
    assert grouping_names([*groupings, definition(9, "v")], "v") == {"sum of x": "v#0", "sum of z": "v#2"}


def test_tables() -> None:
    columns = (Column("x", "int"), Column("s", "string"))
    plain = table_definition(Table("t", columns, id=3, constraints=Constraints(key=("x",))))
    assert (plain.id, plain.name, plain.kind) == (3, "t", "table")
    assert plain.definition == {"columns": [["x", "int"], ["s", "string"]], "constraints": {"key": ("x",)}}
    assert table_definition(Table("e", columns, role="event")).definition["role"] == "event"
