"""docs/coverage.md, made from the results in coverage.json."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from tests.tpc.coverage import SCALE, Found

RESULTS = Path(__file__).with_name("coverage.json")
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
NAMES = {"tpch": "TPC-H", "tpcds": "TPC-DS"}

HEAD = f"""# Coverage of TPC-H and TPC-DS

Which queries of the two benchmarks Tidings accepts, and whether what it says about them is exact. Made by
`make coverage`, which takes about half an hour on two cores.

Rows and queries are those of DuckDB's extensions, at scale {SCALE}; sqlglot puts the queries into Spark's dialect.
Tidings runs on its DuckDB engine. Each batch is two transactions of inserts, updates and deletes over all tables,
some of random rows, most aimed at rows the queries select. After each batch `db.changes(query, since)` is held against
the difference of two recomputes by a plain DuckDB. Where a `LIMIT` leaves ties, the recompute breaks them as Tidings
does, by the whole row. Floating point numbers are compared to four decimals.

A division by zero fails, as on Spark. The plain DuckDB gives NULL for it; a batch in which a divisor becomes zero
cannot be held against it, and is left out.

- **accepted**: the query can be a view.
- **incremental**: its changes come from a delta program, without recomputing the query and comparing. The measurement
  allows nothing else (`strategy="differential"`), so this is every query that is accepted and runs. It says nothing of
  cost: see what is read whole. Left to itself, Tidings may choose to recompute.
- **exact**: every batch agreed. "13 of 20" means that the answer changed in 13 of the 20 batches checked. "0 of 20" is
  weak: it shows only that Tidings reported no change where there was none.
- **read whole**: tables whose old state the delta program reads without a restriction, when all tables of the query
  change. It is the price of what stands in [sql.md](sql.md#two-kinds-of-operators): keyed operators without a key, such
  as `LIMIT`, over others.
- **stored**: the same for the query as a materialized view, which keeps groupings of counts and exact sums.
- Times are milliseconds: to compile the query, for the first batch, for later ones (median), and for the recompute
  by the plain DuckDB. At this scale a recompute is the fastest way there is; the figures are for comparing queries.
  They were taken on a machine busy with other work.
"""


def load() -> dict[str, list[Found]]:
    """The stored results by benchmark."""
    read = json.loads(RESULTS.read_text())
    return {name: [Found(**entry) for entry in entries] for name, entries in read.items()}


def save(results: dict[str, list[Found]]) -> None:
    """Store results, and the page they make."""
    body = {name: [asdict(f) for f in found] for name, found in results.items()}
    lines = ",\n".join(
        f'"{name}": [\n' + ",\n".join(f"  {json.dumps(entry)}" for entry in entries) + "\n]"
        for name, entries in body.items()
    )
    RESULTS.write_text(f"{{\n{lines}\n}}\n")
    PAGE.write_text(render(results))


def render(results: dict[str, list[Found]]) -> str:
    """The page."""
    names = ["", "queries", "accepted", "incremental", "exact", "batches checked", "of them with a change"]
    names += ["queries that never changed", "nothing read whole", "nothing when stored"]
    totals = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    totals += [_total(name, found) for name, found in results.items()]
    sections = [f"## {NAMES[name]}\n\n{_table(found)}" for name, found in results.items()]
    return "\n\n".join([HEAD.strip(), "\n".join(totals), *sections]) + "\n"


def _total(name: str, found: list[Found]) -> str:
    accepted = [f for f in found if f.accepted]
    cells = [
        len(found),
        len(accepted),
        len(accepted),
        sum(f.exact for f in found),
        sum(f.checked for f in found),
        sum(f.changed for f in found),
        sum(not f.changed for f in accepted),
        sum(not f.whole for f in accepted),
        sum(not f.whole_stored for f in accepted),
    ]
    return f"| {NAMES[name]} | {' | '.join(map(str, cells))} |"


def _table(found: list[Found]) -> str:
    lines = ["| query | accepted | exact | read whole | stored | compile | first | run | recompute |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    return "\n".join([*lines, *map(_line, found)])


def _line(found: Found) -> str:
    if not found.accepted:
        return f"| {found.number} | no: {found.reason} | | | | | | | |"
    exact = f"{found.changed} of {found.checked}" if found.exact else f"no: {found.reason}"
    exact += f", {found.left_out} left out" if found.left_out else ""
    times = (found.compile, found.first, found.run, found.recompute)
    reads = [", ".join(whole) or "nothing" for whole in (found.whole, found.whole_stored)]
    cells = ["yes", exact, *reads, *(f"{t * 1000:.0f}" for t in times)]
    return f"| {found.number} | {' | '.join(cells)} |"
