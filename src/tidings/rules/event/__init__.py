"""Events of rules: whether and when what stands after ON has happened.

Comes in: an event, and the changes of an open transaction or the log.  Goes out: a truth value, or instants.  Imports
``rules/rule.py``, the slice of a transaction, and the packages below ``rules``.
"""
