"""The shell of AMOSQL: ``python -m tidings.amosql`` runs files of AMOSQL, or reads statements from a terminal.

Text comes in, tables for a terminal go out.  It imports the public interface of :mod:`tidings` and, to know where a
statement ends, ``lang``.
"""
