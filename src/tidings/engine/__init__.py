"""Engines: plans are printed as SQL and run on Spark or DuckDB.

Delta programs and sources of rows come in, Arrow tables go out.  Plans are printed in ``sql/`` and never changed.
``spark/`` alone imports pyspark and ``duckdb.py`` alone duckdb, both behind :class:`tidings.engine.backend.Backend`.
``interpreter/`` runs plans over a handful of rows without a query.  ``changes.py`` is where rows get versions and are
consolidated.  Imports ``delta`` and what is below it.
"""
