"""Facts about plans, one per file: what a plan reads, how many rows it has, which functions depend on the clock.

A plan comes in, an answer about it goes out; no plan is changed.  Imports only ``ir``.
"""
