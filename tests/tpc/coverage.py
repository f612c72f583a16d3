"""How much of TPC-H and TPC-DS Tidings keeps up to date, measured.

Each query is held against a plain DuckDB after every batch: what ``changes`` says must be the difference of two
recomputes.  The page is made from the results in :mod:`tests.tpc.page`.
"""

from __future__ import annotations

import random
import signal
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

import tidings
from tests.tpc.benchmark import Query, connect, queries
from tests.tpc.workload import Bag, Workload, difference, disagreement
from tidings.analysis.influents import influents
from tidings.delta.plan import Program, compile_program
from tidings.errors import TidingsError
from tidings.ir.relation import Relation, Restrict, Scan, Version
from tidings.ir.traverse import children
from tidings.rewrite.accumulate import grows_only
from tidings.rewrite.pipeline import normalise
from tidings.store.relation.view import View, stored

SCALE = 0.01
SEED = 20_261
LIMIT = 300
"""Seconds a query may take for the changes of one batch."""


@dataclass(slots=True)
class Found:
    """What is known about one query; times in seconds."""

    number: int
    accepted: bool = True
    exact: bool = True
    reason: str = ""
    checked: int = 0
    changed: int = 0
    """Batches after which its answer was another one."""
    left_out: int = 0
    """Batches after which it divides by zero, so that it has no answer."""
    whole: list[str] = field(default_factory=list)
    """Tables of which it reads an old state whole, when all its tables change."""
    whole_stored: list[str] = field(default_factory=list)
    """The same for the query as a stored view, with its groupings kept."""
    compile: float = 0.0
    first: float = 0.0
    run: float = 0.0
    recompute: float = 0.0


def measure(name: str, batches: int, part: int = 0, parts: int = 1, seed: int = SEED) -> list[Found]:
    """Hold every query, or one part of them, against recomputes after every batch."""
    plain = connect(name, SCALE)
    asked = queries(plain, name)
    work = Workload(
        plain, tidings.open(engine="duckdb", strategy="differential", clock=tidings.ManualClock(1)), random.Random(seed)
    )
    targets = work.aims(asked)
    work.season(targets)
    work.load()
    checks = [Check(work, query) for query in asked[part::parts]]
    for batch in range(batches):
        since = work.db.time
        work.batch(batch, targets)
        for check in checks:
            check.after(batch, since)
    return [check.found for check in checks]


class Check:
    """One query under test."""

    def __init__(self, work: Workload, query: Query) -> None:
        self.work = work
        self.query = query
        self.found = Found(query.number)
        self._before: Bag = Counter()
        self._runs: list[float] = []
        self._recomputes: list[float] = []
        started = time.perf_counter()
        try:
            plan = work.db._parts.plans.plan(query.text)
        except TidingsError as error:
            self.found.accepted = self.found.exact = False
            self.found.reason = str(error).splitlines()[0]
            return
        program = compile_program("result", plan, influents(plan, {}), {})
        self.found.compile = round(time.perf_counter() - started, 3)
        self.found.whole = read_whole(program)
        self.found.whole_stored = read_whole(as_stored(plan))
        self._before = self._recompute()

    def after(self, batch: int, since: int) -> None:
        """Compare what Tidings says of a batch with what two recomputes say."""
        found = self.found
        if not found.exact:
            return
        answer = self._recompute()
        expected, self._before = difference(answer, self._before), answer
        started = time.perf_counter()
        try:
            with at_most(LIMIT):
                said = self.work.delta(self.query, since)
        except TidingsError as error:
            if "DIVIDE_BY_ZERO" in str(error):  # as on Spark
                found.left_out += 1
                return
            found.exact, found.reason = False, f"batch {batch}: {str(error).splitlines()[0]}"
            return
        except TimeoutError:
            found.exact, found.reason = False, f"batch {batch}: took longer than {LIMIT} s"
            return
        self._runs.append(time.perf_counter() - started)
        wrong = disagreement(expected, said)
        if wrong:
            found.exact, found.reason = False, f"batch {batch}: expected and found of {[*wrong.items()][:3]}"
        found.checked += 1
        found.changed += any(expected.values())
        found.first = round(self._runs[0], 3)
        found.run = round(statistics.median(self._runs[1:] or self._runs), 3)
        found.recompute = round(statistics.median(self._recomputes), 3)

    def _recompute(self) -> Bag:
        started = time.perf_counter()
        answer = self.work.answer(self.query)
        self._recomputes.append(time.perf_counter() - started)
        return answer


def read_whole(program: Program) -> list[str]:
    """The changed tables of which a program reads some state without a restriction."""
    unrestricted = {name for step in program.steps for name in _unrestricted(step.plan)}
    return sorted(unrestricted & program.changed)


def _unrestricted(plan: Relation) -> set[str]:
    """The relations of which a plan reads a state with no restriction above it."""
    if isinstance(plan, Restrict):
        return set()
    if isinstance(plan, Scan):
        return set() if plan.version is Version.DELTA else {plan.relation}
    return {name for child in children(plan) for name in _unrestricted(child)}


def as_stored(plan: Relation) -> Program:
    """The program of a query that is a stored view, while rows come and go."""
    view = stored(View("result", "", plan), normalise(plan, {}), 0, strict=False)
    kept = frozenset(view.groupings)
    merged = frozenset(name for name, groups in view.groupings.items() if not grows_only(groups))
    return compile_program("result", view.over, influents(plan, {}), dict(view.groupings), stored=kept, merged=merged)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TimeoutError after a while; DuckDB looks for signals while it runs."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    except RuntimeError as error:
        raise (TimeoutError() if isinstance(error.__cause__, TimeoutError) else error) from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
