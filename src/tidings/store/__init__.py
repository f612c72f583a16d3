"""The store: what a database holds, in memory and on disk.

In come definitions, log entries and snapshots to be recorded; out go tables with their states at any instant.  ``open``
makes a :class:`~tidings.store.storage.Storage` over a journal: one in a folder, or one that ends with the process, and
nobody else asks which it is.  ``catalog/`` records, ``relation/`` has tables and their history, ``rules/`` what rules
did and send.  Files and catalogs are touched nowhere but here.  May import ``engine`` and what is below it.
"""
