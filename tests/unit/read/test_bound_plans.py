"""Bound plans: of queries and of names, each bound once until a definition changes."""

from __future__ import annotations

import pytest

from tests.unit.inside import plans_of
from tidings import Database, errors
from tidings.ir.relation import Scan


def test_a_query_is_bound_once(db: Database) -> None:
    plans = plans_of(db)
    assert plans.plan("SELECT qty FROM quantity") is plans.plan("SELECT qty FROM quantity")
    assert plans.parse("SELECT qty FROM quantity") is not plans.parse("SELECT qty FROM quantity")


def test_a_name_is_a_table_or_the_query_of_a_view(db: Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW items AS SELECT item FROM quantity")
    plans = plans_of(db)
    table, stored = plans.plan("QUANTITY"), plans.plan("items")
    assert isinstance(table, Scan)
    assert (table.relation, [c.name for c in table.columns]) == ("quantity", ["item", "qty"])
    assert isinstance(stored, Scan)
    assert not isinstance(plans.plan("low"), Scan)


def test_a_definition_lets_them_be_bound_anew(db: Database) -> None:
    plans = plans_of(db)
    assert [f.name for f in plans.plan("SELECT * FROM quantity").fields] == ["item", "qty"]
    db.sql("ALTER TABLE quantity ADD COLUMN place STRING")
    assert [f.name for f in plans.plan("SELECT * FROM quantity").fields] == ["item", "qty", "place"]


@pytest.mark.parametrize("text", ["SELECT 1; SELECT 2", "DELETE FROM quantity", ""])
def test_one_query_is_expected(db: Database, text: str) -> None:
    with pytest.raises(errors.TidingsError):
        plans_of(db).plan(text)


@pytest.mark.parametrize(
    ("text", "name", "hint"),
    [("quantty", "quantty", "quantity"), ("`Lw`", "Lw", "low"), ("tidings.rule", None, "tidings.rules")],
)
def test_a_name_that_nothing_has(db: Database, text: str, name: str | None, hint: str) -> None:
    with pytest.raises(errors.UnknownRelation) as refused:
        db.query(text)
    assert refused.value.parameters == {"name": name or text}
    assert refused.value.hint == f"did you mean {hint}?"
    assert refused.value.place is not None


def test_names_may_be_quoted_and_those_of_system_tables(db: Database) -> None:
    assert plans_of(db).plan("`Low`") is plans_of(db).plan(" low ") is plans_of(db).plan("low")
    assert plans_of(db).plan("low;") is plans_of(db).plan("default.low") is plans_of(db).plan("low")
    assert "created" in db.query("tidings.rules").columns
    assert "created" in db.query(" tidings.rules ; ").columns
    with pytest.raises(errors.UnsupportedStatement):
        db.query("5")


def test_names_of_relations(db: Database) -> None:
    plans = plans_of(db)
    assert [plans.relation_name(text) for text in ("Low", "quantity", "SELECT 1 AS a")] == ["low", "quantity", "result"]
