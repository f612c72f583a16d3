"""Waves on the database's engine: the rows that a step touches are looked up first, in one job per round of lookups.

In come delta programs with the sources of a batch; out go their deltas.  A step whose lookups would be too large runs
as one query over the states.  ``engines`` decides that a program runs here.  May import what ``waves`` may.
"""
