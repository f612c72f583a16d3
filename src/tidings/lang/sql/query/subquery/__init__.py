"""Subqueries, unnested: what depends on the query around it becomes a plain relation that is joined with it.

``dependent.py`` binds a query inside another, ``totals.py`` gives an aggregate without GROUP BY its row over no rows,
``subqueries.py`` replaces subqueries in expressions by markers and ``attach.py`` makes columns of them.
"""
