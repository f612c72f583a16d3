"""The kinds of statements: records that say what a statement asks for, and the functions that read them.

Syntax trees come in, or tokens where SQL parsers do not know a statement (rules, events, silences); frozen records go
out.  Queries inside them stay trees until they are bound.
"""
