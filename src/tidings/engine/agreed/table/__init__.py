"""The table of functions: for each of Spark's that DuckDB can say, how it says it, line by line.

A line is a :class:`tidings.engine.agreed.signature.FunctionLine`.  What is not here, and not a form of the language
that :mod:`tidings.engine.agreed.expression` knows, is Spark's alone.  For a value on which the words would differ they
raise an error, so that Spark is asked.  ``tests/spark/test_functions.py`` holds every line against Spark.
"""

from tidings.engine.agreed.signature import lines_by_node
from tidings.engine.agreed.table.collections import COLLECTIONS
from tidings.engine.agreed.table.numbers import NUMBERS
from tidings.engine.agreed.table.texts import TEXTS
from tidings.engine.agreed.table.times import TIMES

FUNCTIONS = (*TEXTS, *NUMBERS, *TIMES, *COLLECTIONS)

LINES = lines_by_node(FUNCTIONS)

__all__ = ["FUNCTIONS", "LINES"]
