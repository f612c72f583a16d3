"""Writes recursion, windows of time, sessions, ASOF joins, pipes, and ON with subqueries about both sides, in others.

The oracle's side:

- windows are buckets of time, unnested where they overlap; sessions are numbered by LAG and a running sum;
- an ASOF join is a LATERAL subquery with LIMIT 1, ordered by the time and then by the whole row;
- a pipe is the queries it makes, one in the FROM of the next;
- an outer join whose ON asks about both sides is a LATERAL subquery with the whole condition.

Spark has no ASOF join of its own: portable cases go without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

from tests.laws.expressions import Expressions, Scope
from tests.laws.keyed_writer import LARGEST, LONGEST, full, order_key
from tests.laws.new_forms import NewForms
from tests.laws.schema import Column, quote
from tests.laws.twofold import twofold
from tests.laws.views import From, Query, Relation

_WINDOWS = ((24, 24, 0), (12, 12, 5), (36, 24, 0), (20, 7, -3), (48, 12, 0), (1500, 1440, 1))
"""Length, slide and start of windows, in hours."""

_GAPS = ("INTERVAL '1' HOUR", "INTERVAL '60' DAY", "INTERVAL '1428' HOUR", "INTERVAL '20000' DAY")
_ORDERED = ("int", "ts", "date", "dec", "str", "dbl")


@dataclass(slots=True)
class Forms(NewForms):
    """Adds these forms to those of the base class."""

    def forms(self) -> list[Callable[[Sequence[Relation]], Query]]:
        more = [] if self.portable else [self.recursive]
        return [*NewForms.forms(self), self.per_time, self.per_session, self.piped, *more]

    def joined(self, left: From, alias: str, relation: Relation) -> From:
        small = left.size * relation.size <= 4 * LARGEST and not left.wheres
        dice = self.rng.random()
        if small and not self.portable and dice < 0.08:
            return self.as_of(left, alias, relation)
        if small and not self.portable and dice < 0.12:
            return self.on_both_sides(left, alias, relation)
        return NewForms.joined(self, left, alias, relation)

    # recursion

    def recursive(self, below: Sequence[Relation]) -> Query:
        """``WITH RECURSIVE``: which values of a column are reached from which, by the rows of a relation."""
        alias, relation = self.source(below, True)
        kinds = ("int", "str", "date")
        pairs = [(a, b) for a, b in permutations(relation.columns, 2) if a.kind == b.kind and a.kind in kinds]
        pairs += [(c, c) for c in relation.columns if c.kind == "int"]
        if not pairs or relation.size > LARGEST:
            return self.grouped(below)
        source, target = self.rng.choice(pairs)

        def reached(of: str) -> str:
            return full(of, target) if target is not source else f"CAST({full(of, source)} % 3 + 1 AS INT)"

        name, again, outer = self.alias(), self.alias(), self.alias()
        first = f"SELECT {full(alias, source)}, {reached(alias)} FROM {self.aliased(relation, alias)}"
        if self.rng.random() < 0.3:
            first += f" WHERE NOT {full(alias, source)} IS NULL"
        onwards = f"{name} JOIN {self.aliased(relation, again)} ON {name}.c1 = {full(again, source)}"
        rows = f"{first} UNION SELECT {name}.c0, {reached(again)} FROM {onwards}"
        items, columns = self.named([(f"{outer}.c0", source.kind), (f"{outer}.c1", source.kind)])
        inner = f"WITH RECURSIVE {name} (c0, c1) AS ({rows}) SELECT c0, c1 FROM {name}"
        return Query(f"SELECT {items} FROM ({inner}) AS {outer}", columns, relation.size**2)

    # windows of time

    def per_time(self, below: Sequence[Relation]) -> Query:
        """``GROUP BY window(ts, …)``."""
        alias, relation = self.source(below, True)
        time = self.time_of(relation)
        if time is None:
            return self.grouped(below)
        own = [(alias, c) for c in relation.columns]
        writer, moment = Expressions(self.rng, Scope(own)), full(alias, time)
        length, slide, start = self.rng.choice(_WINDOWS)
        several = -(-length // slide)
        number = self.alias()
        origin = f"CAST('1970-01-01 00:00:00+00' AS TIMESTAMP) + INTERVAL '{start}' HOUR"
        bucket = f"TIME_BUCKET(INTERVAL '{slide}' HOUR, {moment}, {origin}) - {number}.i * INTERVAL '{slide}' HOUR"
        call = f"WINDOW({moment}, '{length} hours', '{slide} hours', '{start} hours')"
        ends = [("start", f"({bucket})"), ("end", f"({bucket} + INTERVAL '{length}' HOUR)")]
        name = self.rng.choice(["WINDOW", call])
        shown = [
            (twofold(f"{name}.`{end}`", text), "ts") for end, text in self.rng.sample(ends, k=self.rng.choice([1, 2]))
        ]
        keys = [self.key(writer) for _ in range(self.rng.choice([0, 0, 1]))]
        items, columns = self.named([*keys, *shown, self.aggregate(writer)])
        where = self.where(writer, From("", Scope(own), 1, False, ()))
        places = f" CROSS JOIN LATERAL (SELECT EXPLODE(ARRAY({', '.join(map(str, range(several)))})) AS i) AS {number}"
        inside = f"NOT {moment} IS NULL AND {bucket} + INTERVAL '{length}' HOUR > {moment}"
        inside = f"{where} AND {inside}" if where else f" WHERE {inside}"
        groups = ", ".join([*(t for t, _ in keys), twofold(call, f"({bucket})")])
        text = f"SELECT {items} FROM {self.aliased(relation, alias)}{twofold(where, places + inside)} GROUP BY {groups}"
        return Query(text, columns, relation.size)

    def per_session(self, below: Sequence[Relation]) -> Query:
        """``GROUP BY …, session_window(ts, …)``."""
        alias, relation = self.source(below, True)
        time = self.time_of(relation)
        if time is None:
            return self.grouped(below)
        gap, moment = self.rng.choice(_GAPS), full(alias, time)
        others = [c for c in relation.columns if c != time and c.kind in ("int", "str", "date", "bool")]
        keys = self.rng.sample(others, k=min(len(others), self.rng.choice([0, 1, 1, 2])))
        by = [(full(alias, c), c.kind) for c in keys]
        own = [(alias, c) for c in relation.columns]
        writer = Expressions(self.rng, Scope(own))
        start, end = (f"SESSION_WINDOW.`{e}`" for e in ("start", "end"))
        ends = [(twofold(start, f"MIN({moment})"), "ts"), (twofold(end, f"MAX({moment}) + {gap}"), "ts")]
        items, columns = self.named([*by, *ends, self.aggregate(writer)])
        where = self.where(writer, From("", Scope(own), 1, False, ()))
        per = f"PARTITION BY {', '.join(quote(c.name) for c in keys)} " if keys else ""
        at, over = quote(time.name), f"OVER ({per}ORDER BY {quote(time.name)})"
        there = f"{where} AND NOT {moment} IS NULL" if where else f" WHERE NOT {moment} IS NULL"
        rows = f"SELECT * FROM {self.aliased(relation, alias)}{there}"
        begins = f"CASE WHEN {at} <= LAG({at}) {over} + {gap} THEN 0 ELSE 1 END AS `begins`"
        numbered = f"SELECT *, SUM(`begins`) {over} AS `session` FROM (SELECT *, {begins} FROM ({rows}) AS r) AS s"
        source = twofold(f"{self.aliased(relation, alias)}{where}", f"({numbered}) AS {alias}")
        length = gap.removeprefix("INTERVAL ").replace("'", "")
        call = twofold(f"SESSION_WINDOW({moment}, '{length.lower()}')", f"{alias}.`session`")
        return Query(f"SELECT {items} FROM {source} GROUP BY {', '.join([*(t for t, _ in by), call])}", columns, 4)

    def time_of(self, relation: Relation) -> Column | None:
        times = [c for c in relation.columns if c.kind == "ts"]
        return self.rng.choice(times) if times else None

    # joins

    def as_of(self, left: From, alias: str, relation: Relation) -> From:
        """``ASOF [LEFT] JOIN … ON a.k = b.k AND a.t >= b.t``."""
        own = [(alias, c) for c in relation.columns]
        around = left.scope.columns
        times = [(a, b) for a in around for b in own if a[1].kind == b[1].kind and a[1].kind in _ORDERED]
        if not times:
            return NewForms.joined(self, left, alias, relation)
        mine, theirs = self.rng.choice(times)
        compared = self.rng.choice([">=", ">=", ">", "<=", "<"])
        pairs = [(a, b) for a in around for b in own if a[1].kind == b[1].kind]
        equal = [self.rng.choice(pairs) for _ in range(self.rng.choice([0, 1, 1]))]
        conditions = [*(f"{full(*a)} = {full(*b)}" for a, b in equal), f"{full(*mine)} {compared} {full(*theirs)}"]
        on, named = " AND ".join(conditions), self.aliased(relation, alias)
        down = "DESC" if compared in (">=", ">") else "ASC"
        order = [f"{full(*theirs)} {down}"]
        for a, c in own:
            order += [f"NOT {full(a, c)} IS NULL {down}", f"{order_key(a, c)} {down}"]
        kind = self.rng.choice(["", "LEFT "])
        query = f"(SELECT * FROM {named} WHERE {on} ORDER BY {', '.join(order)} LIMIT 1) AS {alias}"
        lateral = f"LEFT JOIN LATERAL {query} ON TRUE" if kind else f"CROSS JOIN LATERAL {query}"
        text = f"{left.text} {twofold(f'ASOF {kind}JOIN {named} ON {on}', lateral)}"
        return From(text, Scope(around + own, left.scope.visible + own), left.size, left.merged, left.wheres)

    def on_both_sides(self, left: From, alias: str, relation: Relation) -> From:
        """``LEFT JOIN … ON`` a subquery about both sides."""
        own = [(alias, c) for c in relation.columns]
        columns, named = left.scope.columns + own, self.aliased(relation, alias)
        condition = self.equalities(columns, own) or "TRUE"
        test = self.subquery_test([relation, self.values()], Scope(columns))
        query = f"LATERAL (SELECT * FROM {named} WHERE {condition} AND {test}) AS {alias} ON TRUE"
        text = f"{left.text} LEFT JOIN {twofold(f'{named} ON {condition} AND {test}', query)}"
        size = left.size * relation.size / 3 + left.size
        return From(text, Scope(columns, left.scope.visible + own), size, left.merged, left.wheres)

    # pipes

    def piped(self, below: Sequence[Relation]) -> Query:
        """``FROM … |> WHERE … |> EXTEND … |> AGGREGATE … |> …``, each operator over what is there by then."""
        inner = self.select(below, most=2, simple=True, stars=False)
        if inner.size > LARGEST or len(inner.text) > LONGEST:
            return self.grouped(below)
        alias, columns = self.alias(), list(inner.columns)
        pipe, plain = f"FROM ({inner.text}) AS {alias}", f"SELECT * FROM ({inner.text}) AS {alias}"
        for _ in range(self.rng.randint(1, 3)):
            writer = Expressions(self.rng, Scope([(alias, c) for c in columns]))
            match self.rng.choice(["where", "extend", "aggregate", "drop", "distinct", "set"]):
                case "where":
                    condition = writer.lenient()
                    pipe, plain = (
                        f"{pipe} |> WHERE {condition}",
                        f"SELECT * FROM ({plain}) AS {alias} WHERE {condition}",
                    )
                case "extend":
                    kind = self.rng.choice(["int", "str", "bool"])
                    name = f"more_{len(columns)}"
                    item = f"{writer.of(kind, 1)} AS {name}"
                    pipe = f"{pipe} |> EXTEND {item} |> AS {alias}"
                    plain = f"SELECT *, {item} FROM ({plain}) AS {alias}"
                    columns.append(Column(name, kind))
                case "aggregate":
                    (key, kind), total = self.key(writer), self.aggregate(writer)
                    items, made = self.named([(key, kind), total])
                    first, second = (quote(c.name) for c in made)
                    pipe = f"{pipe} |> AGGREGATE {total[0]} AS {second} GROUP BY {key} AS {first} |> AS {alias}"
                    plain = f"SELECT {items} FROM ({plain}) AS {alias} GROUP BY {key}"
                    columns = list(made)
                case "drop" if len(columns) > 1:
                    gone = columns.pop(self.rng.randrange(len(columns)))
                    pipe = f"{pipe} |> DROP {quote(gone.name)} |> AS {alias}"
                    plain = f"SELECT {', '.join(quote(c.name) for c in columns)} FROM ({plain}) AS {alias}"
                case "set":
                    place = self.rng.randrange(len(columns))
                    kind, name = columns[place].kind, columns[place].name
                    value = full(alias, columns[place]) if kind in ("arr", "row") else writer.of(kind, 1)
                    pipe = f"{pipe} |> SET {quote(name)} = {value} |> AS {alias}"
                    items = ", ".join(
                        f"{value} AS {quote(c.name)}" if c.name == name else quote(c.name) for c in columns
                    )
                    plain = f"SELECT {items} FROM ({plain}) AS {alias}"
                case _:
                    pipe, plain = (
                        f"{pipe} |> SELECT DISTINCT * |> AS {alias}",
                        f"SELECT DISTINCT * FROM ({plain}) AS {alias}",
                    )
        text = f"SELECT {', '.join(quote(c.name) for c in columns)} FROM ({twofold(pipe, plain)}) AS {self.alias()}"
        return Query(text, tuple(columns), inner.size)
