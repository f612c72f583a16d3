"""Named points at which a test may end the process, as a power cut would.

``TIDINGS_FAULT=commit.logged:3`` kills the process with SIGKILL when it comes by ``commit.logged`` for the third time.
Without the variable a point costs one look into an empty dictionary.
"""

from __future__ import annotations

import os
import signal

_left: dict[str, int] = {}


def arm(fault: str) -> None:
    """Die at a point, written as ``name`` or ``name:count``."""
    name, _, count = fault.partition(":")
    _left[name] = int(count or 1)


if "TIDINGS_FAULT" in os.environ:
    arm(os.environ["TIDINGS_FAULT"])


def point(name: str) -> None:
    """A place worth dying at."""
    if name in _left:
        _left[name] -= 1
        if _left[name] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
