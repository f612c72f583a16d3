"""Foreign functions: functions of Python that AMOSQL calls by name, with values, for a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tidings.errors import ForeignFailed, TidingsError, UnknownForeign, closest

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
