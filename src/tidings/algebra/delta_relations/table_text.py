"""Rows as a table of text, with ``-`` for what is not there, as the papers print them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table_text(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """
    >>> print(table_text(["tid", "name"], [["01", "Joe"], ["02", None]]))
    tid | name
    ----+-----
    01  | Joe
    02  | -
    """
    cells = [[_cell(value) for value in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]

    def shown(line: Sequence[str]) -> str:
        return " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()

    rule = "-+-".join("-" * width for width in widths)
    return "\n".join([shown(header), rule, *map(shown, cells)])


def _cell(value: object) -> str:
    return "-" if value is None else str(value)
