"""Events of rules: whether, when and by which parts what stands after ON has happened.

Comes in: an event, and the changes of an open transaction or the log.  Goes out: happenings, and the rows of their
parts.  ``occurrence.py`` finds simple events and those of one transaction (``spans.py``); ``detector.py`` composes them
over several transactions, by nodes (``nodes.py``, ``gathering.py``) that know nothing of databases; ``detection.py``
brings both together.  Imports the slice of a transaction and the packages below ``rules``.
"""
