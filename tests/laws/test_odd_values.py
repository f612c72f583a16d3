"""Whatever value is given, it is stored as it is, or refused with its row and column: nothing else leaves.

Values go by every way in: as a row, a dictionary, an Arrow table, a parameter and a literal.  What is taken is written,
read, folded into files, read again, and removed; the database checks itself at the end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tidings
from tests.laws.odd_values import TYPES, odd, odd_array
from tests.laws.seeds import chunks
from tidings.errors import InternalError, TidingsError
from tidings.ir.relation import Column
from tidings.store.relation.rows import read_rows
from tidings.store.relation.values import require_known_values, rounded

WHOLE = ("tinyint", "smallint", "int", "bigint")
CHUNK = 10_000
VIEWED = range(0, len(TYPES), 5)
"""The tables that have a stored view."""
PARAMETERS = 25
"""One of so many values is given as a parameter, through the whole of a statement."""


def taken(seed: int, type: str, value: Any) -> pa.Table | None:
    """A value as a row of a column; None if it is refused."""
    columns = (Column("id", "bigint"), Column("v", type))
    match seed % 4:
        case 0:
            data: Any = [(seed, value)]
        case 1:
            data = [{"id": seed, "v": value}]
        case 2:
            data = pd.DataFrame({"id": [seed], "v": pd.Series([value], dtype=object)})
        case _:
            data = pa.table({"id": pa.array([seed]), "v": odd_array(Random(seed))})
    try:
        rows = read_rows("t", columns, data)
        require_known_values("t", rows)
    except InternalError as error:
        raise AssertionError(f"{seed}: {type}") from error
    except TidingsError as refusal:
        shown = str(refusal)
        assert "InvalidRow" in shown
        assert len(shown) < 2000, shown
        return None
    except Exception as error:
        raise AssertionError(f"{seed}: {type}") from error
    if seed % 4 < 2:
        assert is_right(value, rows.column("v")[0].as_py(), type), f"{seed}: {type}"
    return rows


def is_right(value: Any, stored: Any, type: str) -> bool:
    """Whether what is stored is the value, as far as that is a question."""
    match value:
        case bool():
            return bool(stored == value)
        case int() if type in (*WHOLE, "double") or type.startswith("decimal"):
            return bool(stored == value) or (type == "double" and stored == float(value))
        case float() if type in (*WHOLE, "double"):
            return same(value, stored)
        case float() | Decimal() if type.startswith("decimal"):
            return bool(stored == rounded(value, type))
        case Decimal() if type in WHOLE:
            return bool(stored == value)
        case str() | bytes() if type in ("string", "binary"):
            return value in (stored, stored.encode() if isinstance(stored, str) else stored.decode("utf-8", "replace"))
        case pd.Timestamp() if type == "timestamp":
            return bool(stored == (value if value.tzinfo else value.tz_localize(UTC)).floor("us"))
        case datetime() if type == "timestamp" and value is not pd.NaT:
            return bool(stored == (value if value.tzinfo else value.replace(tzinfo=UTC)))
        case date() if type == "date" and not isinstance(value, datetime):
            return bool(stored == value)
        case _:
            return True


def same(one: float, other: Any) -> bool:
    return one == other or (math.isnan(one) and isinstance(other, float) and math.isnan(other))


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tidings.Database]:
    folder: Path = tmp_path_factory.mktemp("odd") / "d"
    with tidings.open(folder, engine="duckdb", clock=tidings.ManualClock(1000)) as db:
        for number, type in enumerate(TYPES):
            db.sql(f"CREATE TABLE t{number} (id BIGINT, v {type})")
            if number in VIEWED:
                db.sql(f"CREATE MATERIALIZED VIEW v{number} AS SELECT id, v FROM t{number} WHERE v IS NOT NULL")
        yield db


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seeds", chunks(300, quick=300, size=300))
def test_a_value_is_taken_or_refused(seeds: range) -> None:
    for seed in seeds:
        rng = Random(seed)
        taken(seed, rng.choice(TYPES), odd(rng))


@pytest.mark.filterwarnings("ignore")  # of NumPy and pandas, about values of theirs
@pytest.mark.parametrize("seeds", chunks(100_000, quick=0, size=CHUNK))
def test_a_value_is_stored_as_it_is_or_refused(seeds: range, db: tidings.Database) -> None:
    held: dict[str, list[pa.Table]] = {}
    for seed in seeds:
        rng = Random(seed)
        type, value = rng.choice(TYPES), odd(rng)
        if seed % PARAMETERS == 0:
            given(db, seed, type, value)
        rows = taken(seed, type, value)
        if rows is not None:
            held.setdefault(type, []).append(rows)
    assert len(held) == len(TYPES)
    kept(db, {number: pa.concat_tables(held[type]) for number, type in enumerate(TYPES)}, seeds[0])


def given(db: tidings.Database, seed: int, type: str, value: Any) -> None:
    """A value as a parameter of a statement, which casts it as SQL does; nothing of it stays."""
    number = TYPES.index(type)
    try:
        with db.transaction() as tx:
            tx.sql(f"INSERT INTO t{number} VALUES (:id, :v)", {"id": seed, "v": value})
            (row,) = tx.query(f"SELECT v FROM t{number} WHERE id = {seed}").rows()
            assert isinstance(value, float | Decimal) or is_right(value, row["v"], type), f"{seed}: {type}"
            tx.rollback()
    except InternalError as error:
        raise AssertionError(f"{seed}: {type}") from error
    except TidingsError as refusal:
        refusals = [str(refusal)]
        assert all(refusals)
    except Exception as error:
        raise AssertionError(f"{seed}: {type}") from error


def kept(db: tidings.Database, rows: dict[int, pa.Table], first: int) -> None:
    """What was taken can be written, read, folded, and removed."""
    with db.transaction() as tx:
        for number, values in rows.items():
            tx.insert(f"t{number}", values)
    for number, values in rows.items():
        assert shown(db, f"t{number}") == shown_rows(values), f"{TYPES[number]} from {first}"
    db.fold()
    for number, values in rows.items():
        assert shown(db, f"t{number}") == shown_rows(values), f"{TYPES[number]} from {first}, folded"
    assert db.check() == []
    with db.transaction() as tx:
        for number in rows:
            tx.sql(f"DELETE FROM t{number}")
    assert not any(len(db.query(f"t{number}")) for number in rows)
    assert not any(len(db.query(f"v{number}")) for number in VIEWED)


def shown(db: tidings.Database, name: str) -> list[str]:
    return shown_rows(db.query(name).to_arrow())


def shown_rows(rows: pa.Table) -> list[str]:
    """Each row as text; of 0.0 and -0.0, which are equal, either may come back."""
    return sorted(re.sub(r"-0\.0(?!\d)", "0.0", repr(row)) for row in rows.to_pylist())
