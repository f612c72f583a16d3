"""Apache Spark as an engine, through PySpark's public API: classic sessions and Spark Connect alike.

SQL text and Arrow tables come in, Arrow tables and types go out.  This package alone imports pyspark; the rest of
Tidings sees :class:`Spark` behind :class:`tidings.engine.backend.Backend`.
"""

from tidings.engine.spark.engine import Spark

__all__ = ["Spark"]
