"""Answers to questions: rows at an instant, changes between two, queries inside transactions, subscriptions.

In come texts and bound plans; out go results and batches of changes.  Every answer is of one instant, and every change
is given once.  May import ``waves`` and what is below; changes of rows are made in ``write``.
"""
