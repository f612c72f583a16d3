"""The text of a definition, such that running it makes the same table or view again.

>>> create_view_text("low", "SELECT item FROM stock", ())
'CREATE VIEW low AS SELECT item FROM stock'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidings.ir.column import Column
from tidings.ir.expression import show_name
from tidings.ir.standard_form import After


def create_table_text(
    name: str,
    columns: Sequence[Column],
    *,
    key: Sequence[str] = (),
    required: Sequence[str] = (),
    checks: Sequence[str] = (),
    defaults: Mapping[str, str] | None = None,
    append_only: bool = False,
    time_column: str | None = None,
    after: Sequence[After] = (),
) -> str:
    """A CREATE TABLE statement, one line per column and constraint.

    >>> print(create_table_text("t", [Column("a", "int"), Column("b c", "string")], key=["a"], defaults={"b c": "'x'"}))
    CREATE TABLE t (
        a int,
        `b c` string DEFAULT 'x',
        PRIMARY KEY (a)
    )
    """
    lines = []
    for column in columns:
        line = f"{show_name(column.name)} {column.type}"
        if column.name in required and column.name not in key:
            line += " NOT NULL"
        if column.name in (defaults or {}):
            line += f" DEFAULT {(defaults or {})[column.name]}"
        lines.append(line)
    if key:
        lines.append(f"PRIMARY KEY ({', '.join(map(show_name, key))})")
    lines += [f"CHECK ({condition})" for condition in checks]
    lines += map(after_text, after)
    options = ["append_only"] if append_only else []
    options += [f"time = {show_name(time_column)}"] if time_column is not None else []
    ending = f" WITH ({', '.join(options)})" if options else ""
    body = ",\n    ".join(lines)
    return f"CREATE TABLE {show_name(name)} (\n    {body}\n){ending}"


def after_text(fact: After) -> str:
    """A constraint that rows come after those that they name.

    >>> after_text(After("later", ("re",), "msgs", ("id",), enforced=False))
    'CONSTRAINT later (re) AFTER msgs (id) NOT ENFORCED'
    """
    columns, named = (", ".join(map(show_name, names)) for names in (fact.columns, fact.named))
    ending = "" if fact.enforced else " NOT ENFORCED"
    return f"CONSTRAINT {show_name(fact.name)} ({columns}) AFTER {show_name(fact.relation)} ({named}){ending}"


def create_view_text(name: str, query: str, columns: Sequence[str], *, refresh: str | None = None) -> str:
    """A CREATE VIEW statement; with ``refresh``, that of a stored view.

    >>> create_view_text("v", "SELECT 1", ["one"], refresh="immediate strict")
    "CREATE MATERIALIZED VIEW v (one) WITH (refresh = 'immediate strict') AS SELECT 1"
    """
    kind = "VIEW" if refresh is None else "MATERIALIZED VIEW"
    names = f" ({', '.join(map(show_name, columns))})" if columns else ""
    options = "" if refresh is None else f" WITH (refresh = '{refresh}')"
    return f"CREATE {kind} {show_name(name)}{names}{options} AS {query.strip()}"
