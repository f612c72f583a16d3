"""SQL, as Spark writes it, with statements for rules, events and silences.

``parse.py`` turns text into syntax trees, ``statement.py`` trees into statements, and ``bind.py`` the query of a
statement into a plan.  The kinds of statements are in ``statements/``, the queries of those that change rows in
``rows/``, the queries of rules in ``rules/``, the binding of queries in ``query/``.
"""
