"""Errors as the catalog has them: one line."""

from __future__ import annotations

from tidings.errors import TidingsError


def error_text(error: Exception) -> str:
    """An error in one line: its condition or class, and its message.

    >>> error_text(ValueError("no such colour"))
    'ValueError: no such colour'
    """
    if isinstance(error, TidingsError):
        return f"{error.condition}: {error.message}"
    return f"{type(error).__name__}: {error}"
