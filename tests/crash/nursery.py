"""Raises lives that end at named points: imports everything once, then forks for each case.

Reads cases from standard input as ``folder seed fault [catalog]``, one per line, and answers each with how it ended.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path

from tests.crash.workload import live
from tidings.store import fault_points as fault


def main() -> None:
    for line in sys.stdin:
        folder, seed, wanted, *catalog = line.split()
        child = os.fork()
        if not child:
            _child(Path(folder), int(seed), wanted, catalog[0] if catalog else None)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if killed else f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


def _child(folder: Path, seed: int, wanted: str, catalog: str | None) -> None:
    try:
        fault.arm(wanted)
        live(folder, seed, folder.with_suffix(".told"), catalog)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
