"""Killed at any named point of commit, fold, wave, definition or vacuum, a database opens again and nothing is wrong.

- What was acknowledged is there; what was not is there as a whole or not at all, be it rows or an altered table.
- Every view, stored or not, says what its query says of the tables.
- Whoever followed a view's changes up to the crash and goes on after it has seen each change once.
- The life goes on: more transactions can follow.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tests.crash.workload import DEFINITIONS, VIEWS, bag, expected, shape, steps
from tests.laws.seeds import PERCENT, SEED
from tests.postgresql import schema, server

SOURCE = Path(tidings.__file__).parent
POINTS = sorted({p for path in SOURCE.rglob("*.py") for p in re.findall(r"\bpoint\(\"([\w.]+)\"\)", path.read_text())})
LIVES = max(1, 2 * PERCENT // 100)
TIMES = (1, 3)
EACH = {"redefine.written": 6, "redefine.done": 6}
"""Points that alterations of every kind come by, and how often a life does: killed at each of these times."""


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.nursery"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait(20)
    process.stdout.close()


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


def ended(nursery: subprocess.Popen[str], folder: Path, seed: int, wanted: str, catalog: str = "") -> str:
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(f"{folder} {seed} {wanted} {catalog}\n")
    nursery.stdin.flush()
    return nursery.stdout.readline().strip()


@pytest.mark.slow
@pytest.mark.parametrize("name", POINTS)
def test_killed_at(name: str, nursery: subprocess.Popen[str], tmp_path: Path) -> None:
    killed = 0
    for seed in range(SEED * 100, SEED * 100 + (1 if name in EACH else LIVES)):
        for time in range(1, EACH[name] + 1) if name in EACH else TIMES:
            folder = tmp_path / f"{seed}-{time}"
            how = ended(nursery, folder, seed, f"{name}:{time}")
            assert how in ("killed", "ended 0"), f"seed {seed}, {name}:{time}: {how}"
            killed += how == "killed"
            if how == "killed":
                check(folder, seed, f"seed {seed}, killed at {name}:{time}")
    assert killed, f"no life came by {name}"


@pytest.mark.slow
@pytest.mark.parametrize("name", POINTS)
def test_killed_with_a_catalog_in_postgresql(
    name: str, nursery: subprocess.Popen[str], postgresql: str, tmp_path: Path
) -> None:
    for time in TIMES:
        seed, folder = SEED * 100, tmp_path / str(time)
        catalog = schema(postgresql, f"at_{name.replace('.', '_')}_{time}")
        how = ended(nursery, folder, seed, f"{name}:{time}", catalog)
        assert how in ("killed", "ended 0"), f"seed {seed}, {name}:{time}: {how}"
        check(folder, seed, f"seed {seed}, killed at {name}:{time}", catalog)


def check(folder: Path, seed: int, case: str, catalog: str | None = None) -> None:
    """Open what a crash left, look at everything, and go on."""
    told = folder.with_suffix(".told")
    acknowledged = max(map(int, told.read_text().split()), default=None) if told.exists() else None
    with tidings.open(folder, engine="duckdb", clock=tidings.ManualClock(10_000), catalog=catalog) as db:
        if acknowledged is None:
            define_the_rest(db, case)
        last = acknowledged or 0
        done = max((n for (n,) in bag(db, "done")), default=0)
        kinds = [step.kind for step in steps(seed)]
        before = max((n for n in range(1, last + 1) if kinds[n - 1] == "commit"), default=0)
        allowed = {before, last + 1} if kinds[last : last + 1] == ["commit"] else {before}
        assert done in allowed, f"{case}: {last} was acknowledged, {done} is there"
        columns = tuple(c.name for c in db._parts.relations.table("w").columns)
        shapes = [shape(seed, last), shape(seed, last + 1)]
        fitting = [s for s in shapes if s.columns == columns and db._parts.relations.find(s.name) is not None]
        assert fitting, f"{case}: {last} was acknowledged, of {shapes} none is there"
        want = expected(seed, done, fitting[0])
        for table, rows in want.items():
            assert bag(db, table) == rows, f"{case}: {table}"
        check_views(db, case)
        check_follower(db, case)
        since = db.time
        with db.transaction() as tx:
            tx.insert("t", [(1, 1), (2, None)])
            tx.insert("u", [(2, 2)])
            tx.insert("w", [{"k": 1}])
        check_views(db, f"{case}, and after one more transaction")
        for view in VIEWS:
            check_changes(db, view, since, case)


def define_the_rest(db: tidings.Database, case: str) -> None:
    """Go on with the definitions: those that are there are the first ones."""
    missing = [d for d in DEFINITIONS if db._parts.relations.find(d.split()[2 + ("MATERIALIZED" in d)]) is None]
    assert missing == list(DEFINITIONS[len(DEFINITIONS) - len(missing) :]), case
    for definition in missing:
        db.sql(definition)


def check_views(db: tidings.Database, case: str) -> None:
    """Every view has the rows of its query, asked for directly."""
    for view in VIEWS:
        assert bag(db, view) == bag(db, _text(view)), f"{case}: {view}"


def check_follower(db: tidings.Database, case: str) -> None:
    """A named subscription goes on from its position and then has everything, or is told to begin anew."""
    known = db._parts.storage.subscriptions().get("follower")
    position = None if known is None else known.position
    rows: Counter[tuple[object, ...]] = Counter()
    try:
        rows = bag(db, "totals", as_of=position) if position is not None else rows
    except tidings.errors.HistoryGone:
        with pytest.raises(tidings.errors.MustRefetch):
            list(db.subscribe("totals", name="follower"))
        db.unsubscribe("follower")
    for batch in db.subscribe("totals", name="follower"):
        for change in batch.changes.rows():
            rows[tuple(change.row.values())] += change.weight
    assert +rows == bag(db, "totals"), f"{case}: the follower from {position}"


def _text(view: str) -> str:
    return next(d.split(" AS ", 1)[1] for d in DEFINITIONS if f" {view} AS " in d)


def check_changes(db: tidings.Database, view: str, since: int, case: str) -> None:
    """Old rows and changes make the new rows, over the last transaction and over the whole history that is kept."""
    begins = max(t.forgotten for t in db._parts.storage.tables())
    for start in (begins, since):
        rows = bag(db, _text(view), as_of=start)
        for change in db.changes(view, since=start, per_commit=True).rows():
            rows[tuple(change.row.values())] += change.weight
        assert +rows == bag(db, view), f"{case}: changes of {view} since {start}"
