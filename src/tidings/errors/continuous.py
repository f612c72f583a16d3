"""Error conditions of continuous queries; :mod:`tidings.errors` has them too."""

from __future__ import annotations

from tidings.errors.base import TidingsError


class UnknownContinuousQuery(TidingsError):
    """There is no continuous query named {name}"""


class InvalidContinuousQuery(TidingsError):
    """The continuous query {name} cannot be: {reason}"""
