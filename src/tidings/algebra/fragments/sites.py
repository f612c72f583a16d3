"""Where a condition is judged: within one site, or between sites.

A condition is intra-site if everything that it reads is at one site; it needs no communication.  Of an inter-site one,
the largest parts that one site can compute alone are found: only their deltas have to be sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidings.algebra.changes.text import show
from tidings.algebra.expressions.nodes import AlgebraExpression, Stored, inputs_of, stored_relations
from tidings.algebra.fragments.fragmentation import Fragment, Fragmentation, fragments

LOCAL = "local"
"""The site of relations that nobody says a site of."""


@dataclass(frozen=True, slots=True)
class Sites:
    """At which site each stored relation is."""

    by_relation: dict[str, str]

    @staticmethod
    def of(*fragmentations: Fragmentation) -> Sites:
        listed: Iterable[Fragment] = (fragment for whole in fragmentations for fragment in fragments(whole))
        return Sites({fragment.relation.name: fragment.site for fragment in listed})

    def site(self, leaf: Stored) -> str:
        return self.by_relation.get(leaf.name, LOCAL)

    def sites(self, expression: AlgebraExpression) -> frozenset[str]:
        """The sites that an expression reads from."""
        return frozenset(map(self.site, stored_relations(expression)))

    def is_intra_site(self, condition: AlgebraExpression) -> bool:
        """Whether one site can judge a condition alone."""
        return len(self.sites(condition)) == 1

    def local_parts(self, condition: AlgebraExpression) -> tuple[tuple[str, AlgebraExpression], ...]:
        """The largest parts of a condition that one site computes alone, each with its site, from left to right."""
        if self.is_intra_site(condition):
            return ((next(iter(self.sites(condition))), condition),)
        return tuple(part for below in inputs_of(condition) for part in self.local_parts(below))

    def explain(self, condition: AlgebraExpression) -> str:
        """How a condition is judged, in words."""
        parts = self.local_parts(condition)
        if self.is_intra_site(condition):
            return f"intra-site: {show(condition)} at {parts[0][0]}"
        lines = [f"inter-site: {show(condition)}", *(f"  at {site}: {show(part)}" for site, part in parts)]
        return "\n".join(lines)
