"""Rows of an answer as the frames of other libraries; each library is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidings.engine.arrow import without_empty_chunks
from tidings.engine.backend import Backend
from tidings.errors import MissingPackage, SessionNeeded

if TYPE_CHECKING:
    from tidings.engine.spark.lazy_frames import LazyFrames


def to_pandas(rows: pa.Table) -> Any:
    """Rows as a pandas DataFrame."""
    _required("pandas")
    return rows.to_pandas()


def to_polars(rows: pa.Table) -> Any:
    """Rows as a polars DataFrame."""
    return _required("polars").from_arrow(rows)


def to_spark(rows: pa.Table, backend: Backend | None, session: Any = None) -> Any:
    """Rows as a Spark DataFrame in a session, by default in the one the database works in."""
    if session is None and backend is not None and backend.name == "spark":
        from tidings.engine.spark import Spark

        assert isinstance(backend, Spark)
        session = backend.user_session
    if session is None:
        raise SessionNeeded(engine="not known" if backend is None else backend.name)
    return session.createDataFrame(without_empty_chunks(rows))


def lazy_frames(backend: Backend) -> LazyFrames | None:
    """What makes frames that nobody has fetched; None for an engine that has none."""
    if backend.name != "spark":
        return None
    from tidings.engine.spark import Spark

    assert isinstance(backend, Spark)
    return backend.lazy_frames


def _required(package: str) -> ModuleType:
    try:
        return import_module(package)
    except ImportError:
        raise MissingPackage(package=package) from None
