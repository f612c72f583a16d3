"""Fetches the rows that a step needs of each state from the database's engine, in as few queries as there are rounds.

A lookup whose keys are in deltas can be made at once; one whose keys are in the rows of another has to wait for it.
All lookups that can be made are one round, and one query.  Small relations are read whole and stay in memory, and what
was looked up a short while ago is not looked up again.  Keys that are computed, such as ``COALESCE(city, 'none')``, are
a small query of their own, except for a small relation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa

from tidings.delta.cost import FANOUT
from tidings.delta.lookups import Lookup
from tidings.engine.arrow import arrow_schema
from tidings.engine.run import Runner
from tidings.ir.relation import Column, Scan
from tidings.ir.traverse import walk
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.waves.in_process.snapshot_reader import table_of
from tidings.waves.on_engine.recent_lookups import RecentLookups
from tidings.waves.on_engine.small_relations import SmallRelations, is_small
from tidings.waves.step_inputs import LookupTooLarge, StepInputs, distinct_keys, having_keys, key_values

KEYS_LIMIT = 500_000
"""Up to so many keys are looked up at once."""

ROWS_LIMIT = 1_000_000
"""Up to about so many rows are looked up for one step; they come into this process."""


class LookupRequest(NamedTuple):
    """A lookup of the present round, with its keys and the table that has its rows."""

    lookup: Lookup
    keys: pa.Array
    table: Table


@dataclass(slots=True)
class LookupRounds:
    """Makes the lookups of one step."""

    storage: Storage
    runner: Runner
    small_relations: SmallRelations
    recent: RecentLookups
    inputs: StepInputs
    waiting: list[Lookup] = field(init=False, default_factory=list)
    """The lookups whose rounds are still to come."""
    too_large: str | None = field(init=False, default=None)
    """Why the lookups would read too much, if they would."""
    rows_read: int = field(init=False, default=0)
    _expected: float = field(init=False, default=0.0)
    """About how many rows the lookups so far fetch."""

    def begin(self, lookups: tuple[Lookup, ...]) -> None:
        """Let the lookups of the step wait for their rounds; raises :class:`LookupTooLarge`."""
        self.waiting = [self._simplified(lookup) for lookup in lookups]

    def next_requests(self) -> list[LookupRequest]:
        """What the next round asks of the engine; raises :class:`LookupTooLarge` where that would read too much."""
        names = {lookup.name for lookup in self.waiting}
        ready = [lookup for lookup in self.waiting if not names & _read_by_keys(lookup)]
        self.waiting = [lookup for lookup in self.waiting if lookup not in ready]
        return [request for lookup in ready if (request := self._request(lookup)) is not None]

    def give_up(self, reason: LookupTooLarge) -> None:
        """Look up no more: the step would read too much."""
        self.waiting, self.too_large = [], str(reason)

    def _simplified(self, lookup: Lookup) -> Lookup:
        """A lookup that is made: of a small relation, all rows instead of those with keys that are computed."""
        table = table_of(self.storage, lookup.relation)
        if lookup.keys or table is None or table.base is None:
            return lookup
        if is_small(table):
            return replace(lookup, column=None, plan=None, nulls=False)
        if lookup.plan is None:
            raise LookupTooLarge(f"{lookup.relation} is read whole")
        return lookup

    def _request(self, lookup: Lookup) -> LookupRequest | None:
        """What a lookup asks of the engine; None if it has its rows already, or there are none."""
        table = table_of(self.storage, lookup.relation)
        keys = self._keys(lookup)
        without_keys = lookup.column is not None and not lookup.nulls and len(keys) == keys.null_count
        if table is None or table.base is None or without_keys:
            self.inputs.add(lookup, keys, arrow_schema(lookup.columns).empty_table())
            return None
        table.require_base()
        request = LookupRequest(lookup, keys, table)
        if is_small(table):
            rows = self.small_relations.rows(table, lookup.columns)
            if rows is not None:
                self.take(request, rows)
                return None
            return request
        self._require_few(request)
        rows = self.recent.rows(table, lookup, keys)
        if rows is not None:
            self.take(request, rows)
            return None
        return request

    def _keys(self, lookup: Lookup) -> pa.Array:
        """The keys of a lookup, each once."""
        if lookup.keys or lookup.plan is None or lookup.column is None:
            return key_values(lookup, self.inputs)
        inputs = self.inputs
        rows = self.runner.rows(lookup.plan, inputs.source, inputs.since, inputs.until, in_memory=True)
        return distinct_keys(rows.column(0).chunks, lookup.column.type)

    def _require_few(self, request: LookupRequest) -> None:
        """Refuse a lookup that would fetch too many rows."""
        lookup, keys, table = request
        if len(keys) > KEYS_LIMIT:
            raise LookupTooLarge(f"{len(keys):,} keys are looked up in {lookup.relation}")
        assert lookup.column is not None, "its keys are compared with one"
        self._expected += len(keys) * (self.storage.fanout(table, lookup.column.name) or FANOUT)
        if self._expected > ROWS_LIMIT:
            raise LookupTooLarge(f"about {self._expected:,.0f} rows are looked up, of {lookup.relation} and others")

    def take(self, request: LookupRequest, rows: pa.Table) -> None:
        """Let the rows of a lookup be read under its name."""
        lookup, keys, _ = request
        if is_small(request.table):
            rows = having_keys(rows, lookup, keys)
        self.rows_read += rows.num_rows
        self.inputs.add(lookup, keys, rows)


def fetch_together(steps: list[tuple[LookupRounds, tuple[Lookup, ...]]]) -> None:
    """Fetch the rows of the lookups of one or several steps into their inputs, each round in one query.

    A step whose lookups would read too much says so afterwards.
    """
    for rounds, lookups in steps:
        try:
            rounds.begin(lookups)
        except LookupTooLarge as reason:
            rounds.give_up(reason)
    while any(rounds.waiting for rounds, _ in steps):
        asked: list[tuple[LookupRounds, LookupRequest]] = []
        for rounds, _ in steps:
            try:
                asked += [(rounds, request) for request in rounds.next_requests()]
            except LookupTooLarge as reason:
                rounds.give_up(reason)
        _make_together(asked)


def _make_together(asked: list[tuple[LookupRounds, LookupRequest]]) -> None:
    """Make lookups of one or several steps in one query."""
    if not asked:
        return
    rounds, requests = asked[0][0], [request for _, request in asked]
    whole = {r.table.base_token: r.table for r in requests if is_small(r.table)}
    by_key = {_identity(r): r for r in requests if not is_small(r.table)}
    lookups = [rounds.small_relations.lookup(table, _columns(requests, table)) for table in whole.values()]
    lookups += [rounds.recent.lookup(r.table, r.lookup, r.keys) for r in by_key.values()]
    results = rounds.storage.backend.look_up(lookups)
    small = dict(zip(whole, results, strict=False))
    for token, rows in small.items():
        rounds.small_relations.add(whole[token], rows)
    found = dict(zip(by_key, results[len(whole) :], strict=True))
    for identity, rows in found.items():
        request = by_key[identity]
        rounds.recent.add(request.table, request.lookup, request.keys, rows)
    for owner, request in asked:
        is_whole = is_small(request.table)
        owner.take(request, small[request.table.base_token] if is_whole else found[_identity(request)])


def _identity(request: LookupRequest) -> tuple[str, object]:
    """Requests of several steps that ask for the same are one: their lookups have one name, and so have their keys."""
    return request.lookup.name, request.table.base_token


def _read_by_keys(lookup: Lookup) -> set[str]:
    """The relations that the keys of a lookup are read from."""
    if lookup.keys or lookup.plan is None:
        return {relation for relation, _ in lookup.keys}
    return {node.relation for node in walk(lookup.plan) if isinstance(node, Scan)}


def _columns(requests: list[LookupRequest], table: Table) -> tuple[Column, ...]:
    """The columns that some requests ask for of a table."""
    return tuple(dict.fromkeys(c for r in requests if r.table is table for c in r.lookup.columns))
