"""Statements that change rows, as queries: which rows go, which come, and which keys a condition names.

Parsed statements come in, with the columns of the table they change and the instant; syntax trees to be bound, keys and
constant values go out.  Nothing here asks an engine.  ``target.py`` is what the kinds of statements have in common.
"""
