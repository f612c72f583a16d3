"""What Tidings answers: the rows of a query, and the changes of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table as Grid

from tidings.clock import instant
from tidings.engine import frames
from tidings.engine.backend import Backend
from tidings.engine.changes import added_up, paired, versioned, without_version
from tidings.ir.expression import TIME, WEIGHT

if TYPE_CHECKING:
    import pandas
    import polars

Row = dict[str, Any]

PREVIEW = 5
"""How many rows ``repr`` shows."""

CELL = 32
"""How many characters of a value are shown where a table would be wider than the terminal."""

HTML_ROWS = 20
"""How many rows a notebook shows,"""

HTML_CELL = 200
"""and how many characters of a value."""


@dataclass(frozen=True, slots=True, repr=False)
class ArrowRows:
    """What results and deltas have in common: an Arrow table, and the ways to hand it on."""

    _table: pa.Table
    _backend: Backend | None = field(default=None, compare=False)
    """The engine it came from, whose session ``to_spark`` works in."""

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table; those of a delta with ``__t``, their instants, and ``__w``, their weights."""
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """What :meth:`to_arrow` gives, as a pandas DataFrame."""
        frame: pandas.DataFrame = frames.to_pandas(self._table)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """What :meth:`to_arrow` gives, as a polars DataFrame; polars has to be installed."""
        frame: polars.DataFrame = frames.to_polars(self._table)
        return frame

    def to_spark(self, session: Any = None) -> Any:
        """What :meth:`to_arrow` gives, as a Spark DataFrame.

        :param session: The Spark session to make it in; not needed if the engine of the database is Spark.
        """
        return frames.to_spark(self._table, self._backend, session)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for any library that reads Arrow, by the Arrow PyCapsule protocol."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)


@dataclass(frozen=True, slots=True, repr=False)
class Result(ArrowRows):
    """The rows of a query.

    >>> result = Result(pa.table({"item": [1, 2], "qty": [90, None]}))
    >>> result.columns, len(result), result.rows()[0]
    (['item', 'qty'], 2, {'item': 1, 'qty': 90})
    """

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._table.column_names)

    def rows(self) -> list[Row]:
        """The rows as dictionaries, in the order that the query says; in none if it says none."""
        return list(self._table.to_pylist())

    def show(self, limit: int = 20) -> None:
        """Print the first rows as a table."""
        _print(self.columns, _values(self._table.slice(0, limit)))
        if self._table.num_rows > limit:
            print(f"… {self._table.num_rows - limit} more rows")

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def __repr__(self) -> str:
        return _preview("Result", "row", len(self), self.columns, _values(self._table.slice(0, PREVIEW)))

    def _repr_html_(self) -> str:
        return _html(self.columns, _values(self._table.slice(0, HTML_ROWS)), len(self))


class AffectedRows(Result):
    """How many rows a statement inserted, updated and deleted: a result of one row, which also counts.

    >>> affected = AffectedRows.of(inserted=2, updated=1)
    >>> affected.count, affected.rows()
    (3, [{'inserted': 2, 'updated': 1, 'deleted': 0}])
    """

    __slots__ = ()

    @staticmethod
    def of(inserted: int = 0, updated: int = 0, deleted: int = 0) -> AffectedRows:
        """So many rows."""
        counts = {"inserted": inserted, "updated": updated, "deleted": deleted}
        return AffectedRows(pa.table({name: pa.array([count], pa.int64()) for name, count in counts.items()}))

    @property
    def inserted(self) -> int:
        """How many rows came."""
        return int(self._table.column("inserted")[0].as_py())

    @property
    def updated(self) -> int:
        """How many rows were given other values, or the same ones again."""
        return int(self._table.column("updated")[0].as_py())

    @property
    def deleted(self) -> int:
        """How many rows went."""
        return int(self._table.column("deleted")[0].as_py())

    @property
    def count(self) -> int:
        """How many rows it was in all."""
        return self.inserted + self.updated + self.deleted

    def __repr__(self) -> str:
        return f"AffectedRows(inserted={self.inserted}, updated={self.updated}, deleted={self.deleted})"


class Change(NamedTuple):
    """One entry of a delta: at ``time`` the row came (``weight`` times) or went (``-weight`` times)."""

    row: Row
    time: int
    weight: int

    @property
    def instant(self) -> datetime:
        """``time`` as a datetime in UTC."""
        return instant(self.time)


class Pair(NamedTuple):
    """What a key stood for before and after a change; None where there was nothing."""

    old: Row | None
    new: Row | None
    time: int

    @property
    def instant(self) -> datetime:
        """``time`` as a datetime in UTC."""
        return instant(self.time)


