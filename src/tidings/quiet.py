"""Keeps libraries from logging what Tidings reports as an error anyway."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(logger: str) -> Iterator[None]:
    """Silence a logger inside a ``with`` block."""
    silenced = logging.getLogger(logger)
    level = silenced.level
    silenced.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        silenced.setLevel(level)
