"""Continuous queries: each row that ever is in the answer of a query is delivered once, with its first instant.

Comes in: ``CREATE CONTINUOUS QUERY``, what is committed, and the passing of time.  Goes out: rows of the table that has
the query's name, inserted by transactions that rules watch like any other.  May import ``rules`` and what is below it.
"""
