"""Lets four databases live for hours, with everything that can happen to them, and compares them with a model.

``python -m tests.soak --hours 1 --seed 1``, or ``make soak``.

- ``steady`` has one process for the whole time, so that its memory says something.
- ``restless`` is killed every few seconds, at any moment.
- ``remote`` is too, and has its catalog in PostgreSQL, which is killed as well.
- ``spark`` computes everything on Spark, which is stopped or killed.  It is slow, so runs of less than half an hour
  leave it out unless ``--lives`` names it.

All of them get transactions, random tables, views and rules, folds, vacuums, steps of the clock, and a fault per
minute.  What goes wrong ends the run, and says what was done last, with which seed, and where the database is kept.
Memory, files and latency are written to ``benchmarks/results/soak.txt`` and drawn in ``soak.png`` when a run of an hour
or more is over.
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
from typing import Literal

from tests import postgresql
from tests.soak.child import Place
from tests.soak.faults import FAULTS
from tests.soak.figures import Sample, write
from tests.soak.life import Life

MINUTE = 60.0
FAULT_LASTS = 6.0
WITH_SPARK = 0.5
KILLS = {"steady": 0.0, "restless": 0.008, "remote": 0.008, "spark": 0.0}
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.soak")
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lives", default=None, help="which, with commas between")
    parser.add_argument("--results", type=Path, default=None, help="a folder for figures")
    options = parser.parse_args()
    lives = options.lives or ",".join(name for name in FAULTS if name != "spark" or options.hours >= WITH_SPARK)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.soak.child"])
    home = Path(tempfile.mkdtemp(prefix="tidings-soak-"))
    print(f"seed {options.seed}, {options.hours:g} hours, in {home}", flush=True)
    failed, samples, threads = Event(), list[Sample](), []
    with ExitStack() as stack:
        for number, name in enumerate(lives.split(",")):
            catalog = None
            if name == "remote":
                if not postgresql.installed():
                    print("remote is left out: PostgreSQL is not installed", flush=True)
                    continue
                catalog = postgresql.schema(stack.enter_context(postgresql.server()), "soak")
            engine: Literal["duckdb", "spark"] = "spark" if name == "spark" else "duckdb"
            place = Place(home / name, home / f"{name}-told", catalog, runs=name == "steady", engine=engine)
            life = Life(name, place, Random(f"{options.seed} {name}"), context, KILLS[name])
            arguments = (life, options.seed * 10 + number, options.hours, failed, samples)
            threads.append(Thread(target=watch, args=arguments))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failed.is_set():
        print(f"FAILED. The databases are kept in {home}. Again: make soak SEED={options.seed}", flush=True)
        return 1
    shutil.rmtree(home)
    results = options.results or (RESULTS if options.hours >= 1 else None)
    if samples:
        print(write(samples, results, options.seed), flush=True)
    return 0


def watch(life: Life, seed: int, hours: float, failed: Event, samples: list[Sample]) -> None:
    """Let a life go on until its time is over, or something is wrong somewhere."""
    try:
        run(life, Random(seed), hours, failed, samples)
    except BaseException:
        failed.set()
        done = "\n  ".join(life.last)
        print(f"{life.name} is wrong. Seed {seed // 10}. Done last:\n  {done}\n{traceback.format_exc()}", flush=True)
        if life.process is not None:
            life.process.kill()


def run(life: Life, rng: Random, hours: float, failed: Event, samples: list[Sample]) -> None:
    begun = time.monotonic()
    life.begin()
    if not life.kills:
        life.must("warm")
    minute, faults = 0, rng.sample(FAULTS[life.name], k=len(FAULTS[life.name]))  # one after the other, so all come
    while time.monotonic() - begun < hours * 3600 and not failed.is_set():
        minute += 1
        end, fault = begun + minute * MINUTE, faults[minute % len(faults)]
        at = end - MINUTE + rng.uniform(5, MINUTE - FAULT_LASTS - 10)
        while time.monotonic() < at and not failed.is_set():
            life.step()
        time.sleep(0.1)  # whoever is to be killed is dead by then
        life.attempt(life._advance)
        with fault(life):
            until = time.monotonic() + FAULT_LASTS
            while time.monotonic() < until and not failed.is_set():
                life.step()
        life.counts[f"fault: {fault.__name__}"] += 1
        while time.monotonic() < end and not failed.is_set():
            life.step()
        sample = Sample.of(life, minute)
        samples.append(sample)
        print(sample, flush=True)
    life.attempt(life._after)
    life.attempt(life._verify)
    life.end()


if __name__ == "__main__":
    sys.exit(main())
