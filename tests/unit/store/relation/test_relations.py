"""Definitions by name, without regard to case."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.errors import DependentObjects, DuplicateRelation, NotATable, UnknownRelation
from tidings.ir.relation import Column
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import View


@pytest.fixture
def catalog() -> Relations:
    found = Relations()
    found.add(Table("T", (Column("a", "int"),)))
    plan = bound("SELECT a FROM t")
    found.add(View("V", "SELECT a FROM t", plan))
    return found


def test_lookup_ignores_case(catalog: Relations) -> None:
    assert catalog.table("t") is catalog.find("T")
    assert catalog.columns("v") == ("V", (Column("a", "int"),))
    assert catalog.columns("x") is None
    assert catalog.names() == ["T", "V"]
    assert list(catalog.definitions()) == ["V"]


def test_the_definitions_of_some_names(catalog: Relations) -> None:
    catalog.add(View("W", "SELECT a FROM t", bound("SELECT a FROM t")))
    assert list(catalog.definitions(names={"w", "T", "x"})) == ["W"]


@pytest.mark.parametrize("name", ["T", "t", "v"])
def test_duplicate(catalog: Relations, name: str) -> None:
    with pytest.raises(DuplicateRelation) as refused:
        catalog.add(Table(name, ()))
    assert refused.value.parameters == {"name": name}
    assert catalog.names() == ["T", "V"]


def test_a_view_is_no_table(catalog: Relations) -> None:
    with pytest.raises(NotATable):
        catalog.table("v")


def test_drop_what_nobody_reads() -> None:
    catalog = Relations()
    catalog.add(Table("t", (Column("a", "int"),)))
    catalog.add(View("V", "", bound("SELECT a FROM t")))
    with pytest.raises(DependentObjects) as refused:
        catalog.drop("T", "TABLE")
    assert refused.value.parameters == {"name": "t", "change": "dropped", "dependents": "V"}
    assert catalog.names() == ["t", "V"]
    catalog.drop("v", "VIEW")
    catalog.drop("T", "TABLE")
    assert catalog.names() == []


@pytest.mark.parametrize(("name", "kind"), [("x", "TABLE"), ("V", "TABLE"), ("T", "VIEW")])
def test_drop_of_what_is_not_there(catalog: Relations, name: str, kind: str) -> None:
    with pytest.raises(UnknownRelation):
        catalog.drop(name, kind)
    assert catalog.names() == ["T", "V"]
