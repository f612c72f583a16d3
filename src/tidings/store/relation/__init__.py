"""Relations: tables and views, their logs of changes, and their snapshots.

A table is a base and a log; its state at any instant is computed from both.  In come rows as users give them and log
entries; out go sources that an engine can read, and facts about what changed when.  Nothing here knows the catalog.
May import ``engine`` and what is below it.
"""
