"""Subscriptions begin and end: where a reader stands, and what its name keeps."""

from __future__ import annotations

import pytest

from tidings import Database, errors
from tidings.read.subscribe import Subscriptions
from tidings.read.subscriptions import Subscription


def subscriptions(db: Database) -> Subscriptions:
    return db._parts.subscriptions


def subscribed(db: Database, text: str = "low", since: int | None = None, name: str | None = None) -> Subscription:
    return subscriptions(db).subscribe(text, since, follow=False, timeout=None, name=name)


def test_what_cannot_be_bound_is_refused_at_once(db: Database) -> None:
    with pytest.raises(errors.TidingsError):
        subscribed(db, "SELECT nosuch FROM quantity")


def test_the_timeline_knows_that_there_are_readers(db: Database) -> None:
    timeline = subscriptions(db).answers.timeline
    assert not timeline.has_subscribers
    subscribed(db)
    assert timeline.has_subscribers


def test_without_a_name_nothing_is_saved(db: Database) -> None:
    (batch,) = subscribed(db)
    batch.ack()
    assert db._parts.storage.subscriptions() == {}


def test_a_name_goes_on_after_what_was_acknowledged(db: Database) -> None:
    (batch,) = subscribed(db, name="reader")
    assert batch.snapshot
    db.sql("INSERT INTO threshold VALUES (1, 10); INSERT INTO quantity VALUES (1, 5)")
    reader = subscribed(db, name="reader")
    assert [b.time for b in reader] == [db.time]
    assert subscribed(db, name="reader").position == db.time
    assert subscribed(db, since=3, name="reader").position == 3


def test_a_name_is_of_one_query_until_it_ends(db: Database) -> None:
    subscribed(db, name="reader")
    with pytest.raises(errors.SubscriptionExists):
        subscribed(db, "quantity", name="reader")
    subscriptions(db).unsubscribe("reader")
    assert subscribed(db, "quantity", name="reader").position is None
