"""Conditions of rules: for which rows a rule fires.

Comes in: a bound rule, and what a slice of an open transaction did or what was committed.  Goes out: rows.  All changes
are found by the delta programs of ``waves``; nothing here runs an action.  Imports ``rules/rule.py``, ``rules/event``
and the packages below ``rules``.
"""
