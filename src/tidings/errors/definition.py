"""Conditions of definitions of tables and views."""

from __future__ import annotations

from tidings.errors.base import TidingsError


class DuplicateRelation(TidingsError):
    """There is a table or view named {name} already"""

    hint_template = "drop it first, or choose another name"


class DependentObjects(TidingsError):
    """{name} cannot be {change}, for it is needed by {dependents}"""

    hint_template = "drop those first, or say CASCADE to drop them with it"


class BreaksViews(TidingsError):
    """{name} cannot be replaced or altered so: {dependents} would break: {reason}"""

    hint_template = "keep the columns they read, or drop them first"


class ColumnInUse(TidingsError):
    """{column} of {table} cannot be dropped or renamed: it is used by {users}"""

    hint_template = "drop or change what uses it first"


class CircularView(TidingsError):
    """{name} would read itself: {path}"""


class RecomputeRefused(TidingsError):
    """To follow {view} over this batch would take a recompute, because of {operator}"""

    hint_template = "ask without strict, over fewer transactions at a time, or give the operator a key"


class WrongKind(TidingsError):
    """{name} is {kind}, not {expected}"""


class NotATable(TidingsError):
    """{name} is a view: its rows follow from those of others and cannot be changed"""

    hint_template = "change the tables that it reads"
