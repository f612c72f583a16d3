"""Transactions: what changes rows, from the first statement to the commit, and the load of whole tables.

Rows and parsed statements come in; log entries go out to the store.  Users hold :mod:`tidings.write.transaction`;
:mod:`tidings.write.workspace` is its inside, :mod:`tidings.write.commit` shows everything that a commit calls.  It may
import ``read`` and what lies below; rules take part only through :mod:`tidings.write.hooks`.
"""
