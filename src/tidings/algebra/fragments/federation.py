"""Fragments at sites that are databases of their own: changes of the whole from theirs, and changes routed to them.

Selections go down to the sites, and fragments that cannot have a tuple for an expression are left out.  Then it is cut
into its largest parts that one site computes alone.  Each database is asked for the changes of its
parts, which it finds from its own deltas; what one site can judge never leaves it otherwise.  Between the sites the
chain rule goes on from there, with the changes of the parts for those of relations.  Where it needs what a part was
before, it asks for the tuples with touched keys alone, if every operator above keeps the key; else for the part.

Each site has a timeline of its own, and a position of the whole is an instant for each.  The changes between two
positions are exact: they lead from one state of all sites to the other.  Transactions of different sites have no order.

A change of the whole is one transaction at each site that it touches.  One site is all or nothing.  Several have no
transaction in common, so they need an id, under which each site counts its share once (``db.transaction(id=…)``).  All
shares are made before any is committed; what is stopped between two commits, the same call with the same id completes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from tidings.algebra.changes.chain_rule import chain_rule
from tidings.algebra.changes.incremental import delta_of
from tidings.algebra.changes.substitution import SubstitutionList
from tidings.algebra.delta_relations.instance import RelationInstance, Values, hashable
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.algebra.expressions.evaluate import evaluate
from tidings.algebra.expressions.nodes import (
    AlgebraExpression,
    Joined,
    Projected,
    Selected,
    Stored,
    Subtracted,
    United,
    inputs_of,
    stored_relations,
    with_inputs,
)
from tidings.algebra.expressions.sql import to_sql
from tidings.algebra.fragments.fragmentation import Fragmentation, Vertical, fragments, routed, whole
from tidings.algebra.fragments.localise import localised
from tidings.algebra.fragments.sites import Sites
from tidings.errors import InvalidFragmentation, PartlyApplied, SeveralSites

Position: TypeAlias = Mapping[str, int]
"""An instant for each site."""

_Parts: TypeAlias = dict[str, tuple[str, AlgebraExpression]]
"""By a name of its own each part that a site computes, with the site."""

_PART = "part"
_MOST_KEYS = 500
"""So many keys are asked for at once; of more the part is read whole."""


class SiteDatabase(Protocol):
    """What a database at a site is asked."""

    @property
    def time(self) -> int: ...

    def query(self, text: str, as_of: Any = None, *, params: Any = None) -> Any: ...

    def changes(self, text: str, since: Any = None, until: Any = None) -> Any: ...

    def transaction(self, id: str | None = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class FederatedDelta:
    """How an expression changed, and how many tuples each site sent for it."""

    delta: DeltaPair
    sent: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Federation:
    """A fragmented relation whose sites are databases."""

    fragmentation: Fragmentation
    databases: Mapping[str, SiteDatabase]
    others: tuple[Fragmentation, ...] = ()
    """Other relations at these sites that expressions may read."""
    sites: Sites = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sites", Sites.of(self.fragmentation, *self.others))
        missing = sorted(set(self.sites.by_relation.values()) - set(self.databases))
        if missing:
            raise InvalidFragmentation(reason=f"there is no database for the site {', '.join(missing)}")

    @property
    def whole(self) -> AlgebraExpression:
        """The relation, to begin expressions with."""
        return whole(self.fragmentation)

    @property
    def position(self) -> dict[str, int]:
        """Where all sites are now."""
        return {site: database.time for site, database in self.databases.items()}

    def localised(self, expression: AlgebraExpression) -> AlgebraExpression:
        """An equal expression of which the sites judge as much as they can; it is what is read."""
        known = [fragment for whole in (self.fragmentation, *self.others) for fragment in fragments(whole)]
        return localised(expression, {f.relation.name: f.condition for f in known if f.condition is not None})

    def explain(self, expression: AlgebraExpression) -> str:
        """Whether one site judges an expression, and else what each computes alone."""
        return self.sites.explain(self.localised(expression))

    def read(self, expression: AlgebraExpression, at: Position | None = None) -> RelationInstance:
        """The value of an expression, now or at a position."""
        parts, above = self._parts(self.localised(expression))
        places = at or self.position
        states = {p.name: self._rows(p, *parts[p.name], places) for p in stored_relations(above)}
        return evaluate(above, SubstitutionList(states, {}).old)

    def changes(self, expression: AlgebraExpression, since: Position, until: Position | None = None) -> FederatedDelta:
        """How an expression changed from one position to another, by default to where the sites are now."""
        parts, above = self._parts(self.localised(expression))
        end, sent = until or self.position, dict.fromkeys(self.databases, 0)
        leaves = {leaf.name: leaf for leaf in stored_relations(above)}
        deltas = {}
        for name, leaf in leaves.items():
            site, part = parts[name]
            changes = self.databases[site].changes(_distinct(part), since[site], end[site])
            deltas[name] = DeltaPair(_tuples(leaf, changes.removals()), _tuples(leaf, changes.additions()))
            sent[site] += len(deltas[name].removed) + len(deltas[name].added)
        if isinstance(above, Stored):
            return FederatedDelta(deltas[above.name], sent)
        if not any(deltas.values()):
            return FederatedDelta(DeltaPair.nothing(above.attributes), sent)
        keys = self._touched(above, deltas.values())
        states = {}
        for name, leaf in leaves.items():
            site, part = parts[name]
            states[name] = self._rows(leaf, site, part, since, keys)
            sent[site] += len(states[name])
        return FederatedDelta(delta_of(chain_rule(above), SubstitutionList(states, deltas)), sent)

    def apply(self, delta: DeltaPair, id: str | None = None) -> dict[str, int | None]:
        """Make a change of the whole at the sites that it touches; returns the instant at each.

        Without an id it must touch one site alone.  With one, each site counts its share once.
        """
        shares: dict[str, dict[str, DeltaPair]] = {}
        for name, share in routed(self.fragmentation, delta).items():
            if share:
                shares.setdefault(self.sites.by_relation[name], {})[name] = share
        return self.apply_shares(shares, id)

    def apply_shares(
        self, shares: Mapping[str, Mapping[str, DeltaPair]], id: str | None = None
    ) -> dict[str, int | None]:
        """The same for changes of tables by site and name."""
        if len(shares) > 1 and id is None:
            raise SeveralSites(sites=", ".join(sorted(shares)))
        done: dict[str, int | None] = {}
        with ExitStack() as begun:
            open_ = {site: begun.enter_context(self.databases[site].transaction(id)) for site in sorted(shares)}
            for site, transaction in open_.items():
                for name, share in shares[site].items():
                    transaction.delete(name, _listed(share.removed))
                    transaction.insert(name, _listed(share.added))
            for site, transaction in open_.items():
                done[site] = self._committed(site, transaction, done)
        return done

    def _committed(self, site: str, transaction: Any, done: Mapping[str, int | None]) -> int | None:
        try:
            transaction.commit()
        except Exception as error:
            if done:
                raise PartlyApplied(site=site, done=", ".join(done), reason=str(error)) from error
            raise
        time: int | None = transaction.time
        return time

    def _parts(
        self, expression: AlgebraExpression
    ) -> tuple[dict[str, tuple[str, AlgebraExpression]], AlgebraExpression]:
        """The parts that one site computes, by names of their own, and the expression over them."""
        parts: _Parts = {}

        def cut(node: AlgebraExpression) -> AlgebraExpression:
            if not self.sites.is_intra_site(node):
                return with_inputs(node, tuple(map(cut, inputs_of(node))))
            (site,) = self.sites.sites(node)
            if site not in self.databases:
                raise InvalidFragmentation(reason=f"{to_sql(node)} is at {site}, which is none of the sites")
            name = f"{_PART}{len(parts)}"
            parts[name] = (site, node)
            return Stored(name, node.attributes)

        return parts, cut(expression)

    def _rows(
        self, leaf: Stored, site: str, part: AlgebraExpression, at: Position, keys: tuple[str, set[Any]] | None = None
    ) -> RelationInstance:
        """The tuples of a part at a position, perhaps those with some keys only."""
        text, params = _distinct(part), None
        if keys is not None:
            name, values = f"`{keys[0].replace('`', '``')}`", sorted((v for v in keys[1] if v is not None), key=repr)
            tests = [f"{name} IS NULL"] * (None in keys[1])
            tests += [f"{name} IN ({', '.join(f':key{n}' for n, _ in enumerate(values))})"] if values else []
            text, params = f"{text} WHERE {' OR '.join(tests)}", {f"key{n}": v for n, v in enumerate(values)}
        return _tuples(leaf, self.databases[site].query(text, at[site], params=params or None).rows())

    def _touched(self, above: AlgebraExpression, deltas: Iterable[DeltaPair]) -> tuple[str, set[Any]] | None:
        """A column of the key and its touched values; None where other tuples may matter."""
        key = _key(self.fragmentation)
        if not key or not _keeps(above, set(key)):
            return None
        sides = (side for delta in deltas for side in (delta.removed, delta.added))
        values = {row[side.place(key[0])] for side in sides for row in side.tuples.values()}
        return (key[0], values) if 0 < len(values) <= _MOST_KEYS else None


def _key(fragmentation: Fragmentation) -> tuple[str, ...]:
    """The key by which vertical parts are joined; of horizontal ones all attributes are a key of the set."""
    if isinstance(fragmentation, Vertical):
        return fragmentation.key
    below = () if not hasattr(fragmentation, "parts") else fragmentation.parts
    return next(filter(None, map(_key, below)), fragments(fragmentation)[0].attributes)


def _keeps(above: AlgebraExpression, key: set[str]) -> bool:
    """Whether a tuple of each operator comes from tuples with its own key alone."""
    below = inputs_of(above)
    if not all(key <= set(node.attributes) for node in (above, *below)):
        return False
    is_known = isinstance(above, Stored | Selected | Projected | Joined | United | Subtracted)
    return is_known and all(_keeps(node, key) for node in below)


def _distinct(part: AlgebraExpression) -> str:
    names = ", ".join(f"`{name.replace('`', '``')}`" for name in part.attributes)
    return f"SELECT {names} FROM (SELECT DISTINCT {names} FROM ({to_sql(part)}) AS part) AS tuples"


def _tuples(leaf: Stored, rows: Iterable[Mapping[str, Any]]) -> RelationInstance:
    values: Iterable[Values] = (tuple(hashable(row[name]) for name in leaf.attributes) for row in rows)
    return RelationInstance.by_value(leaf.attributes, values)


def _listed(tuples: RelationInstance) -> list[dict[str, Any]]:
    return tuples.dicts()
