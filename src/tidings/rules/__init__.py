"""Rules: which there are, when their conditions are judged, and what they do when they fire.

Comes in: statements about rules, open transactions (through the hooks of ``write``), and what is committed.  Goes out:
firings and messages, recorded in the catalog with the commit, and changes of rows by actions.  Start with ``rule.py``,
``registry.py`` and ``binding.py``; ``coupling.py`` and ``agenda.py`` work in open transactions, ``detached/`` after
commits.  Imports ``write`` and what lies below it; ``deliver`` and this package do not know each other.
"""
