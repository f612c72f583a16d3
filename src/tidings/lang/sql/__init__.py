"""SQL, as Spark writes it, with statements for rules, events and silences.

``parse.py`` turns text into syntax trees, ``statement.py`` trees into statements, and ``bind.py`` the query of a
statement into a plan.  The kinds of statements are in ``statements/``, the binding of queries in ``query/``, the
queries of rules in ``rules/``.
"""
