"""What comes out of judging a rule: it fired, for some rows."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tidings.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule fired for some rows: its action ran, or is to run later."""

    rule: Rule
    rows: pa.Table
    ran: bool
    gone: bool = False
    """It tells that instances are gone, by a rule that also tells that they begin."""
    silenced: bool = False
    """It is recorded, and nothing else is done."""
