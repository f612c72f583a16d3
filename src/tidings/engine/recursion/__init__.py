"""Runs the rules of recursions: rule programs and the sources of what they read come in, the rows of predicates go out.

In rounds of statements of the engine, or over rows in this process where they are few.  It imports what engines do, and
:mod:`tidings.delta.recursion` for the programs.
"""
