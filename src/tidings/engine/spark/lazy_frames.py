"""Queries as frames of the user's session, which are evaluated when somebody uses them.

The query is analysed in the engine's own session, over the states of an instant, and handed over as a global temporary
view.  What the states are made of beside files is kept until the engine is closed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from tidings.engine.source import Source
from tidings.engine.spark.bases import Bases
from tidings.engine.spark.states import state


@dataclass(slots=True)
class LazyFrames:
    """Makes frames; closing ``kept`` releases what they are made of."""

    session: Callable[[], SparkSession]
    user_session: Callable[[], SparkSession]
    bases: Callable[[], Bases]
    replaced: Callable[[str], object]
    """Is told of a name that stands for something else from now on."""
    kept: ExitStack = field(default_factory=ExitStack)

    def frame(self, text: str, given: Mapping[str, Source], place: str | None) -> DataFrame:
        """The rows of a query as a frame, in the order of a column that is none of theirs, if there is one."""
        for name, source in given.items():
            self.replaced(name)
            state(self.bases(), source, self.kept).createOrReplaceTempView(name)
        rows = self.session().sql(text)
        shared = f"tidings_{uuid.uuid4().hex}"
        rows.createGlobalTempView(shared)
        self.kept.callback(self.session().catalog.dropGlobalTempView, shared)
        frame = self.user_session().table(f"global_temp.{shared}")
        return frame if place is None else frame.orderBy(place).drop(place)
