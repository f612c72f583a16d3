"""The choices a user has by name, as types that an editor can complete and a type checker can check."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, TypeAlias

Engine: TypeAlias = Literal["spark", "duckdb"]
"""What runs queries and waves."""

StrategyChoice: TypeAlias = Literal["auto", "differential", "recompute"]
"""How changes are found: chosen per view and batch, never by recomputing, or always by recomputing."""

Execution: TypeAlias = Literal["spark", "auto"]
"""Where the waves of a Spark database run: all on Spark, or small ones in this process."""

Late: TypeAlias = Literal["refuse", "present"]
"""What becomes of rows of a history that are too late: they are refused, or take the present instant."""

Instant: TypeAlias = int | datetime | date | str
"""Microseconds since the epoch, a datetime (UTC where it has no time zone), a date, or a text as in ISO 8601."""
