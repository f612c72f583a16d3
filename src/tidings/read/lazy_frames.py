"""Answers as frames of Spark that nobody has fetched: its tasks read the rows where they are when a frame is used.

Only a database on Spark whose rows are in files has such answers.  Of others the rows are in this process anyway, or
with an engine that may drop them; so are those of recursions, which are evaluated round by round.  With Spark Connect,
what a frame reads would be looked up by name when it is used, and may be something else by then.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidings.analysis.influents import reads
from tidings.engine.frames import lazy_frames
from tidings.engine.recursion.fixpoint import has_fixpoint
from tidings.ir.relation import Relation
from tidings.lang.sql.query.select.asked_once import PLACE
from tidings.read.answers import Answers
from tidings.read.in_transaction import prepared, session_sources


def lazy_frame(answers: Answers, plan: Relation, at: int) -> Any:
    """The rows of a plan at an instant as a frame; None if they have to be fetched."""
    scheduler = answers.scheduler
    frames = lazy_frames(scheduler.storage.backend)
    if frames is None or scheduler.storage.journal.folder is None:
        return None
    system = reads(plan) & scheduler.relations.system_tables.keys()
    rows: dict[str, pa.Table] = {name: answers.system_tables.changes(name) for name in system}
    offered = frames.kept.enter_context(session_sources(scheduler, plan, rows))
    normal, sources = prepared(scheduler, plan, at, offered, replaced=rows)
    if has_fixpoint(normal):
        return None
    place = PLACE if any(f.name == PLACE for f in normal.fields) else None
    return frames.frame(*scheduler.engines.runner.written(normal, sources, at), place)
