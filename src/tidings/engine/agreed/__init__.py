"""Spark's expressions in DuckDB's words, where these say the same: the list of what both engines agree on.

In come plans and expressions with the types Spark gave their columns; out go the same in DuckDB's words, or the first
thing that has none.  For a value on which the words would differ they raise an error, so that Spark is asked instead.
Every entry is tested with awkward values on both engines (``tests/spark/test_agreed.py``).  Imports ``ir`` and ``sql``.
"""
