"""Calls of the functions that Spark lists, with arguments of all types: those that DuckDB is said to evaluate too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from random import Random

from sqlglot.errors import ParseError

from tests.unit.engine.agreed.awkward import COLUMNS, VALUES
from tidings.engine.agreed.expression import knows
from tidings.engine.agreed.row import agreed
from tidings.errors import TidingsError
from tidings.lang.sql.parse import parsed

TRIED = 150
"""So many combinations of arguments are tried."""

CONSTANTS = ["0", "1", "-2", "3", "2.5", "'a'", "''", "'MM'", "'yyyy-MM-dd'", "','", "true", "NULL", "256"]
OPERATORS = {
    **dict.fromkeys("% & * + - / < <= <=> <> = == != > >= ^ | || and or div like rlike regexp".split(), "{0} %s {1}"),
    "!": "! {0}",
    "~": "~ {0}",
    "not": "NOT {0}",
    "between": "{0} BETWEEN {1} AND {2}",
    "in": "{0} IN ({1}, {2})",
    "case": "CASE WHEN {0} THEN {1} ELSE {2} END",
    "when": "CASE {0} WHEN {1} THEN {2} END",
    "ilike": "{0} ILIKE {1}",
    "<<": "{0} << {1}",
    ">>": "{0} >> {1}",
    ">>>": "{0} >>> {1}",
}
LAMBDAS = {
    "transform": ["x -> x + 1", "(x, i) -> i", "x -> concat(x, 'a')"],
    "filter": ["x -> x > 0", "(x, i) -> i > 0", "x -> x IS NULL", "x -> x = 'a'"],
    "exists": ["x -> x > 0", "x -> x = 'a'", "x -> x IS NULL"],
    "forall": ["x -> x > 0", "x -> x = 'a'", "x -> x IS NULL"],
    "any_match": [],
}
CASTS = ["TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE", "FLOAT", "STRING", "DATE", "TIMESTAMP", "BOOLEAN", "BINARY"]
CASTS += ["DECIMAL(10,2)", "DECIMAL(5,1)", "DECIMAL(38,10)", "TIMESTAMP_NTZ"]
UNITS = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "DAYOFWEEK", "DOW", "DOY"]

OF = ["t", "i", "b", "d", "w", "f", "s", "p", "day", "at", "tags", "pair"]
"""Columns that aggregates are taken of."""
OF_PAIRS = ["f, g", "i, j", "d, i", "s, i", "f, day", "f, 0.3", "s, '-'"]


def aggregate_calls(name: str) -> list[str]:
    """Calls of an aggregate."""
    if name in ("percentile_cont", "percentile_disc"):
        return [f"{name}(0.3) WITHIN GROUP (ORDER BY {column})" for column in OF]
    return [f"{name}({arguments})" for arguments in (*OF, *OF_PAIRS)]


def calls(name: str, most: int, seed: int = 1) -> list[str]:
    """Some calls of a function that DuckDB is said to evaluate, of each number of arguments."""
    found: list[str] = []
    for candidates in _candidates(name, Random(f"{name} {seed}")):
        found += islice((text for text in candidates if _is_agreed(text)), most)
    return found


def _candidates(name: str, rng: Random) -> Iterator[Iterator[str]]:
    """Texts of calls by the number of their arguments."""
    columns = list(VALUES)
    if name == "cast":
        yield (f"CAST({c} AS {t})" for c, t in _mixed(rng, columns, CASTS))
        yield (f"TRY_CAST({c} AS {t})" for c, t in _mixed(rng, columns, CASTS))
        return
    if name in ("extract", "date_part", "datepart", "date_trunc", "trunc"):
        form = "extract({1} FROM {0})" if name == "extract" else f"{name}('{{1}}', {{0}})"
        form = "trunc({0}, '{1}')" if name == "trunc" else form
        yield (form.format(c, u) for c, u in _mixed(rng, columns, UNITS))
        return
    if name in LAMBDAS:
        yield (f"{name}({c}, {f})" for c, f in _mixed(rng, columns, LAMBDAS[name]))
        return
    if name in OPERATORS:
        form = OPERATORS[name].replace("%s", name)
        parts = [columns, [*columns, *CONSTANTS], [*columns, *CONSTANTS]][: form.count("{")]
        yield (form.format(*arguments) for arguments in _mixed(rng, *parts))
        return
    several = [*columns, *CONSTANTS]
    if name == "named_struct":
        yield (f"named_struct('a', {c}, 'b', {d})" for c, d in _mixed(rng, columns, several))
        return
    for parts in ([], [columns], [several, several], [columns, several, several]):
        if _is_known(f"{name}({', '.join('x' for _ in parts)})"):
            yield (f"{name}({', '.join(a)})" for a in islice(_mixed(rng, *parts), TRIED))


def _mixed(rng: Random, *parts: list[str]) -> Iterator[tuple[str, ...]]:
    """All combinations of some parts, in a random order."""
    combinations = list(product(*parts))
    rng.shuffle(combinations)
    return iter(combinations)


def _is_known(text: str) -> bool:
    try:
        return knows(parsed(text))
    except (ParseError, ValueError, IndexError):
        return False


def _is_agreed(text: str) -> bool:
    try:
        found = agreed(parsed(text), COLUMNS)
    except (TidingsError, ParseError, ValueError, IndexError):
        return False
    return found is not None and "<void" not in found.type and ":void" not in found.type
