"""Runs plans over a handful of rows in Python: no query is written, planned or bound.

In comes a plan in DuckDB's words, out goes a function from lists of rows to rows, or :class:`NotInterpreted` for a plan
with something in it that is not known here.  Whatever is known gives what DuckDB would give; values for which that is
not certain raise :class:`LeftToEngine` while it runs.  May import ``engine.sql.words`` and ``ir``.
"""

from tidings.engine.interpreter.program import InterpretedInput, InterpretedPlan, interpreted
from tidings.engine.interpreter.values import LeftToEngine, NotInterpreted

__all__ = ["InterpretedInput", "InterpretedPlan", "LeftToEngine", "NotInterpreted", "interpreted"]
