"""Values in the place of the parameters of a text: ``:name`` and ``?``.

A value becomes a part of the tree, never of the text, so nothing in it is read as SQL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from sqlglot import exp

from tidings.errors import InvalidParameter, UnsupportedStatement
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression, literal
from tidings.lang.sql.identifiers import with_plain_names
from tidings.lang.sql.parse import place
from tidings.lang.sql.schemas import with_whole_names

Params: TypeAlias = Mapping[str, Any] | Sequence[Any]
"""Values by name, for ``:name``, or in order, for ``?``."""

_CHANGES_ROWS = exp.Insert | exp.Update | exp.Delete | exp.Merge
_WITHOUT = "a definition is kept, and with it its text: write the value into it"


@dataclass(slots=True)
class Parameters:
    """The values of the parameters of one text, which may be several statements."""

    params: Params | None
    _used: set[str | int] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        if self.params is not None and (
            isinstance(self.params, str | bytes) or not isinstance(self.params, Mapping | Sequence)
        ):
            raise InvalidParameter(
                None, _FORMS, name="params", reason=f"they are given as a {type(self.params).__name__}"
            )

    def filled(self, tree: Expression, text: str) -> Expression:
        """A statement with values in the place of its parameters."""
        found = sorted(tree.find_all(exp.Placeholder), key=lambda n: int(n.meta.get("start", 0)))
        if not found:
            return tree
        if not isinstance(tree, exp.Query | exp.Values | _CHANGES_ROWS):
            raise UnsupportedStatement(place(text, found[0]), _WITHOUT, statement="a definition with a parameter")
        for node in found:
            _replace(node, self._value(node, text))
        return with_whole_names(with_plain_names(tree, place(text, tree)))

    def require_all_used(self) -> None:
        """Refuse values that no statement asked for."""
        names = () if self.params is None else self.params if isinstance(self.params, Mapping) else range(self._count)
        unused = next((name for name in names if name not in self._used), None)
        if unused is not None:
            name = f":{unused}" if isinstance(unused, str) else f"number {unused + 1}"
            raise InvalidParameter(None, name=name, reason="it has a value, but the text does not mention it")

    @property
    def _count(self) -> int:
        return 0 if self.params is None else len(self.params)

    def _value(self, node: exp.Placeholder, text: str) -> Expression | list[Expression]:
        named = bool(node.this)
        key = str(node.this) if named else sum(isinstance(k, int) for k in self._used)
        shown = f":{key}" if named else f"number {int(key) + 1}"
        self._used.add(key)
        if self.params is None or named != isinstance(self.params, Mapping) or not self._has(key):
            raise InvalidParameter(place(text, node), _FORMS, name=shown, reason="it has no value")
        value = self.params[key]  # type: ignore[index]
        if getattr(value, "ndim", None) == 1 and hasattr(value, "tolist"):  # an array of numpy, a column of pandas
            value = value.tolist()
        if isinstance(value, list | tuple | set | frozenset):
            return [self._expression(v, shown, node, text) for v in value]
        return self._expression(value, shown, node, text)

    def _has(self, key: str | int) -> bool:
        return key in self.params if isinstance(self.params, Mapping) else int(key) < self._count

    def _expression(self, value: object, shown: str, node: Expression, text: str) -> Expression:
        try:
            expression = _as_expression(value)
        except OverflowError:
            reason = "in UTC it is outside of the years 1 to 9999"
            raise InvalidParameter(place(text, node), _TYPES, name=shown, reason=reason) from None
        except UnicodeEncodeError:
            reason = "its text has half of a character, which cannot be written"
            raise InvalidParameter(place(text, node), name=shown, reason=reason) from None
        if expression is None:
            reason = f"a value of the type {type(value).__name__} has no form in SQL"
            raise InvalidParameter(place(text, node), _TYPES, name=shown, reason=reason)
        return expression


_FORMS = "params={'name': value} has the values of :name, params=[value] those of ?, in order"
_TYPES = "give a number, text, bytes, a date or datetime, a truth value, None, or a list of these"


def _replace(node: exp.Placeholder, value: Expression | list[Expression]) -> None:
    """Put a value into the place of a parameter; a list inside ``IN (…)`` becomes the members of it."""
    around = node.parent
    if not isinstance(value, list):
        node.replace(value)
    elif not isinstance(around, exp.In) or node.arg_key != "expressions":
        node.replace(exp.Array(expressions=value))
    else:
        members = [m for e in around.expressions for m in (value if e is node else [e])]
        if members:
            around.set("expressions", members)
        else:
            around.replace(exp.false())


def _as_expression(value: object) -> Expression | None:
    """A value as an expression of its type; None if there is none.

    >>> [_as_expression(value).sql(DIALECT) for value in (None, -7, 0.5, Decimal("1.50"), "it's")]
    ['NULL', '-7', "CAST('0.5' AS DOUBLE)", "CAST('1.50' AS DECIMAL(3, 2))", "'it''s'"]
    """
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.true() if value else exp.false()
        case int() if -(2**63) < value < 2**63:
            return literal(value)
        case int() if abs(value) < 10**38:
            return _cast(str(value), "DECIMAL(38, 0)")
        case float():
            return _cast(repr(float(value)) if math.isfinite(value) else _NOT_FINITE[str(float(value))], "DOUBLE")
        case Decimal() if value.is_finite():
            return _decimal(value)
        case str():
            value.encode()  # raises where there is half of a character
            return exp.Literal.string(value)
        case bytes():
            return exp.HexString(this=value.hex())
        case datetime() if value != value:  # the NaT of pandas, which is no instant
            return exp.Null()
        case datetime():
            utc = value.astimezone(UTC) if value.tzinfo else value
            return _cast(f"{utc.replace(tzinfo=None).isoformat(' ')}", "TIMESTAMP")
        case date():
            return _cast(value.isoformat(), "DATE")
        case _ if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # a number of numpy
            inner = value.item()
            return None if type(inner) is type(value) else _as_expression(inner)
        case _:
            return None


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _decimal(value: Decimal) -> Expression | None:
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale, 1)
    return _cast(f"{value:f}", f"DECIMAL({precision}, {scale})") if precision <= 38 else None


def _cast(text: str, type: str) -> Expression:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(type, dialect=DIALECT))
