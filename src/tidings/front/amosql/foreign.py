"""Foreign functions: functions of Python that AMOSQL calls by name, with values, for a value.

Those that have arguments and a value are functions of SQL too, under names that nobody else has, so that conditions of
rules can call them: declared when they are defined, and known to the engine once their code is registered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tidings.errors import ForeignFailed, TidingsError, UnknownForeign, closest
from tidings.front.functions import Functions, declared_function
from tidings.ir.operator_calls import foreign_function
from tidings.lang.amosql.schema import SQL_TYPES, Function, Schema

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "real": (float, int),
    "charstring": (str,),
    "boolean": (bool,),
}


@dataclass(frozen=True, slots=True)
class ForeignFunctions:
    """The foreign functions that are registered with one database; names are taken without regard to case."""

    _by_name: dict[str, Callable[..., Any]] = field(init=False, default_factory=dict)

    def register(self, name: str, function: Callable[..., Any]) -> None:
        """Register a function under a name, in the place of one that had it before."""
        self._by_name[name.lower()] = function

    def find(self, name: str) -> Callable[..., Any] | None:
        """The function that is registered under a name."""
        return self._by_name.get(name.lower())

    def call(self, name: str, arguments: tuple[Any, ...], result: str | None) -> Any:
        """The value of a function, of the type that it is declared to have; None if it has none."""
        if name.lower() not in self._by_name:
            raise UnknownForeign(None, closest(name, self._by_name), name=name)
        try:
            value: Any = self._by_name[name.lower()](*arguments)
        except TidingsError:
            raise
        except Exception as error:
            raise ForeignFailed(name=name, reason=f"{type(error).__name__}: {error}") from error
        if value is None or result is None:
            return None
        expected = _PYTHON_TYPES.get(result, (int,))
        if not isinstance(value, expected) or (isinstance(value, bool) and result != "boolean"):
            raise ForeignFailed(name=name, reason=f"it returned {value!r}, where {result} is expected")
        checked: Any = value
        return float(checked) if result == "real" else checked


@dataclass(slots=True)
class ForeignInSql:
    """The foreign functions that queries of SQL call."""

    functions: Functions
    foreign: ForeignFunctions

    def declare(self, schema: Schema) -> None:
        """Let queries call the foreign functions of a schema."""
        for function in (f for resolvents in schema.functions.values() for f in resolvents):
            if function.is_in_sql:
                self._declare(function)

    def _declare(self, function: Function) -> None:
        assert function.foreign is not None
        assert function.result is not None
        code = self.foreign.find(function.foreign)
        takes = [SQL_TYPES.get(p.type, "BIGINT") for p in function.parameters]
        returns = SQL_TYPES.get(function.result.type, "BIGINT")
        record = declared_function(foreign_function(function.name), takes, returns, code or (lambda: None))
        if code is None:
            self.functions.declare(replace(record, text=""))
        else:
            value = _as_sql_calls(function.name, code, function.result.type)
            self.functions.register(record, value, code, each=True)


def _as_sql_calls(name: str, code: Callable[..., Any], result: str) -> Callable[..., Any]:
    """A foreign function as engines call it: NULL for no value.

    It closes over nothing but plain values and the user's code, for workers of Spark get a copy of it.
    """
    expected, is_real, is_boolean = _PYTHON_TYPES.get(result, (int,)), result == "real", result == "boolean"

    def call(*arguments: Any) -> Any:
        if any(argument is None for argument in arguments):
            return None
        try:
            value = code(*arguments)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".replace("⟩", ">")
            raise RuntimeError(f"⟨tidings: foreign {name}: {reason}⟩") from error
        if value is None:
            return None
        if not isinstance(value, expected) or (isinstance(value, bool) and not is_boolean):
            reason = f"it returned {value!r}, where {result} is expected".replace("⟩", ">")
            raise RuntimeError(f"⟨tidings: foreign {name}: {reason}⟩")
        checked: Any = value
        return float(checked) if is_real else checked

    return call
