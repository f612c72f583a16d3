"""The conditions that programs of rules and recursive queries can meet; imported from :mod:`tidings.errors`."""

from __future__ import annotations

from tidings.errors.base import TidingsError

__all__ = ["FixpointTooLong", "InvalidDatalog", "NotStratified", "TypeConflict", "UnsafeVariable", "WrongArity"]


class UnsafeVariable(TidingsError):
    """In the rule for {predicate} nothing gives the variable {variable} its values"""

    hint_template = "let {variable} occur in a literal that is not negated, or give it a value: {variable} = …"


class NotStratified(TidingsError):
    """The rules go round in a circle through {through}: {cycle}"""

    hint_template = "take what is negated or counted out of the circle: define it by rules that do not read {predicate}"


class WrongArity(TidingsError):
    """{predicate} has {columns} columns, here it has {arguments} arguments"""

    hint_template = "write _ for a column that does not matter, or name the columns: {predicate}({example} = x)"


class InvalidDatalog(TidingsError):
    """The program cannot be used: {reason}"""


class TypeConflict(TidingsError):
    """In the rule for {predicate} the variable {variable} would be {first} and {second} at once"""

    hint_template = "use two variables and compare them after a conversion"


class FixpointTooLong(TidingsError):
    """The recursion of {predicate} is not finished after {rounds} rounds"""

    hint_template = (
        "a value that grows with every round never ends: bound it by a condition, or keep its least with min; "
        "tidings.open(rounds=…) allows more rounds"
    )
