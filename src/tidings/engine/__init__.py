"""Engines: plans are printed as SQL and run on Spark or DuckDB.

Delta programs and sources of rows come in, Arrow tables go out.  SQL is printed only here; ``spark/`` alone imports
pyspark and ``duckdb.py`` alone duckdb, both behind :class:`tidings.engine.backend.Backend`.  Plans are not changed
here.
"""
