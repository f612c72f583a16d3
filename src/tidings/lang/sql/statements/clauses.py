"""What of a statement's tree is read; a clause that nobody would read is refused by its name, and not passed over.

The parser knows the statements of many dialects.  Whatever it has put into a tree counts as written by the user.
Queries inside a statement are looked at when they are bound (:mod:`tidings.lang.sql.query.select.clauses`).
"""

from __future__ import annotations

from sqlglot import exp

from tidings.errors import UnsupportedStatement
from tidings.ir.expression import Expression
from tidings.lang.sql.parse import place

READ: dict[type[Expression], frozenset[str]] = {
    exp.Insert: frozenset("this expression conflict hint".split()),
    exp.OnConflict: frozenset("expressions action conflict_keys where".split()),
    exp.Update: frozenset("this expressions where hint".split()),
    exp.Delete: frozenset("this where hint".split()),
    exp.Merge: frozenset("this using on whens".split()),
    exp.Whens: frozenset(["expressions"]),
    exp.When: frozenset("matched source condition then".split()),
    exp.Create: frozenset("this kind expression exists properties replace".split()),
    exp.Drop: frozenset("kind tables exists materialized cascade restrict".split()),
    exp.Alter: frozenset("this kind actions".split()),
    exp.AlterColumn: frozenset("this dtype".split()),
    exp.AlterRename: frozenset(["this"]),
    exp.RenameColumn: frozenset("this to".split()),
    exp.TruncateTable: frozenset(["expressions"]),
    exp.Copy: frozenset("this kind files params".split()),
    exp.CopyParameter: frozenset("this expression".split()),
    exp.Refresh: frozenset("this kind".split()),
    exp.Schema: frozenset("this expressions".split()),
    exp.ColumnDef: frozenset("this kind constraints exists".split()),
    exp.ColumnConstraint: frozenset("this kind".split()),
    exp.Constraint: frozenset("this expressions".split()),
    exp.PrimaryKey: frozenset("expressions".split()),
    exp.PrimaryKeyColumnConstraint: frozenset(),
    exp.NotNullColumnConstraint: frozenset(["allow_null"]),
    exp.CheckColumnConstraint: frozenset(["this"]),
    exp.Property: frozenset("this value".split()),
    exp.Table: frozenset("this alias db catalog hints".split()),
    exp.TableAlias: frozenset("this columns".split()),
}
"""The arguments of the nodes of statements that have a meaning here."""

_UPSERT = "write ON CONFLICT DO NOTHING, or ON CONFLICT DO UPDATE SET column = excluded.column"
_INSIDE = "write WITH at the beginning of a query inside the statement"
_NAMES = {
    "with_": "WITH",
    "from_": "FROM",
    "where": "REPLACE WHERE",
    "by_name": "BY NAME",
    "default": "DEFAULT VALUES",
    "identity": "RESTART IDENTITY",
    "option": "CASCADE",
    "duplicate": "ON DUPLICATE KEY",
    "constraint": "ON CONFLICT ON CONSTRAINT",
    "index_predicate": "ON CONFLICT with a condition on its columns",
    "dtype": "TYPE",
    "rename_to": "CHANGE COLUMN",
    "alternative": "OR",
    "credentials": "CREDENTIALS",
    "position": "FIRST and AFTER",
    "exists": "IF EXISTS",
    "expression": "AS and a query",
}
_HINTS = {
    "alternative": _UPSERT,
    "ignore": _UPSERT,
    "duplicate": _UPSERT,
    "constraint": "ON CONFLICT is about the primary key, which need not be named",
    "returning": "the result says how many rows it was; db.changes(table, since) has the rows",
    "with_": _INSIDE,
    "from_": "use WHERE and subqueries, or MERGE",
    "using": "use WHERE and subqueries, or MERGE",
    "limit": "use WHERE and subqueries",
    "order": "use WHERE and subqueries",
    "by_name": "name the columns: INSERT INTO table (a, b) SELECT a, b …",
    "default": "say which columns: INSERT INTO table (a) VALUES (DEFAULT)",
    "overwrite": "TRUNCATE TABLE and INSERT, in one transaction",
    "where": "DELETE and INSERT, in one transaction",
    "position": "columns are added at the end; a query gives them in any order",
}


def refuse_unread(tree: Expression, text: str) -> None:
    """Refuse a statement with a clause that has no meaning here."""
    for part in tree.walk(prune=lambda n: isinstance(n, exp.Query | exp.Values)):
        read = READ.get(type(part))
        if read is None or isinstance(part, exp.Query):
            continue
        unread = next((a for a, value in part.args.items() if a not in read and _is_written(value)), None)
        if unread is not None:
            raise _refused(tree, part, unread, text)


def _is_written(value: object) -> bool:
    """Whether an argument is there; of some the parser makes a node that has nothing in it."""
    if isinstance(value, exp.IndexParameters | exp.Credentials):
        return any(map(_is_written, value.args.values()))
    return bool(value)


def _refused(tree: Expression, part: Expression, unread: str, text: str) -> UnsupportedStatement:
    value = part.args[unread]
    first = value[0] if isinstance(value, list) else value
    node = first if isinstance(first, exp.Expr) else part
    hint = _HINTS.get(unread, _WITHOUT)
    name = _NAMES.get(unread, unread.strip("_").upper())
    if unread == "alternative":
        name = f"OR {value}"
    if unread == "default" and isinstance(part, exp.AlterColumn):
        name, hint = (
            "SET DEFAULT",
            "a column has the DEFAULT that it was made with: ADD COLUMN … DEFAULT, or CREATE TABLE",
        )
    words = _STATEMENTS.get(type(tree), type(tree).__name__.upper())
    if isinstance(tree, exp.Create | exp.Drop | exp.Alter):
        words = f"{words} {tree.args.get('kind')}"
    at = place(text, node) or place(text, tree)
    return UnsupportedStatement(at, hint, statement=f"{words} with {name}")


_STATEMENTS: dict[type[Expression], str] = {exp.TruncateTable: "TRUNCATE TABLE"}
_WITHOUT = "write the statement without it"
