"""Continuous queries over append-only tables: what a query has ever answered, as a query.

Takes a query in standard form (:mod:`tidings.ir.standard_form`).  Gives a
:class:`tidings.rewrite.monotone.rewriting.Rewriting`: whether the query is monotone and why not, its minimum bounding
monotone query and its incremental query.  Knows no text, no rows and no catalog.
"""
