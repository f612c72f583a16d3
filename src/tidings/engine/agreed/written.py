"""Constants among the arguments of a function, as they are written."""

from __future__ import annotations

from sqlglot import exp

from tidings.engine.agreed.term import NotAgreed
from tidings.ir.expression import Expression


def written_whole(node: Expression, argument: Expression | None) -> int:
    """A whole number among the arguments of a node."""
    number = argument.this if isinstance(argument, exp.Neg) else argument
    if not isinstance(number, exp.Literal) or number.is_string or not number.name.isdigit():
        raise NotAgreed(node)
    return -int(number.name) if isinstance(argument, exp.Neg) else int(number.name)


def written_text(node: Expression, argument: Expression | None) -> str:
    """A text among the arguments of a node."""
    if not isinstance(argument, exp.Literal) or not argument.is_string or "\0" in argument.name:
        raise NotAgreed(node)
    return argument.name
