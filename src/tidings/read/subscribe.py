"""Begins and ends subscriptions; :mod:`tidings.read.subscriptions` has the subscriptions themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Condition, Event

from tidings.read.answers import Answers
from tidings.read.bound_plans import BoundPlans
from tidings.read.subscriptions import Feed, Subscription, named_position


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Makes the subscriptions of one database."""

    plans: BoundPlans
    answers: Answers
    reload: Callable[[], object]
    """Takes in what another process has committed."""
    news: Condition
    closed: Event
    """Is set when the database is closed."""

    def subscribe(
        self, text: str, since: int | None, *, follow: bool, timeout: float | None, name: str | None
    ) -> Subscription:
        """A subscription to a table, view or query, from a position on; with a name its position is stored."""
        self.reload()
        self.plans.plan(text)
        self.answers.timeline.has_subscribers = True
        storage = self.answers.scheduler.storage
        position, save = since, None
        if name is not None:
            storage.require_writer()
            position = named_position(storage, name, text, since)
            save = partial(storage.move_subscription, name)
        feed = Feed(text, self.plans, self.answers, self.reload)
        return Subscription(feed, position, self.news, self.closed, follow, timeout, save)

    def unsubscribe(self, name: str) -> None:
        """End a named subscription: its position is forgotten."""
        self.answers.scheduler.storage.subscribe(name, None)
