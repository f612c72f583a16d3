"""The changes of recursions over a batch: requests of waves come in, requests with the deltas of recursions go out.

It imports what waves import, and the planner and executor of these.
"""
