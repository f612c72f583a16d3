"""Names and types of queries that were analysed before, so that an engine that starts slowly need not be asked again.

A query that an engine analyses reads no relation: typed stand-ins are in its text.  So the text tells all, apart from
functions of users, whose types are not in it.  They may be noted for the next process; what is kept is bounded.
"""

from __future__ import annotations

import json
import zlib
from collections import OrderedDict
from hashlib import sha256

from tidings.ir.relation import Column

KEPT = 1_000
"""So many analyses are kept, those used last."""


class Analyses:
    """What is known of analysed queries; ``fingerprint`` stands for all that it depends on beside their texts.

    >>> before = Analyses("spark 4")
    >>> before.add("SELECT 1 AS a", (Column("a", "int"),))
    >>> after = Analyses("spark 4")
    >>> after.recall(before.note())
    >>> after.columns("SELECT 1 AS a"), after.columns("SELECT 2 AS a")
    ((Column(name='a', type='int'),), None)
    """

    def __init__(self, fingerprint: str | None = None) -> None:
        self.key = None if fingerprint is None else f"analyses {sha256(fingerprint.encode()).hexdigest()[:16]}"
        """Where they are noted; None if another process cannot rely on them."""
        self.is_changed = False
        self._known: OrderedDict[str, list[list[str]]] = OrderedDict()

    def columns(self, text: str) -> tuple[Column, ...] | None:
        """The columns of a query; None if it is not known."""
        digest = _digest(text)
        if digest not in self._known:
            return None
        self._known.move_to_end(digest)
        return tuple(Column(name, type) for name, type in self._known[digest])

    def add(self, text: str, columns: tuple[Column, ...]) -> None:
        """Know the columns of one more query."""
        self._known[_digest(text)] = [[c.name, c.type] for c in columns]
        self.is_changed = True
        while len(self._known) > KEPT:
            self._known.popitem(last=False)

    def note(self) -> str:
        """All that is known, as a text."""
        known = json.dumps(self._known)
        return f"{zlib.crc32(known.encode())} {known}"

    def recall(self, note: str | None) -> None:
        """Take in what was noted; nothing of a note that is not whole."""
        checksum, _, known = (note or "").partition(" ")
        if checksum == str(zlib.crc32(known.encode())):
            self._known = OrderedDict(json.loads(known)) | self._known


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]
