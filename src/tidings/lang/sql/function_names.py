"""Which names of functions belong to SQL itself, whatever the engine."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tidings.analysis import functions
from tidings.ir.dialect import DIALECT


def is_known_to_sql(name: str) -> bool:
    """Whether a name cannot stand for a function of a user.

    >>> [is_known_to_sql(name) for name in ("upper", "rand", "explode", "select", "fahrenheit")]
    [True, True, True, True, False]
    """
    try:
        call = sqlglot.parse_one(f"SELECT {name}(x)", read=DIALECT).expressions[0]
    except SqlglotError:
        return True
    kinds = (functions.is_non_deterministic, functions.reads_clock, functions.is_aggregate, functions.is_window)
    if not isinstance(call, exp.Anonymous) or functions.is_generator(call):
        return True
    return any(is_kind(call) for is_kind in kinds)
