"""A journal in memory keeps subscriptions and the tables of rules, and nothing else."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, insert, select

from tidings.store.catalog import schema
from tidings.store.catalog.journal import NameChange
from tidings.store.catalog.memory_journal import MemoryJournal
from tidings.store.records import Batch, NamedSubscription


def disable(connection: Connection) -> None:
    connection.execute(insert(schema.endpoint).values(channel="file", target="a", disabled=1, rests=0))


def fail(_: Connection) -> None:
    raise RuntimeError


def targets(journal: MemoryJournal) -> list[str]:
    with journal.rule_tables.reading() as connection:
        return list(connection.execute(select(schema.endpoint.c.target)).scalars())


def test_tables_of_rules_are_made_when_they_are_needed() -> None:
    journal = MemoryJournal()
    journal.record(Batch(7))
    journal.record_load([], [], 1)
    assert not journal.has_rule_tables
    journal.record(Batch(8, extra_writes=[disable]))
    assert journal.has_rule_tables
    assert targets(journal) == ["a"]
    journal.close()


def test_extra_writes_are_made_together_or_not_at_all() -> None:
    journal = MemoryJournal()
    with pytest.raises(RuntimeError):
        journal.record(Batch(8, extra_writes=[disable, fail]))
    assert targets(journal) == []


def test_subscriptions() -> None:
    journal = MemoryJournal()
    journal.subscribe("s", NamedSubscription("t", None))
    journal.subscribe("s", NamedSubscription("t", 5))
    assert journal.contents.subscriptions() == {"s": NamedSubscription("t", 5)}
    journal.subscribe("s", None)
    journal.subscribe("s", None)
    assert journal.contents.subscriptions() == {}


def test_names_change_if_what_is_done_inside_succeeds() -> None:
    journal, change = MemoryJournal(), NameChange(["t"], 5)
    with pytest.raises(RuntimeError), journal.changing_names(change):
        raise RuntimeError
    assert not change.recorded
    with journal.changing_names(change):
        pass
    assert change.recorded


def test_nothing_is_brought_back() -> None:
    contents = MemoryJournal().contents
    with contents.frozen():
        assert (contents.definitions(), contents.snapshots(), contents.cursors()) == ([], {}, {})
        assert (contents.last_commit(), contents.revision(), contents.defined_since()) == (0, 0, {})
        assert (contents.log_facts(1), contents.files(), contents.unreferenced_files()) == ([], set(), {})
        assert list(contents.folders()) == []
