"""What rules do after commits: detached conditions are judged, detached actions run, and rules are backtested.

Comes in: what is committed, and firings that wait.  Goes out: firings, messages in the outbox, and transactions of
their own.  May import everything in ``rules`` but the hooks of open transactions.
"""
