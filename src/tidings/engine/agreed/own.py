"""Calls of functions that users have added to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from tidings.engine.agreed.signature import fitted
from tidings.engine.agreed.term import NotAgreed, TypedExpression, braced, quoted_name, words

if TYPE_CHECKING:
    from tidings.engine.agreed.expression import Translator


def added(translator: Translator, node: exp.Anonymous, name: str) -> TypedExpression:
    """A call of a user's function; what it is given becomes what it takes."""
    takes, returns = translator.own[name]
    if len(node.expressions) != len(takes):
        raise NotAgreed(node)
    parts = []
    for argument, type in zip(node.expressions, takes, strict=True):
        part = fitted(node, translator.term(argument), type)
        if part is None:
            raise NotAgreed(node)
        parts.append(part)
    places = ", ".join(f"{{{n}}}" for n, _ in enumerate(parts))
    return TypedExpression(words(f"{braced(quoted_name(name))}({places})", *parts), returns)
