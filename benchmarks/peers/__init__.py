"""Other systems that are measured beside Tidings, one file each.

A peer is a context manager: it starts what it needs, on this machine alone, and stops it.  One that is not installed
raises :class:`~benchmarks.peers.peer.LeftOut` with a sentence for the report.
"""
