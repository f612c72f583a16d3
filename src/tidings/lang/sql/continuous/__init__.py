"""Queries over append-only tables in standard form.

Takes the tree of a query that can be bound; gives a :class:`tidings.ir.standard_form.StandardForm`, or raises
:class:`tidings.lang.sql.continuous.obstacle.NotInClass` with the reason why it has none.
"""
