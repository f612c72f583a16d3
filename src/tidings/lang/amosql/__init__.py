"""AMOSQL: types, functions, objects and rules, from text to typed clauses and from these to SQL.

Texts come in; statements go out, and the schema that the definitions among them make: clauses of ObjectLog, and the SQL
of the tables, views and rules that stand for types, functions and rules.  It imports ``ir`` and ``errors``.
"""
