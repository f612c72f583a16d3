"""Instances of rules that have a lifecycle: they begin after a while (``for``), and are gone after a while.

Comes in: the changes of a condition, and the states of instances in the catalog.  Goes out: firings, and new states.
``lifecycle.py`` is a state machine that knows nothing of databases; ``tracking.py`` feeds it.
"""
