"""Failures of conditions and actions, as those see them whose transaction or load is refused: the rule is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from tidings.errors import RuleFailed, StaleWriter, TidingsError
from tidings.rules.error_text import error_text


def failure(rule: str, part: Literal["condition", "action"], error: Exception) -> RuleFailed:
    """The error that says which rule failed; to be raised from the one it failed with.

    >>> failure("low", "action", ValueError("no such colour")).message
    'The action of the rule low failed: ValueError: no such colour'
    """
    place, hint = (error.place, error.hint) if isinstance(error, TidingsError) else (None, None)
    return RuleFailed(place, hint, rule=rule, part=part, error=type(error).__name__, reason=error_text(error))


@contextmanager
def naming(rule: str) -> Iterator[None]:
    """Let an error in judging a condition name the rule."""
    try:
        yield
    except StaleWriter:
        raise
    except TidingsError as error:
        raise failure(rule, "condition", error) from error
