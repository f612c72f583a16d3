"""The delta of a plan: programs that compute how a view changed from how its tables changed.

A plan and the names of the relations that changed come in; a :class:`tidings.delta.plan.Program` of plans over deltas
and states goes out.  Knows the delta of every operator, and nothing of rows or SQL.  Imports only ``rewrite``,
``analysis`` and ``ir``.
"""
