"""Constraints: what tables demand of their rows, checked before a transaction is recorded.

In come the net changes of a transaction, or a base that was loaded; out comes nothing, or the refusal of the first row
that breaks a constraint.  Conditions and defaults are evaluated in this process where both engines agree on them, else
by the database's engine.  May import ``store``, ``engine``, ``lang`` and what is below them.
"""
