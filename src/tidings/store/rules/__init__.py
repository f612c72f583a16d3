"""What rules and continuous queries leave in the catalog: firings, instances, silences, and the outbox of messages.

In come records, on the connection of the transaction that they belong to; out go the same records, and messages that
are due.  What a rule means is decided in ``tidings.rules``; who delivers a message, in ``tidings.deliver``.  May import
``store.catalog`` and :class:`~tidings.store.storage.Storage`.
"""
