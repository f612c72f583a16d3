"""Waves: from what was committed to what changed, for one query or for every stored view that is due.

In come requests for the changes of a query over a batch; out go deltas, stored views that are up to date, and records
of what was done.  ``scheduler`` is the way in, ``planner`` chooses how, ``executor`` runs, ``engines`` decides where,
and ``upkeep`` keeps stored views up to date.  May import ``store``, ``engine`` and what is below them; the delta of an
operator is computed in ``delta``, never here.
"""
