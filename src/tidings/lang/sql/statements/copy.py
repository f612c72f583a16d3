"""``COPY table FROM 'files'``: rows of files, inserted."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.errors import InvalidSyntax, Place, UnsupportedStatement
from tidings.ir.dialect import DIALECT
from tidings.lang.sql.names import relation_name
from tidings.lang.sql.parse import place

FORMATS = ("parquet", "csv", "json")


@dataclass(frozen=True, slots=True)
class Copy:
    """``COPY [INTO] table FROM 'file, pattern or folder', … [FORMAT parquet | csv | json]``."""

    table: str
    files: tuple[str, ...]
    format: str | None
    """The format of all files; None if their names tell."""
    place: Place | None


def read_copy(tree: exp.Copy, text: str) -> Copy:
    """What a COPY says."""
    if not tree.args.get("kind"):
        hint = "ask db.query(…), and write its to_arrow() or to_pandas()"
        raise UnsupportedStatement(place(text, tree), hint, statement="COPY TO")
    if not isinstance(tree.this, exp.Table):
        hint = "the files have the names of their columns"
        raise UnsupportedStatement(place(text, tree.this), hint, statement="COPY of a query or with a list of columns")
    files = tree.args.get("files") or []
    if not files or not all(isinstance(file, exp.Literal) and file.is_string for file in files):
        raise InvalidSyntax(place(text, tree), "COPY t FROM 'sales/*.csv'", reason="COPY needs FROM and names of files")
    format = None
    for option in tree.args.get("params") or []:
        format = _format(option, text)
    return Copy(relation_name(tree.this, text), tuple(f.name for f in files), format, place(text, tree.this))


def _format(option: exp.Expr, text: str) -> str:
    value = option.expression
    format = str(value.name).lower() if isinstance(value, exp.Expr) else ""
    if option.name.upper() not in ("FORMAT", "FILEFORMAT", "FILE_FORMAT"):
        words = option.sql(DIALECT, comments=False)
        hint = "the one option is FORMAT; CSV files have a header and commas"
        raise UnsupportedStatement(place(text, option), hint, statement=f"COPY with {words}")
    if format not in FORMATS:
        hint = f"known: {', '.join(FORMATS)}"
        raise InvalidSyntax(place(text, option), hint, reason=f"there is no format {format!r}")
    return format
