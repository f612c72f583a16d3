"""Nothing is asked of the catalog again until somebody writes there, or a group is due."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from sqlalchemy import event

from tests.unit.store.rules.test_message_groups import gather
from tidings.store.catalog.transactions import MemoryCatalog
from tidings.store.rules import outbox, rule_store
from tidings.store.rules.messages import ACTION, Message
from tidings.store.rules.rule_store import Firing, settle
from tidings.store.rules.waiting_work import WaitingWork

NO_ROWS = pa.table({"x": pa.array([], pa.int64())})


@pytest.fixture
def catalog() -> Iterator[MemoryCatalog]:
    catalog = MemoryCatalog()
    yield catalog
    catalog.close()


def asked(catalog: MemoryCatalog) -> list[str]:
    """The statements that are run from now on."""
    statements: list[str] = []
    event.listen(catalog._engine, "before_cursor_execute", lambda _c, _u, text, *_: statements.append(text))
    return statements


def test_nothing_waits_until_somebody_writes(catalog: MemoryCatalog) -> None:
    work, statements = WaitingWork(catalog), asked(catalog)
    assert [work.has_actions() for _ in range(3)] == [False] * 3
    assert len(statements) == 1
    with catalog.writing() as connection:
        rule_store.record(connection, [Firing(1, "r", 1, "detached", "waiting", NO_ROWS)])
    assert [work.has_actions() for _ in range(2)] == [True] * 2
    with catalog.writing() as connection:
        settle(connection, 1, "done", 2)
    assert not work.has_actions()


def test_an_action_that_is_tried_again_waits_even_when_it_is_not_due(catalog: MemoryCatalog) -> None:
    work = WaitingWork(catalog)
    assert not work.has_actions()
    with catalog.writing() as connection:
        outbox.postpone(connection, Message("r", 1, ACTION, "x", "{}", 1), 1_000_000, "no")
    assert work.has_actions()


def test_a_message_to_somebody_else_is_no_action(catalog: MemoryCatalog) -> None:
    with catalog.writing() as connection:
        outbox.add(connection, [Message("r", 1, "notify", "x", "{}", 1)])
    assert not WaitingWork(catalog).has_actions()


def test_a_write_that_fails_is_looked_at_too(catalog: MemoryCatalog) -> None:
    before = catalog.rule_writes
    with pytest.raises(RuntimeError), catalog.writing():
        raise RuntimeError
    assert catalog.rule_writes > before


def test_groups_are_asked_for_when_one_is_due(catalog: MemoryCatalog) -> None:
    work = WaitingWork(catalog)
    assert work.due_groups(100) == []
    with catalog.writing() as connection:
        gather(connection, 5)
    statements = asked(catalog)
    assert work.due_groups(14) == work.due_groups(14) == work.due_groups(1) == []
    assert len(statements) == 2
    assert work.due_groups(15) == work.due_groups(16) == [("r", "k")]
