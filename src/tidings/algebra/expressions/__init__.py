"""Relational expressions built by hand: ``relation("emp", …).select("salary > 32")`` and so on.

Names, tables, views, Arrow tables and Spark DataFrames come in; expressions, their values, their SQL, their plans and
drawings go out.  It imports :mod:`tidings.ir` and delta relations.
"""
