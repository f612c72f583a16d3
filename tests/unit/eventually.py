"""Waits for what another thread does."""

from __future__ import annotations

import time
from collections.abc import Callable

LONG = 30.0
"""Seconds after which something is taken not to happen any more."""


def eventually(holds: Callable[[], object], what: str = "it") -> None:
    """Wait until something holds; fails if it does not for a long time."""
    deadline = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.005)
