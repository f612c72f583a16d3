"""Tidings watches data: declare tables and views, change rows, learn exactly what changed in every answer.

:func:`open` opens a :class:`Database`.  Everything a user touches is exported here; what is not is inner work and may
change.  A name is imported when it is first asked for, so that ``import tidings`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidings import errors
    from tidings.clock import Clock, ManualClock, SystemClock, instant, micros
    from tidings.database import Database
    from tidings.deliver.deliveries import Deliveries, DeliverySettings
    from tidings.deliver.mail import Mail
    from tidings.deliver.notify import Listener, Notice
    from tidings.deliver.signature import new_secret, signed, verifies
    from tidings.federated import FederatedDatabase, federate
    from tidings.front.choices import Engine, Execution, Instant, Late, StrategyChoice
    from tidings.opening import open, restore
    from tidings.read.subscriptions import ChangeBatch, Subscription
    from tidings.result import AffectedRows, Change, Delta, Pair, Result
    from tidings.retry_policy import RetryPolicy
    from tidings.rules.detached.backtest import Backtested
    from tidings.store.catalog.backup import BackedUp
    from tidings.store.rules.messages import Message
    from tidings.store.vacuum import Vacuumed
    from tidings.waves.record import WaveRecord
    from tidings.waves.status import RuleFailure, Status, ViewStatus
    from tidings.worker_thread import WorkerStatus
    from tidings.write.transaction import Transaction

__all__ = [
    "AffectedRows",
    "BackedUp",
    "Backtested",
    "Change",
    "ChangeBatch",
    "Clock",
    "Database",
    "Deliveries",
    "DeliverySettings",
    "Delta",
    "Engine",
    "Execution",
    "FederatedDatabase",
    "Instant",
    "Late",
    "Listener",
    "Mail",
    "ManualClock",
    "Message",
    "Notice",
    "Pair",
    "Result",
    "RetryPolicy",
    "RuleFailure",
    "Status",
    "StrategyChoice",
    "Subscription",
    "SystemClock",
    "Transaction",
    "Vacuumed",
    "ViewStatus",
    "WaveRecord",
    "WorkerStatus",
    "errors",
    "federate",
    "instant",
    "micros",
    "new_secret",
    "open",
    "restore",
    "signed",
    "verifies",
]
__version__ = "0.1.0"

_HOMES = {
    "tidings.clock": ("Clock", "ManualClock", "SystemClock", "instant", "micros"),
    "tidings.database": ("Database",),
    "tidings.deliver.deliveries": ("Deliveries", "DeliverySettings"),
    "tidings.deliver.mail": ("Mail",),
    "tidings.deliver.notify": ("Listener", "Notice"),
    "tidings.deliver.signature": ("new_secret", "signed", "verifies"),
    "tidings.federated": ("FederatedDatabase", "federate"),
    "tidings.front.choices": ("Engine", "Execution", "Instant", "Late", "StrategyChoice"),
    "tidings.opening": ("open", "restore"),
    "tidings.read.subscriptions": ("ChangeBatch", "Subscription"),
    "tidings.result": ("AffectedRows", "Change", "Delta", "Pair", "Result"),
    "tidings.retry_policy": ("RetryPolicy",),
    "tidings.rules.detached.backtest": ("Backtested",),
    "tidings.store.catalog.backup": ("BackedUp",),
    "tidings.store.rules.messages": ("Message",),
    "tidings.store.vacuum": ("Vacuumed",),
    "tidings.waves.record": ("WaveRecord",),
    "tidings.waves.status": ("RuleFailure", "Status", "ViewStatus"),
    "tidings.worker_thread": ("WorkerStatus",),
    "tidings.write.transaction": ("Transaction",),
}
"""Where the exported names are defined."""

if not TYPE_CHECKING:  # so that mypy still knows which names there are

    def __getattr__(name: str) -> Any:
        if name in ("errors", "spark"):
            return import_module(f"tidings.{name}")
        for home, names in _HOMES.items():
            if name in names:
                globals()[name] = getattr(import_module(home), name)
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
