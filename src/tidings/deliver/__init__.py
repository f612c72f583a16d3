"""Sends what rules have put into the outbox: to listeners, files, webhooks and mailboxes.

Comes in: messages of the outbox (``store/rules/outbox.py``).  Goes out: the messages themselves, and a verdict on each,
which is recorded in the outbox.  One file per channel; no channel knows the catalog, and no transaction is open while
a message is under way.  Imports ``store`` and what lies below it; ``rules`` and this package do not know each other.
"""
