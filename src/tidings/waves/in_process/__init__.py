"""Small waves in this process: the few rows that a wave touches are looked up, and DuckDB finishes it.

In come delta programs with the sources of a batch; out go their deltas, or :class:`LookupTooLarge` where that
would read too much.  ``engines`` alone decides that a program runs here.  May import what ``waves`` may.
"""
