"""Tidings watches data: declare tables and views, change rows, learn exactly what changed in every answer.

:func:`open` opens a :class:`Database`.  Everything a user touches is exported here; what is not is inner work and may
change.
"""

from tidings import errors
from tidings.clock import Clock, ManualClock, SystemClock, instant, micros
from tidings.database import Database
from tidings.deliver.deliveries import Deliveries, DeliverySettings
from tidings.deliver.mail import Mail
from tidings.deliver.notify import Listener, Notice
from tidings.deliver.signature import new_secret, signed, verifies
from tidings.front.choices import Engine, Execution, Instant, Late, StrategyChoice
from tidings.opening import open
from tidings.read.subscriptions import ChangeBatch, Subscription
from tidings.result import AffectedRows, Change, Delta, Pair, Result
from tidings.retry_policy import RetryPolicy
from tidings.rules.detached.backtest import Backtested
from tidings.store.rules.messages import Message
from tidings.store.vacuum import Vacuumed
from tidings.waves.record import WaveRecord
from tidings.waves.status import RuleFailure, Status, ViewStatus
from tidings.worker_thread import WorkerStatus
from tidings.write.transaction import Transaction

__all__ = [
    "AffectedRows",
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
    "instant",
    "micros",
    "new_secret",
    "open",
    "signed",
    "verifies",
]
__version__ = "0.1.0"
