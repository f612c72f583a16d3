"""DuckDB as an engine: no JVM, milliseconds per plan; for small waves, for tests and for data that fits one process.

This package alone imports duckdb; the rest of Tidings sees :class:`DuckDB` behind
:class:`tidings.engine.backend.Backend`, and :class:`PreparedQueries`.
"""

from tidings.engine.duckdb.engine import DuckDB
from tidings.engine.duckdb.prepared_queries import JoinOrder, PreparedQueries

__all__ = ["DuckDB", "JoinOrder", "PreparedQueries"]
