"""Following instances: the side of :mod:`tidings.rules.instance.lifecycle` that reads the database.

What a rule's condition did since it was last judged is one wave.  The instances that it touches are looked up in the
catalog, together with those that are due; what becomes of them is recorded with what the rule fires for and with how
far it has come.

A rule that begins to be followed, when it was made or enabled again, takes stock first: what holds then is an instance
that has begun before, which is not told, unless the rule takes what holds already (``initial``).  Of instances that
were told and do not hold any more, it is told that they are gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import arrow_schema
from tidings.engine.row_values import row_keys
from tidings.errors import InvalidRule
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column
from tidings.lang.sql.statements.rule import Send
from tidings.read import in_transaction
from tidings.rules.agenda import Fired
from tidings.rules.event.occurrence import instants
from tidings.rules.instance.lifecycle import Counts, InstanceChange, Span, Told, lived
from tidings.rules.rule import TIMES, Rule
from tidings.rules.silence import Silences, parts
from tidings.store.rules import instances
from tidings.store.rules.instances import Instance, digest
from tidings.store.storage import Storage
from tidings.waves.scheduler import Scheduler

Became = dict[str, Instance | None]


def check(rule: Rule) -> None:
    """Refuse lives that cannot be led."""
    read, options = rule.statement, rule.options

    def refuse(reason: str) -> None:
        raise InvalidRule(read.place, name=rule.name, reason=reason)

    if options.resolved and (read.when != "begins" or not isinstance(read.action, Send)):
        refuse("resolved is for a rule that sends what begins; use WHEN GONE for others")
    if not rule.lives:
        return
    if read.when == "changed":
        refuse("for, keep_alive and resolved are of instances that begin and are gone, not of their values")
    if rule.asks or rule.changes_of is not None:
        refuse("it takes what is there at an instant, which neither stays nor goes")
    taken = {f.name.lower() for f in rule.plan.fields} & {c.name for c in TIMES}
    if taken and (options.resolved or read.when == "gone"):
        refuse(f"the rows of what is gone have a column {min(taken)} already")


@dataclass(frozen=True, slots=True)
class Followed:
    """What a rule fires for, by instant and in order, and what became of its instances."""

    fired: list[tuple[int, Fired]]
    became: Became


@dataclass(frozen=True, slots=True)
class InstanceTracker:
    """Follows the instances of rules."""

    storage: Storage
    scheduler: Scheduler

    def judged(self, rule: Rule, until: int, silences: Silences) -> Followed:
        """Follow a rule from where it has come to, up to an instant."""
        changes = self._changes(rule, rule.until, until)
        with self.storage.rule_tables.reading() as connection:
            is_followed = instances.is_followed(connection, rule.id)
            if is_followed:
                known = instances.concerned(connection, rule.id, (c.key for c in changes), until)
            else:
                known = instances.every(connection, rule.id)
        known, others = _fitting(rule, known)
        stock = others if is_followed else others | self._stock(rule, known)
        present = known if is_followed else [one for one in stock.values() if one is not None]
        told, became = self._lived(rule, present, changes, rule.until, until)
        return _fired(rule, told, stock | became, silences)

    def replayed(self, rule: Rule, since: int, until: int) -> list[tuple[int, Fired]]:
        """What a rule would have fired for, had it been followed from an instant on."""
        held = [one for one in self._stock(replace(rule, until=since), []).values() if one is not None]
        told, became = self._lived(rule, held, self._changes(rule, since, until), since, until)
        found = _together(rule, told, became)
        return [(at, Fired(rule, _rows(some), ran=False, gone=gone)) for (at, gone), some in found.items()]

    def _lived(
        self, rule: Rule, known: list[Instance], changes: list[InstanceChange], since: int, until: int
    ) -> tuple[list[Told], Became]:
        relations, event, options = self.scheduler.relations, rule.event, rule.options
        silent = set[int]()
        if rule.activations is not None and not options.initial:
            silent = set(relations.table(rule.activations).times(since, until))
        heard = None if event is None else set(instants(event, relations, since, until, rule.created))

        def alike(at: int) -> bool:
            return at not in silent

        def awaited(at: int) -> bool:
            return at not in silent and (heard is None or at in heard)

        counts: tuple[Counts, Counts] = (alike, awaited) if rule.when == "gone" else (awaited, alike)
        told, became = lived(known, changes, until, Span(options.hold, options.keep_alive), *counts)
        return told, dict(became)

    def _changes(self, rule: Rule, since: int, until: int) -> list[InstanceChange]:
        """How many rows of each instance came or went at each instant, in order."""
        delta = self.scheduler.delta(rule.name, rule.plan, since, until, net=False)
        order = pc.sort_indices(delta, [(TIME, "ascending"), (WEIGHT, "ascending")])
        delta = delta.take(order)
        rows, times = delta.drop_columns([TIME, WEIGHT]), delta.column(TIME).to_pylist()
        counts: dict[tuple[int, str], int] = {}
        places: dict[tuple[int, str], int] = {}
        weights = delta.column(WEIGHT).to_pylist()
        for place, (at, key, weight) in enumerate(zip(times, _keys(rule, rows), weights, strict=True)):
            counts[at, key] = counts.get((at, key), 0) + weight
            places[at, key] = place
        return [InstanceChange(key, at, n, rows.slice(places[at, key], 1)) for (at, key), n in counts.items()]

    def _stock(self, rule: Rule, known: list[Instance]) -> Became:
        """The instances there are where a rule has come to, from those that were known."""
        rows = in_transaction.answer(self.scheduler, rule.plan, rule.until)
        counts: dict[str, int] = {}
        places: dict[str, int] = {}
        for place, key in enumerate(_keys(rule, rows)):
            counts[key] = counts.get(key, 0) + 1
            places[key] = place
        found: Became = {one.key: _away(one, rule) for one in known if one.key not in counts}
        before = {one.key: one for one in known}
        for key, count in counts.items():
            row, old = rows.slice(places[key], 1), before.get(key)
            found[key] = _found(key, count, row, rule) if old is None else _still(replace(old, count=count, row=row))
        return found


def _fitting(rule: Rule, known: list[Instance]) -> tuple[list[Instance], Became]:
    """The instances whose rows are still those of the rule; a view below it may have been replaced."""
    own = arrow_schema(Column(f.name, f.type) for f in rule.plan.fields)
    others: Became = {one.key: None for one in known if not one.row.schema.equals(own)}
    return [one for one in known if one.key not in others], others


def _found(key: str, count: int, row: pa.Table, rule: Rule) -> Instance:
    """An instance that was there before anybody looked."""
    if rule.options.initial:
        return Instance(key, "pending", count, row, rule.until, due=rule.until + rule.options.hold)
    return Instance(key, "alive", count, row, None, quiet=True)


def _still(one: Instance) -> Instance:
    """An instance that was known, and holds."""
    return replace(one, phase="alive", ended=None, due=None) if one.phase == "lingering" else one


def _away(one: Instance, rule: Rule) -> Instance | None:
    """What an instance is that does not hold any more, though nobody saw it cease."""
    if one.phase == "lingering":
        return one
    if one.phase == "pending" or one.quiet:
        return None
    due = rule.until + rule.options.keep_alive
    return replace(one, phase="lingering", count=0, ended=rule.until, due=due)


def _keys(rule: Rule, rows: pa.Table) -> list[str]:
    """What the instances of rows are known by; instants as numbers, which are written alike everywhere."""
    own = rows.select(list(rule.key)) if rule.key else rows
    columns = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in own.columns]
    return [digest(key) for key in row_keys(pa.table(columns, names=[str(n) for n in range(len(columns))]))]


def _together(rule: Rule, told: list[Told], became: Became) -> dict[tuple[int, bool], list[Told]]:
    """What a rule fires for, of what is told: by instant, beginnings before ends.

    What begins while the rule is not effective is quiet from then on.
    """
    found: dict[tuple[int, bool], list[Told]] = {}
    unheard: dict[str, bool] = {}
    for one in told:
        key = one.instance.key
        if not one.gone:
            unheard[key] = not rule.is_within(one.at)
        wanted = one.gone if rule.when == "gone" else not one.gone or rule.options.resolved
        unknown = rule.when != "gone" and (one.instance.quiet or unheard.get(key, False))
        if wanted and not unknown and rule.is_within(one.at):
            found.setdefault((one.at, one.gone), []).append(one)
    for key in (k for k, is_unheard in unheard.items() if is_unheard):
        one_left = became.get(key)
        became[key] = None if one_left is None else replace(one_left, quiet=True)
    return found


def _fired(rule: Rule, told: list[Told], became: Became, silences: Silences) -> Followed:
    """The firings, those that are silenced apart: also where it is told that what began in silence is gone."""
    fired: list[tuple[int, Fired]] = []
    muted: dict[str, bool] = {}
    for (at, gone), some in _together(rule, told, became).items():
        rows = _rows(some)
        mask = silences.mask(rule, rows, at)
        if gone and rule.when != "gone":
            mask = [m or muted.get(t.instance.key, t.instance.muted) for m, t in zip(mask, some, strict=True)]
        else:
            muted |= {t.instance.key: m for m, t in zip(mask, some, strict=True)}
        fired += [(at, part) for part in parts(Fired(rule, rows, ran=False, gone=gone), mask)]
    for key, is_muted in muted.items():
        one = became.get(key)
        if one is not None:
            became[key] = replace(one, muted=is_muted)
    return Followed(fired, became)


def _rows(told: list[Told]) -> pa.Table:
    """The rows of instances; of those that are gone also since when and until when they were there."""
    rows = pa.concat_tables([t.instance.row for t in told]).combine_chunks()
    if not told[0].gone:
        return rows
    ends = [(t.instance.began, t.instance.ended) for t in told]
    seconds = [None if a is None or b is None else (b - a) / 1_000_000 for a, b in ends]
    values = [[a for a, _ in ends], [b for _, b in ends], seconds]
    for field, some in zip(arrow_schema(TIMES), values, strict=True):
        rows = rows.append_column(field, pa.array(some, field.type))
    return rows
