"""A star among the arguments of a function: ``struct(*)``, ``coalesce(t.*)``, ``count(DISTINCT *)``.

It stands for the columns it would stand for in a list, EXCEPT and REPLACE included; in ``struct`` they keep their
names.  ``count(*)`` counts rows and stays.  ``count(t.*)`` is refused, as in Spark: it would count the rows in which no
column is NULL.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.errors import InvalidExpression
from tidings.ir.expression import Expression
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.scope import Scope
from tidings.lang.sql.query.select.select_list import spelled, star_columns

_CLAUSES = ("where", "having", "qualify")


def with_stars_written_out(ctx: Context, node: exp.Select, scope: Scope) -> exp.Select:
    """The SELECT with the stars inside its expressions written out; those of its list stay."""
    if not any(_inside(star) for part in _parts(node) for star in _stars(part)):
        return node
    tree = node.copy()
    for star in [s for part in _parts(tree) for s in _stars(part) if _inside(s)]:
        _write_out(ctx, star, scope)
    return tree


def _parts(node: exp.Select) -> list[Expression]:
    return [*node.expressions, *(node.args[a] for a in _CLAUSES if node.args.get(a) is not None)]


def _stars(part: Expression) -> list[Expression]:
    """The stars of a clause with the sources they name, not those in its subqueries."""
    nodes = list(part.walk(prune=lambda n: isinstance(n, exp.Query)))
    return [n.parent if isinstance(n.parent, exp.Column) else n for n in nodes if isinstance(n, exp.Star)]


def _inside(star: Expression) -> bool:
    """Whether a star is an argument that stands for columns."""
    around = star.parent
    counts_rows = isinstance(around, exp.Count) and isinstance(star, exp.Star)
    return not counts_rows and not isinstance(around, exp.Select) and around is not None


def _write_out(ctx: Context, star: Expression, scope: Scope) -> None:
    around, key = star.parent, star.arg_key
    assert around is not None
    counted = around.parent if isinstance(around, exp.Distinct) else around
    if isinstance(counted, exp.Count) and isinstance(star, exp.Column):
        raise InvalidExpression(ctx.place(star), "use count(*), or name the columns", reason="count() of all columns")
    columns = [_argument(around, name, spelled(name, bound, scope)) for name, bound in star_columns(ctx, star, scope)]
    listed = key == "expressions"
    if not columns or not (listed or (key == "this" and "expressions" in around.arg_types)):
        raise ctx.unsupported("a star here", star)
    if not listed:
        around.set("this", columns.pop(0))
        around.set("expressions", [*columns, *around.expressions])
        return
    at = next(n for n, e in enumerate(around.expressions) if e is star)
    around.set("expressions", [*around.expressions[:at], *columns, *around.expressions[at + 1 :]])


def _argument(around: Expression, name: str, column: Expression) -> Expression:
    if isinstance(around, exp.Struct):
        return exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=column)
    return column
