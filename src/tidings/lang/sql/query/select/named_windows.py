"""Named windows, written out where they are used.

``OVER w`` and ``w2 AS w1`` take all that the named window says.  ``OVER (w …)`` and ``w2 AS (w1 …)`` add to it: an
ORDER BY where it has none, a frame where it has none.  A window that is named later may be used before.  A name belongs
to its own SELECT and not to the queries inside it.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.errors import InvalidExpression, closest
from tidings.ir.expression import Expression
from tidings.lang.sql.context import Context

_PARTS = {"partition_by": "PARTITION BY", "order": "ORDER BY", "spec": "frame"}


def with_inline_windows(ctx: Context, node: exp.Select) -> exp.Select:
    """A SELECT whose windows have no names."""
    if not node.args.get("windows") and not any(w.alias for w in _own_windows(node)):
        return node
    tree = node.copy()
    definitions: dict[str, Expression] = {}
    for window in tree.args.get("windows") or []:
        if window.name.lower() in definitions:
            raise InvalidExpression(ctx.place(window.this), reason=f"two windows are named {window.name}")
        definitions[window.name.lower()] = window
    for window in (*definitions.values(), *_own_windows(tree)):
        _take_over(ctx, window, definitions, ())
    tree.set("windows", None)
    return tree


def _own_windows(node: exp.Select) -> list[exp.Window]:
    """The windows of a SELECT that are not those of a query inside it."""
    inside = node.walk(prune=lambda n: isinstance(n, exp.Query) and n is not node)
    return [n for n in inside if isinstance(n, exp.Window) and n.arg_key != "windows"]


def _take_over(ctx: Context, window: Expression, definitions: dict[str, Expression], around: tuple[str, ...]) -> None:
    """Give a window what the one it names says."""
    name = window.args.get("alias")
    if name is None:
        return
    named = definitions.get(name.name.lower())
    if named is None:
        hint = closest(name.name, list(definitions))
        raise InvalidExpression(ctx.place(name), hint, reason=f"no window is named {name.name}")
    if name.name.lower() in around:
        raise InvalidExpression(ctx.place(name), reason=f"the window {name.name} is defined by itself")
    _take_over(ctx, named, definitions, (*around, name.name.lower()))
    own = [p for p in _PARTS if window.args.get(p)]
    said_twice = next((p for p in _PARTS if p in own and (p == "partition_by" or named.args.get(p))), None)
    if said_twice is None and own and named.args.get("spec"):
        said_twice = "spec"
    if said_twice is not None:
        reason = f"a window that builds on {name.name} has no {_PARTS[said_twice]} beside that one's"
        raise InvalidExpression(ctx.place(name), reason=reason)
    for part in (p for p in _PARTS if named.args.get(p)):
        inherited = named.args[part]
        window.set(part, [e.copy() for e in inherited] if isinstance(inherited, list) else inherited.copy())
    window.set("alias", None)
