"""Arguments of public calls, held against the plain types that are declared for them.

Without this a ``None`` in the place of a text would fail somewhere inside, as a mistake of Tidings.  Only plain types
are looked at: what takes many forms, such as rows, instants and parameters, is judged where it is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

from tidings.errors import InvalidArgument

P = ParamSpec("P")
R = TypeVar("R")

_PLAIN: dict[str, tuple[tuple[type[Any], ...], str]] = {
    "str": ((str,), "a text"),
    "Path": ((Path,), "a path"),
    "bool": ((bool,), "True or False"),
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "timedelta": ((timedelta,), "a timedelta"),
    "Sequence[str]": ((list, tuple), "a list of texts"),
    "Collection[str]": ((list, tuple, set, frozenset), "a collection of texts"),
    "Mapping[str, Any]": ((Mapping,), "a mapping"),
    "None": ((type(None),), "None"),
}
"""The types that are looked at, as they are declared, and what they are called."""

_JUDGED_ELSEWHERE = frozenset({"engine", "strategy", "execution", "late", "isolation", "timeout", "memory", "id"})
"""Parameters whose values have conditions of their own."""


def checked(method: Callable[P, R]) -> Callable[P, R]:
    """Refuse arguments that are not of the plain types that a function declares.

    >>> @checked
    ... def named(name: str | None, times: int = 1) -> str:
    ...     return (name or "nobody") * times
    >>> named("ann", 2), named(None)
    ('annann', 'nobody')
    >>> try:
    ...     named("ann", True)
    ... except InvalidArgument as error:
    ...     print(error)
    InvalidArgument: The argument times of named() is to be a whole number, and True was given
    """
    signature = inspect.signature(method)
    plain = {n: _options(p) for n, p in signature.parameters.items() if n not in _JUDGED_ELSEWHERE and _options(p)}
    places = list(signature.parameters)

    @wraps(method)
    def called(*args: P.args, **named: P.kwargs) -> R:
        for name, value in [*zip(places, args, strict=False), *named.items()]:
            if name in plain and not any(_is(value, option) for option in plain[name]):
                refuse(f"{name} of {method.__name__}()", plain[name], value)
        return method(*args, **named)

    return called


def refuse(name: str, options: list[str], value: object) -> NoReturn:
    """Say what an argument is to be."""
    kinds = [_PLAIN[option][1] if option in _PLAIN else option for option in options]
    shown = repr(value) if isinstance(value, str | bytes | int | float | None) else f"a {type(value).__name__}"
    raise InvalidArgument(name=name, expected=" or ".join(kinds), value=shown[:100])


def _options(parameter: inspect.Parameter) -> list[str]:
    """The plain types that a parameter may have; none if it may have others too."""
    options = str(parameter.annotation).split(" | ")
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return []
    return options if all(option in _PLAIN for option in options) else []


def _is(value: object, option: str) -> bool:
    if isinstance(value, bool):
        return option == "bool"
    fits = isinstance(value, _PLAIN[option][0])
    return fits and (not option.endswith("[str]") or all(isinstance(each, str) for each in value))  # type: ignore[attr-defined]