@dataclass(frozen=True, slots=True, repr=False)
class Delta(ArrowRows):
    """The exact changes of a query's answer over an interval, one entry per row and instant."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the rows, without those of the instant and the weight."""
        return [c for c in self._table.column_names if c not in (TIME, WEIGHT)]

    def rows(self) -> list[Change]:
        """All changes in the order of their instants, what goes before what comes."""
        entries = self._table.to_pylist()
        changes = [Change(r, time, weight) for r in entries for time, weight in [(r.pop(TIME), r.pop(WEIGHT))]]
        return sorted(changes, key=lambda c: (c.time, c.weight > 0, repr(c.row)))

    def additions(self) -> list[Row]:
        """The rows that came, each as often as it did."""
        return [c.row for c in self.rows() for _ in range(c.weight)]

    def removals(self) -> list[Row]:
        """The rows that went, each as often as it did."""
        return [c.row for c in self.rows() for _ in range(-c.weight)]

    def net(self) -> Delta:
        """The changes with all instants folded into the last one: what lies between two states."""
        last = pc.max(self._table.column(TIME)).as_py() if self._table.num_rows else 0
        rows = without_version(self._table)
        places, totals = added_up(rows, self._table.column(WEIGHT))
        net = versioned(rows.take(places), last, totals).cast(self._table.schema)
        return Delta(net, self._backend)

    def paired(self, *key: str) -> list[Pair]:
        """Old and new values side by side, for rows that agree on the key at one instant; the oldest first."""
        changes = self.rows()
        entries = [{**c.row, TIME: c.time, WEIGHT: c.weight} for c in changes]
        ordered = pa.Table.from_pylist(entries, schema=self._table.schema)
        pairs = paired(ordered, key or self.columns, per_instant=True)

        def row(place: int | None) -> Row | None:
            return None if place is None else changes[place].row

        times = (next(changes[place].time for place in pair if place is not None) for pair in pairs)
        return [Pair(row(old), row(new), time) for (old, new), time in zip(pairs, times, strict=True)]

    def show(self) -> None:
        """Print the changes, oldest first."""
        _print(*self._grid(self.rows()))

    def __iter__(self) -> Iterator[Change]:
        return iter(self.rows())

    def __repr__(self) -> str:
        _, lines = self._grid(self.rows()[:PREVIEW])
        return _preview("Delta", "change", len(self), self.columns, lines)

    def _repr_html_(self) -> str:
        header, lines = self._grid(self.rows()[:HTML_ROWS])
        return _html(header, lines, len(self))

    def _grid(self, changes: list[Change]) -> tuple[list[str], list[list[Any]]]:
        """Changes as lines of a table: when, how often, and the values."""
        header = ["when", "", *self.columns]
        return header, [[f"{c.instant:%Y-%m-%d %H:%M:%S.%f}", f"{c.weight:+d}", *c.row.values()] for c in changes]


def _values(table: pa.Table) -> list[list[Any]]:
    return [list(row.values()) for row in table.to_pylist()]


def _text(value: Any) -> str:
    return "NULL" if value is None else str(value)


def _print(header: list[str], lines: list[list[Any]]) -> None:
    """Print a table that fits the terminal: long cells are cropped, and rows that are too wide become blocks."""
    console, texts = Console(), [[_text(value) for value in line] for line in lines]
    if len(header) > 1 and _width(header, texts) > console.width:
        texts = [[_cropped(text, CELL) for text in line] for line in texts]
    if len(header) > 1 and _width(header, texts) > console.width:
        for place, line in enumerate(lines, 1):
            console.print(*_block(place, header, line, console.width), sep="\n", markup=False, highlight=False)
        return
    grid = Grid(*header)
    for cells in texts:
        grid.add_row(*cells)
    console.print(grid)


def _width(header: list[str], lines: list[list[str]]) -> int:
    """How many characters a table is wide, with its borders."""
    cells = [max(map(cell_len, "\n".join(column).split("\n"))) for column in zip(header, *lines, strict=True)]
    return sum(cells) + 3 * len(cells) + 1


def _cropped(text: str, width: int) -> str:
    """A text on one line that is no longer than so many characters.

    >>> _cropped("a long\\nstory", 8), _cropped("short", 8)
    ('a long …', 'short')
    """
    line = " ".join(text.split("\n"))
    return line if cell_len(line) <= width else f"{set_cell_size(line, max(1, width - 1))}…"


def _block(place: int, header: list[str], line: list[Any], width: int) -> list[str]:
    """A row as a block: a line for each column.

    >>> print(*_block(1, ["item", "n"], ["a long story", 7], 15), sep="\\n")
    row 1
      item  a long …
      n     7
    """
    names = [_cropped(name, max(8, width // 3)) for name in header]
    longest = max(map(cell_len, names))
    room = max(8, width - longest - 4)
    cells = zip(names, line, strict=True)
    return [f"row {place}", *(f"  {set_cell_size(n, longest)}  {_cropped(_text(v), room)}" for n, v in cells)]


def _preview(kind: str, noun: str, count: int, columns: Sequence[str], lines: list[list[Any]]) -> str:
    """A line that says how much there is, and the first rows below it.

    >>> print(_preview("Result", "row", 6, ["item", "qty"], [[1, 90], [2, None]]))
    <Result: 6 rows of item, qty>
      1, 90
      2, NULL
      …
    """
    title = f"<{kind}: {count} {noun if count == 1 else noun + 's'} of {', '.join(columns)}>"
    shown = [f"  {', '.join(map(_text, line))}" for line in lines]
    return "\n".join([title, *shown, *(["  …"] if count > len(lines) else [])])


def _html(header: Sequence[str], lines: list[list[Any]], count: int) -> str:
    """A table in HTML, with a note of how many rows are not shown."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    texts = ([escape(_cropped(_text(value), HTML_CELL)) for value in line] for line in lines)
    body = "".join(f"<tr>{''.join(f'<td>{text}</td>' for text in line)}</tr>" for line in texts)
    more = f"<p>… {count - len(lines)} more</p>" if count > len(lines) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
