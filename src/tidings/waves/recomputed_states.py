"""The states of what a recompute has brought up to date already: rows as they are stored, with the deltas found so far.

A recompute of a stored view goes from instant to instant, and at each from grouping to grouping and then to the view.
Each of these is compared with the rows it had at the instant before, and those above it read its new rows; neither is
in the store before the wave is over.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from tidings.engine.source import Source, Sources
from tidings.ir.relation import Version


@dataclass(slots=True)
class RecomputedStates:
    """The deltas of a recompute, and states with them."""

    deltas: dict[str, list[pa.Table]] = field(default_factory=dict)
    """By the name of what they are of, in the order of their instants."""

    def add(self, name: str, delta: pa.Table) -> None:
        """Take the delta of a grouping or view at the next instant."""
        self.deltas.setdefault(name, []).append(delta)

    def over(self, sources: Sources) -> Sources:
        """The sources of a batch, with what was recomputed as it is now."""

        def source(relation: str, version: Version) -> Source:
            stored = sources(relation, version)
            deltas = [delta for delta in self.deltas.get(relation, ()) if delta.num_rows]
            if not deltas:
                return stored
            assert isinstance(stored.changes, pa.Table), "the log of a stored view is in memory"
            return Source(stored.columns, stored.base, pa.concat_tables([stored.changes, *deltas]))

        return source

    def results(self) -> dict[str, pa.Table]:
        """The deltas over all instants."""
        return {name: pa.concat_tables(deltas) for name, deltas in self.deltas.items()}
