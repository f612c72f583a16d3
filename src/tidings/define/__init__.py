"""Statements that define: tables and views are created, altered, replaced and dropped.

In come parsed statements; out go definitions in the store, with their rows where a view is stored.  A definition that
would break a view is refused, and nothing is altered then.  May import ``waves`` and what is below.
"""
