"""The catalog: the durable record of a database, in SQLite or PostgreSQL, and the journal that writes it.

In come records (:mod:`tidings.store.records`), one transaction per call; out go the same records when a database is
opened.  ``journal`` says what is asked of a record, ``catalog_journal`` and ``memory_journal`` give it.  The locks
that keep a second writer out are here too.  May import ``store.relation`` for tables and views, and SQLAlchemy.
"""
