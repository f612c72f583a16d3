"""A Spark session of Tidings' own that is made when it is first asked for, and what is said where it has been stopped.

Opening a database asks Spark for nothing, so a process whose work is small may never start it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from tidings.engine.scalar_function import engine_failure
from tidings.engine.spark.session import FAILURES, sentence
from tidings.errors import SparkStopped, TidingsError
from tidings.running_statements import checkpoint

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.inMemoryColumnarStorage.batchSize": "1000",  # rows whose least and greatest keys are known
}


class LazySession:
    """One session, for all threads; ``beside`` is one of the user's, of the same Spark."""

    def __init__(self, make: Callable[[], SparkSession], beside: SparkSession | None = None) -> None:
        self._make = make
        self.beside = beside
        self._lock = RLock()
        self._session: SparkSession | None = None

    @property
    def is_alone(self) -> bool:
        """Whether it starts a Spark of its own, in local mode."""
        return self.beside is None and not is_remote()

    @property
    def is_made(self) -> bool:
        """Whether anybody has asked for it."""
        return self._session is not None

    @property
    def is_stopped(self) -> bool:
        """Whether its Spark was stopped, or has ended."""
        session = self._session or self.beside
        if session is None:
            return False
        try:
            if is_remote():
                session.version  # noqa: B018  # the server is asked
                return False
            session.sparkContext.statusTracker().getActiveJobsIds()
        except Exception:  # whatever it is: the question is one that a running Spark answers
            return True
        return False

    def __call__(self) -> SparkSession:
        """The session."""
        with self._lock:
            if self._session is None:
                session = self._make()
                for key, value in _SETTINGS.items():
                    session.conf.set(key, value)
                self._session = session
            return self._session

    def sibling(self) -> LazySession:
        """Another session of the same Spark."""
        return LazySession(lambda: self().newSession(), self._session or self.beside)

    @contextmanager
    def failures_named(self, but: type[Exception] | None = None) -> Iterator[None]:
        """Raise what Spark raises as :class:`tidings.errors.EngineFailed`, with what it says in one sentence.

        PySpark has no exception for a session that was stopped: it fails in many ways.  So Spark is asked then.  Those
        of the kind ``but`` leave as they came.
        """
        try:
            yield
        except TidingsError:
            raise
        except Exception as error:
            if self.is_stopped:
                raise SparkStopped() from None
            if not isinstance(error, FAILURES) or (but is not None and isinstance(error, but)):
                raise
            checkpoint()
            raise engine_failure("spark", sentence(error), str(error)) from None
