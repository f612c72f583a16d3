"""Actions of rules: checked when a rule is bound, run when it fires, tried again when they fail.

Comes in: a rule and the rows it fires for.  Goes out: changes in a transaction, calls of procedures, and payloads of
messages.  Nothing here decides when an action runs.  Imports ``rules/rule.py`` and the packages below ``rules``.
"""
