"""Rewrites: a plan is replaced by an equal one that is better for what comes after.

One rule per file, each a function from plan to plan; ``pipeline.py`` lists them in their order.  Knows nothing of
deltas and engines.  Imports only ``ir``.
"""
