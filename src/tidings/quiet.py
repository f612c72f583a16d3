"""Keeping libraries from logging what Tidings reports as an error anyway."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(logger: str) -> Iterator[None]:
    """Silence a logger for a while."""
    found = logging.getLogger(logger)
    before = found.level
    found.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        found.setLevel(before)
