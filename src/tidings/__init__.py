"""Tidings watches data: declare tables and views, change rows, learn exactly what changed in every answer."""

from tidings import errors
from tidings.clock import ManualClock
from tidings.database import Database, open
from tidings.read.subscriptions import ChangeBatch, Subscription
from tidings.result import Delta, Result
from tidings.waves.status import Status, ViewStatus
from tidings.write.transaction import Transaction

__all__ = [
    "ChangeBatch",
    "Database",
    "Delta",
    "ManualClock",
    "Result",
    "Status",
    "Subscription",
    "Transaction",
    "ViewStatus",
    "errors",
    "open",
]
__version__ = "0.1.0"
