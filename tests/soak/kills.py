"""Kills databases at random moments, a thousand times, and looks after each kill what is there.

``python -m tests.soak.kills --count 1000``, or ``make kills``: half of the kills with the catalog in SQLite, half with
it in PostgreSQL.  A process is killed by SIGKILL while it commits, judges rules, delivers, folds, vacuums, defines,
opens, closes, or tells a subscriber.  The next one must find

- every transaction that was acknowledged, and of the one under way all or nothing;
- every table and view as a plain model has them, and the database without a finding of its own;
- what rules have done, in their transaction and after it, once for each row;
- every message that is to be sent, under one id;
- a subscriber that goes on from its position, with every change once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import sys
import tempfile
import time
import traceback
from contextlib import ExitStack
from pathlib import Path
from random import Random
from threading import Event, Thread

from tests import postgresql
from tests.soak.child import Place
from tests.soak.life import Life


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.soak.kills")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.soak.child"])
    home, failed = Path(tempfile.mkdtemp(prefix="tidings-kills-")), Event()
    print(f"seed {options.seed}, {options.count} kills, in {home}", flush=True)
    with ExitStack() as stack:
        catalogs: dict[str, str | None] = {"sqlite": None}
        if postgresql.installed():
            catalogs["postgresql"] = postgresql.schema(stack.enter_context(postgresql.server()), "kills")
        lives = [
            Life(name, Place(home / name, home / f"{name}-told", url), Random(f"{options.seed} {name}"), context)
            for name, url in catalogs.items()
        ]
        share = -(-options.count // len(lives))
        threads = [Thread(target=watch, args=(life, share, options.seed, failed)) for life in lives]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for life in lives:
        print(f"\n{life.name}", *(f"  {what}: {n:,}" for what, n in sorted(life.counts.items())), sep="\n")
    if failed.is_set():
        print(f"FAILED. The databases are kept in {home}. Again: make kills SEED={options.seed}", flush=True)
        return 1
    shutil.rmtree(home)
    return 0


def watch(life: Life, count: int, seed: int, failed: Event) -> None:
    """Kill a life some times, unless something is wrong somewhere."""
    try:
        life.begin()
        begun = time.monotonic()
        while life.counts["kills"] < count and not failed.is_set():
            for _ in range(life.rng.randint(0, 3)):
                life.step()
            life.killed_step()
            kills = life.counts["kills"]
            if kills % 20 == 0:
                life.attempt(life._verify)
                print(f"{life.name}: {kills} kills in {time.monotonic() - begun:.0f} s", flush=True)
        life.attempt(life._after)
        life.attempt(life._verify)
        life.end()
    except BaseException:
        failed.set()
        done = "\n  ".join(life.last)
        print(f"{life.name} is wrong. Seed {seed}. Done last:\n  {done}\n{traceback.format_exc()}", flush=True)
        if life.process is not None:
            life.process.kill()


if __name__ == "__main__":
    sys.exit(main())
