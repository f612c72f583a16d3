"""Descriptions of tables and views, from the definitions alone."""

from __future__ import annotations

import pytest

from tidings.errors import UnknownRelation
from tidings.ir.column import Column
from tidings.read.descriptions import Descriptions
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table


@pytest.fixture
def descriptions() -> Descriptions:
    relations = Relations(system_tables={"tidings.rules": (Column("name", "string"),)})
    constraints = Constraints(key=("a",), required=("a", "b"), checks=("b > 0",), defaults=(("b", "1"),))
    relations.add(Table("t", (Column("a", "bigint"), Column("b", "int")), constraints=constraints))
    relations.add(Table("e", (Column("n", "int"),), role="event"))
    return Descriptions(relations)


def test_events_are_no_tables(descriptions: Descriptions) -> None:
    assert [row["name"] for row in descriptions.tables()] == ["t"]
    assert len(descriptions.views()) == 0


def test_columns(descriptions: Descriptions) -> None:
    assert [tuple(row.values()) for row in descriptions.schema("T")] == [
        ("a", "bigint", False, True, None),
        ("b", "int", False, False, "1"),
    ]
    assert [row["column"] for row in descriptions.schema("tidings.rules")] == ["name"]


def test_text_of_a_table(descriptions: Descriptions) -> None:
    assert descriptions.create_table("t").splitlines() == [
        "CREATE TABLE t (",
        "    a bigint,",
        "    b int NOT NULL DEFAULT 1,",
        "    PRIMARY KEY (a),",
        "    CHECK (b > 0)",
        ")",
    ]


def test_unknown_names(descriptions: Descriptions) -> None:
    for ask in (descriptions.schema, descriptions.create_table, descriptions.create_view):
        with pytest.raises(UnknownRelation):
            ask("tt")
    with pytest.raises(UnknownRelation):
        descriptions.create_table("e")
