"""Error conditions of AMOSQL: types, functions, variables and objects."""

from __future__ import annotations

from tidings.errors.base import TidingsError


class UnknownType(TidingsError):
    """There is no type named {name}"""


class UnknownFunction(TidingsError):
    """There is no function named {name}"""


class UnknownVariable(TidingsError):
    """There is no variable named {name} here"""


class UnboundVariable(TidingsError):
    """The variable {name} could have any value: nothing says which"""

    hint_template = "compare it with the value of a function, or declare it with for each"


class DuplicateDefinition(TidingsError):
    """There is a {kind} named {name} already"""

    hint_template = "choose another name, or drop it first"


class TypeMismatch(TidingsError):
    """{what} is of type {found}, where {expected} is expected"""


class InvalidCall(TidingsError):
    """The function {name} cannot be called like this: {reason}"""


class NotUpdatable(TidingsError):
    """The values of {name} cannot be changed: {reason}"""


class InvalidOverload(TidingsError):
    """The function {name} cannot be defined for {type} too: {reason}"""


class RecursiveFunction(TidingsError):
    """The function {name} is defined by itself: {path}"""

    hint_template = "write recursive definitions in SQL or Datalog"


class ForeignNotHere(TidingsError):
    """The foreign function {name} cannot be part of {where}"""

    hint_template = "call it in a query, a procedure or the action of a rule"


class UnknownForeign(TidingsError):
    """No function of Python is registered as {name}"""

    hint_template = "register it with @db.foreign({name!r})"


class ForeignFailed(TidingsError):
    """The foreign function {name} failed: {reason}"""


class SeveralValues(TidingsError):
    """A variable takes one value, and here are {count}"""

    hint_template = "say in where which one"


__all__ = [
    "DuplicateDefinition",
    "ForeignFailed",
    "ForeignNotHere",
    "InvalidCall",
    "InvalidOverload",
    "NotUpdatable",
    "RecursiveFunction",
    "SeveralValues",
    "TypeMismatch",
    "UnboundVariable",
    "UnknownForeign",
    "UnknownFunction",
    "UnknownType",
    "UnknownVariable",
]
