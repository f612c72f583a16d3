"""Long chains of one operator become trees that are not deep: conditions, texts put together, set operations.

A parser reads ``a AND b AND c AND …`` as a tree as deep as the chain is long.  All that is rewritten here does not
depend on where the parentheses are.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression

LONG = 16
"""Shorter chains stay as they are."""

_CHAINED = (exp.And, exp.Or, exp.DPipe)


def without_long_chains(tree: Expression) -> Expression:
    """Chains of one operator as trees whose depth grows with the logarithm of the length.

    - ``a AND b AND c``: the same with other parentheses; ``OR`` and ``||`` too
    - ``a UNION ALL b UNION ALL c``: the same
    - ``a UNION b UNION c``: the distinct rows of ``a UNION ALL b UNION ALL c``
    - ``a EXCEPT b EXCEPT c``: ``a EXCEPT (b UNION ALL c)``; with ``ALL`` too

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT " + " || ".join("abcdefghijklmnopqr"), read="spark")
    >>> max(node.depth for node in without_long_chains(tree).walk())
    11
    """
    for node in list(tree.find_all(*_CHAINED, exp.SetOperation)):
        if isinstance(node, exp.SetOperation):
            _shorten_set_operation(node)
        elif not isinstance(node.parent, type(node)):
            operands = _operands(node)
            if len(operands) > LONG:
                half = len(operands) // 2
                node.set("this", _balanced(type(node), operands[:half]))
                node.set("expression", _balanced(type(node), operands[half:]))
    return tree


def _operands(node: Expression) -> list[Expression]:
    """The operands of a chain, from the left."""
    operands: list[Expression] = []
    at = node
    while type(at) is type(node):
        operands.append(at.expression)
        at = at.this
    return [at, *reversed(operands)]


def _balanced(kind: type[Expression], operands: list[Expression]) -> Expression:
    """A tree over operands, in parentheses, since engines read its text again."""
    if len(operands) == 1:
        return operands[0]
    half = len(operands) // 2
    tree = kind(this=_balanced(kind, operands[:half]), expression=_balanced(kind, operands[half:]))
    return exp.Paren(this=tree) if kind is exp.DPipe else tree


def _shorten_set_operation(node: exp.SetOperation) -> None:
    """Shorten a chain of ``UNION`` or ``EXCEPT`` of which this is the last."""
    is_plain = isinstance(node, exp.Union | exp.Except) and not (_goes_on(node) and _same(node.parent, node))
    operands = _set_operands(node) if is_plain else []
    if len(operands) <= LONG:
        return
    if isinstance(node, exp.Except):
        left, right = operands[0], _union_all(operands[1:])
    else:
        half = len(operands) // 2
        left, right = _union_all(operands[:half]), _union_all(operands[half:])
    node.set("this", left)
    node.set("expression", exp.Subquery(this=right) if isinstance(right, exp.SetOperation) else right)


def _goes_on(node: exp.SetOperation) -> bool:
    """Whether this is but a part of a chain."""
    return node.arg_key == "this" and not _modifiers(node)


def _same(outer: Expression | None, node: exp.SetOperation) -> bool:
    """Whether two set operations are the same one."""
    return type(outer) is type(node) and outer is not None and outer.args.get("distinct") == node.args.get("distinct")


def _modifiers(node: exp.SetOperation) -> set[str]:
    """What a set operation says beside its operands, such as an order."""
    return {name for name, value in node.args.items() if value} - {"this", "expression", "distinct"}


def _set_operands(node: exp.SetOperation) -> list[Expression]:
    """The operands of a chain of one set operation, from the left."""
    if node.args.get("by_name"):
        return []
    operands = [node.expression]
    at = node.this
    while isinstance(at, exp.SetOperation) and _same(node, at) and not _modifiers(at):
        operands.append(at.expression)
        at = at.this
    return [at, *reversed(operands)]


def _union_all(operands: list[Expression]) -> Expression:
    """All rows of some queries."""
    if len(operands) == 1:
        return operands[0]
    half = len(operands) // 2
    right = _union_all(operands[half:])
    inner = exp.Subquery(this=right) if isinstance(right, exp.SetOperation) else right
    return exp.Union(this=_union_all(operands[:half]), expression=inner, distinct=False)
