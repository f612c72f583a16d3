"""Explanations of rules: what wakes a rule, how it is judged, and when it acts, as text for a terminal.

Comes in: a bound rule.  Goes out: text.  Nothing is judged or run.  Imports ``explain.py``, ``rules/context.py`` and
the packages below ``rules``.
"""
