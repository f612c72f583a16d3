"""The deliveries of one database: its outbox, the channels it has settings for, and the deliverer between them.

Messages of a channel without settings wait: opening a database somewhere without its secrets loses nothing.

The system table ``tidings.deliveries`` shows every message and what became of it (:func:`rows`); of the URLs of
webhooks it shows no tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from threading import Event
from typing import Any

from tidings.clock import Clock, SystemClock, instant
from tidings.deliver.attempts import Attempts
from tidings.deliver.channel import Channel
from tidings.deliver.deliverer import Deliverer
from tidings.deliver.delivery_thread import DeliveryThread
from tidings.deliver.file import FileChannel
from tidings.deliver.mail import Mail, MailChannel
from tidings.deliver.notify import Listener, Notify
from tidings.deliver.turn import shown
from tidings.deliver.webhook import Webhook
from tidings.errors.arguments import checked, refuse
from tidings.ir.relation import Column
from tidings.retry_policy import RetryPolicy
from tidings.store.catalog.transactions import CatalogTransactions
from tidings.store.rules.messages import DeliveryStatus, Endpoint, MessageState, OutboxEntry
from tidings.store.rules.outbox import Outbox


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    """What the channels need to know; none of it is stored in the database."""

    secrets: Sequence[str] = field(default=(), repr=False)
    """Sign webhooks with these."""
    secrets_of: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    """Sign webhooks to a URL with these instead."""
    allow: Sequence[str] = ()
    """Networks that webhooks may reach although they are not public, such as ``10.0.0.0/8``."""
    files: Path | str | None = None
    """The folder that files are below."""
    mail: Mail | None = None
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    timeout: float = 15.0
    """How many seconds a webhook may take."""
    workers: int = 4
    """How many targets each channel serves at the same time."""


COLUMNS = tuple(
    Column(*part.split())
    for part in (
        "number bigint, id string, rule string, firing bigint, channel string, target string, payload string,"
        " created timestamp, state string, attempts int, due timestamp, sending timestamp, settled timestamp,"
        " error string"
    ).split(",")
)
"""The columns of ``tidings.deliveries``."""


class Deliveries:
    """Delivers what rules send, and shows what became of it.

    :meth:`start` delivers in a thread; :meth:`step` delivers what is due now.
    """

    def __init__(
        self,
        catalog: CatalogTransactions,
        clock: Clock | None = None,
        settings: DeliverySettings | None = None,
        wakeup: Event | None = None,
        advance_wanted: Event | None = None,
        folder: Path | None = None,
    ) -> None:
        settings = settings or DeliverySettings()
        self._clock = clock or SystemClock()
        self._notify = Notify()
        self.outbox = Outbox(catalog)
        attempts = Attempts()
        channels = _channels(settings, self._notify, folder, attempts)
        self.deliverer = Deliverer(
            self.outbox, channels, self._clock, settings.policy, workers=settings.workers, attempts=attempts
        )
        self._thread = DeliveryThread(self.deliverer, wakeup=wakeup or Event())
        self._advance_wanted = advance_wanted or Event()
        """Is set when actions may be tried again: whoever advances runs them."""

    @checked
    def listen(self, channel: str, room: int = 1024) -> Listener:
        """Listen to what ``NOTIFY 'channel'`` sends from now on; a full queue loses its oldest notice."""
        return self._notify.listen(channel, room)

    # delivering

    def step(self) -> int:
        """Deliver all that is due now; how many attempts that took."""
        attempts = 0
        while more := self.deliverer.step():
            attempts += more
        return attempts

    def start(self) -> None:
        """Deliver in a thread from now on."""
        self._thread.start()

    def wake(self) -> None:
        """Say that something was added."""
        self._thread.wake()

    def close(self) -> None:
        """Stop delivering, and close all listeners; a receiver that hangs is waited for a few seconds at most."""
        self._thread.stop()
        self._notify.close()

    @property
    def error(self) -> str | None:
        """What keeps the thread from delivering, if anything does."""
        return self._thread.error

    def status(self) -> DeliveryStatus:
        """How the thread is doing, and what is being sent."""
        return DeliveryStatus(self._thread.status, tuple(self.deliverer.sending()))

    # the outbox, looked at and changed by hand

    def entries(self, *states: MessageState | str) -> list[OutboxEntry]:
        """Messages in the order they were added: all, or those in some states."""
        return self.outbox.entries(*map(_state, states))

    def dead(self) -> list[OutboxEntry]:
        """The dead letters: messages that were given up."""
        return self.outbox.entries(MessageState.DEAD)

    def redeliver(self, *ids: str) -> int:
        """Have messages sent again, whatever became of them, under their old ids; how many will be."""
        return self._woken(self.outbox.redeliver(self._clock.now(), *ids))

    @checked
    def redeliver_range(self, first: int = 0, last: int | None = None, *states: MessageState | str) -> int:
        """Have the dead letters of a range of numbers sent again, or those in other states; how many will be."""
        return self._woken(self.outbox.redeliver_range(self._clock.now(), first, last, *map(_state, states)))

    def endpoints(self) -> list[Endpoint]:
        """The targets that are disabled or have had to rest."""
        return self.outbox.endpoints()

    @checked
    def enable(self, channel: str, target: str) -> int:
        """Let a target have messages again, also those that it missed; how many these are."""
        return self._woken(self.outbox.enable(self._clock.now(), channel, target))

    @checked
    def disable(self, channel: str, target: str, reason: str = "by hand") -> None:
        """Let a target have nothing any more until it is enabled."""
        self.outbox.disable(self._clock.now(), channel, target, reason)

    def _woken(self, messages: int) -> int:
        """So many messages wait again: wake those who send them."""
        self._thread.wake()
        self._advance_wanted.set()
        return messages


def _state(state: MessageState | str) -> MessageState:
    """A state by its name."""
    try:
        return MessageState(state)
    except ValueError:
        refuse("state", [f"{', '.join(MessageState)}"], state)


def _channels(
    settings: DeliverySettings, notify: Notify, folder: Path | None, attempts: Attempts
) -> dict[str, Channel]:
    """The channels there are settings for; none writes into the folder of the database."""
    channels: dict[str, Channel] = {"notify": notify}
    if settings.secrets or settings.secrets_of:
        allow = [ip_network(text) for text in settings.allow]
        channels["webhook"] = Webhook(settings.secrets, settings.secrets_of, allow, settings.timeout, attempts=attempts)
    if settings.files is not None:
        channels["file"] = FileChannel(Path(settings.files), folder, attempts=attempts)
    if settings.mail is not None:
        channels["mail"] = MailChannel(settings.mail, attempts)
    return channels


def rows(outbox: Outbox) -> list[tuple[Any, ...]]:
    """The rows of ``tidings.deliveries``, in the order of :data:`COLUMNS`."""
    return [_row(entry) for entry in outbox.entries()]


def _row(entry: OutboxEntry) -> tuple[Any, ...]:
    message = entry.message
    _, target = shown((message.channel, message.target))
    sending = None if entry.claimed is None else instant(entry.claimed)
    settled = None if entry.settled is None else instant(entry.settled)
    return (
        *(entry.number, message.id, message.rule, message.firing, message.channel, target, message.payload),
        *(
            instant(message.created),
            str(entry.state),
            entry.attempts,
            instant(entry.due),
            sending,
            settled,
            entry.error,
        ),
    )
