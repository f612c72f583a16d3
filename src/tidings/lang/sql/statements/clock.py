"""ACCEPT CLOCK: what the clock reads now is true, however far it lies after all that was before."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.lang.sql.statements.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class AcceptClock:
    """``ACCEPT CLOCK``."""


def is_accept_clock(reader: TokenReader) -> bool:
    """Whether a statement is that."""
    return reader.word() == "ACCEPT" and reader.word(1) == "CLOCK"


def read_accept_clock(reader: TokenReader) -> AcceptClock:
    """Read the statement."""
    reader.expect("ACCEPT", "CLOCK")
    reader.require_end()
    return AcceptClock()
