"""Binding views to relations that change: what is kept, and which changes are refused."""

from __future__ import annotations

import pytest

from tests.unit.inside import binder_of, stored_view
from tidings import Database, errors
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView

READERS = """
    CREATE VIEW items AS SELECT item FROM low;
    CREATE MATERIALIZED VIEW counts AS SELECT item, count(*) AS n FROM items GROUP BY item;
"""


def with_quantity(db: Database, table: Table) -> Relations:
    """The relations with another table in the place of ``quantity``."""
    changed = binder_of(db).relations.copy()
    changed.remove(changed.table("quantity"))
    changed.add(table)
    return changed


def test_all_readers_are_bound_each_after_those_it_reads(db: Database) -> None:
    db.sql(READERS)
    binder = binder_of(db)
    pairs = binder.rebound_readers("quantity", binder.relations.copy())
    assert [old.name for old, _ in pairs] == [new.name for _, new in pairs] == ["low", "items", "counts"]
    assert all(old.columns == new.columns and old is not new for old, new in pairs)


def test_a_stored_reader_keeps_its_rows(db: Database) -> None:
    db.sql(READERS)
    db.sql("INSERT INTO quantity VALUES (1, 5); INSERT INTO threshold VALUES (1, 10)")
    db.advance()
    binder, old = binder_of(db), stored_view(db, "counts")
    *_, (_, new) = binder.rebound_readers("quantity", binder.relations.copy())
    assert isinstance(new, StoredView)
    assert new.tables == old.tables
    assert (new.since, new.until, new.groupings.keys()) == (old.since, old.until, old.groupings.keys())


def test_the_changed_relations_have_the_views_as_they_will_be(db: Database) -> None:
    db.sql(READERS)
    changed = binder_of(db).relations.copy()
    pairs = binder_of(db).rebound_readers("quantity", changed)
    assert all(changed.find(new.name) is new for _, new in pairs)
    assert all(binder_of(db).relations.find(old.name) is old for old, _ in pairs)


def test_all_views_that_would_break_are_named(db: Database) -> None:
    db.sql("CREATE VIEW stars AS SELECT * FROM quantity; CREATE VIEW others AS SELECT lim FROM threshold")
    table = binder_of(db).relations.table("quantity")
    with pytest.raises(errors.BreaksViews) as refused:
        binder_of(db).rebound_readers("quantity", with_quantity(db, Table("quantity", table.columns[:1])))
    assert refused.value.parameters["dependents"] == "low, stars"
    assert "its columns would be others" in str(refused.value.parameters["reason"])


def test_columns_have_the_names_that_the_view_gives_them(db: Database) -> None:
    view = binder_of(db).view("v", "SELECT item, qty FROM quantity", ("a", "b"))
    assert [c.name for c in view.columns] == ["a", "b"]
    assert [c.name for c in binder_of(db).view("v", "SELECT item FROM quantity", ()).columns] == ["item"]
