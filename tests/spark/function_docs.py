"""``docs/functions.md``: what becomes of each function of Spark."""

from __future__ import annotations

from functools import cache

from sqlglot import exp
from sqlglot.errors import ParseError

import tidings
from tests.spark.function_calls import aggregate_calls, calls
from tests.unit.engine.agreed.awkward import COLUMNS
from tidings.analysis import functions
from tidings.engine.agreed.table import FUNCTIONS
from tidings.errors import TidingsError
from tidings.ir.expression import template

SPARKS = "Spark's alone"

HEAD = """# Functions

Functions are those of Spark 4.3. This page says for each of them whether DuckDB evaluates it too: with
`engine="duckdb"`, and in this process with `execution = "auto"`. It is made by `tests/spark/test_functions.py`, which
holds every function that both evaluate against Spark, with NULLs, extreme numbers, NaN, awkward texts and far dates.

- **same**: DuckDB gives Spark's value, of Spark's type, or Spark's error. Where only some calls are the same (for a few
  types, or with constants among the arguments), the others are Spark's alone. For a value on which DuckDB would differ,
  such as `upper('ß')`, it refuses the query with `SparkNeeded`; with `auto`, Spark is asked.
- **Spark's alone**: with `engine="duckdb"` refused with `SparkNeeded`; with `auto` the query or wave runs on Spark. A
  function of the user's inside `transform` or `filter` that reads a column of the row is Spark's alone too.
- **aggregate**: the same over the rows of a group, for some types at least, or Spark's alone.
- **window**: a function of windows, see [sql.md](sql.md).
- **rows**: makes rows; it stands in FROM, in LATERAL VIEW or alone in the list.
- **refused**: its result is not determined by the rows; where it depends on their order, a window may give it one.
- **clock**: reads the clock; in conditions only. See [time.md](time.md).

A function that Spark does not have is unknown on both engines, also if DuckDB has it: `product`, `today`, `histogram`.

| function | |
|---|---|
"""


def page(names: list[str]) -> str:
    """The page for functions of some names."""
    return HEAD + "".join(f"| `{name}` | {_outcome(name)} |\n" for name in sorted(names))


def _outcome(name: str) -> str:
    node = call(name)
    if node is not None:
        if functions.is_non_deterministic(node):
            return "refused"
        if functions.reads_clock(node):
            return "clock"
        if functions.is_generator(node):
            return "rows"
        if functions.is_window(node):
            return "window"
        if functions.depends_on_order(node):
            return "refused, but over windows"
        if name in ("grouping", "grouping_id"):
            return "of groupings"
        if functions.is_aggregate(node) or isinstance(node, exp.Any):
            return f"aggregate: {'same' if any(map(_is_accepted, aggregate_calls(name))) else SPARKS}"
    if not calls(name, 1):
        return SPARKS
    forms = sorted({f.form for f in FUNCTIONS if f.name == name})
    return f"same: {', '.join(f'`{form}`' for form in forms)}" if forms else "same"


def _is_accepted(aggregate: str) -> bool:
    """Whether a database on DuckDB takes an aggregate."""
    try:
        _database().query(f"SELECT {aggregate} AS x FROM awkward")
    except TidingsError:
        return False
    return True


@cache
def _database() -> tidings.Database:
    db = tidings.open(engine="duckdb")
    columns = (f"{c.name} {c.type}" for c in COLUMNS if not c.type.startswith("map<"))
    db.sql(f"CREATE TABLE awkward ({', '.join(columns)})")
    return db


def call(name: str) -> exp.Expr | None:
    """A call of a function, with as many arguments as the parser wants."""
    for number in range(4):
        try:
            return template(f"{name}({', '.join(['x'] * number)})")
        except (ParseError, ValueError, IndexError):
            continue
    return None
