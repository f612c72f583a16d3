"""Writes the forms of FROM, SELECT and GROUP BY beyond the keyed operators, in all of the other forms.

Tables: parenthesised joins, LATERAL subqueries and views, functions that make rows, PIVOT, UNPIVOT, subqueries in ON.
Queries: GROUPING SETS, CUBE and ROLLUP, subqueries in GROUP BY, UNION BY NAME.  ``new_values`` has the aggregates and
conditions.

The oracle's side differs where DuckDB does:

- a set ``()`` beside others has a row over no rows in DuckDB: HAVING COUNT(*) > 0 takes it away;
- LATERAL VIEW and functions that make rows are UNNEST, PIVOT is aggregates with FILTER, UNPIVOT is a union;
- DuckDB has no subqueries in the ON of an outer join, and few conditions in that of a LATERAL one: they stand in a
  query around what is joined.

What is meant for the oracle alone has lower-case key words where ``set_operation`` would change them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.laws import schema
from tests.laws.expressions import LITERALS, Expressions, Scope
from tests.laws.keyed_writer import LARGEST, LONGEST, Values, full, settled
from tests.laws.new_values import NewValues
from tests.laws.schema import Column, quote
from tests.laws.twofold import twofold
from tests.laws.views import From, Query, Relation

_Columns = list[tuple[str, Column]]


@dataclass(frozen=True, slots=True)
class _Rows:
    """A call that makes rows: its text, the same as items of the oracle's list, and the columns it makes."""

    call: str
    items: list[str]
    columns: tuple[Column, ...]

    def listed(self) -> str:
        """The oracle's list."""
        return ", ".join(f"{i} AS {quote(c.name)}" for i, c in zip(self.items, self.columns, strict=True))


@dataclass(slots=True)
class NewForms(NewValues):
    """Adds the newer forms to those of the base class, each with its own share."""

    def forms(self) -> list[Callable[[Sequence[Relation]], Query]]:
        more = [self.pivoted, self.unpivoted, self.exploded]
        return [*NewValues.forms(self), *more, *([] if self.portable else [self.by_name])]

    # FROM

    def from_clause(self, below: Sequence[Relation], most: int, simple: bool) -> From:
        """At times in parentheses, at times with a LATERAL VIEW behind all else."""
        clause = NewValues.from_clause(self, below, most, simple)
        if not clause.wheres and self.rng.random() < 0.08:
            clause = _enclosed(clause)
        while clause.scope.columns and clause.size <= LARGEST and self.rng.random() < 0.07:
            clause = self.lateral_view(clause)
        return clause

    def joined(self, left: From, alias: str, relation: Relation) -> From:
        # What a comma lists is joined before or after the rest: see the base class.
        small = left.size * relation.size <= 4 * LARGEST and not left.wheres
        dice = self.rng.random()
        if small and dice < 0.08:
            return self.lateral(left, relation, alias)
        if small and dice < 0.13:
            return self.with_group(left, alias, relation)
        if small and dice < 0.2:
            return self.on_subquery(left, alias, relation)
        if small and dice < 0.25:
            left = _enclosed(left)
        return NewValues.joined(self, left, alias, relation)

    def lateral_view(self, clause: From) -> From:
        rows, alias = self.rows(clause.scope.columns), self.alias()
        outer = self.rng.choice(["", "", "OUTER "])
        names = ", ".join(quote(c.name) for c in rows.columns)
        join = "LEFT JOIN" if outer else "CROSS JOIN"
        lateral = f" {join} LATERAL (SELECT {rows.listed()}) AS {alias}{' ON TRUE' if outer else ''}"
        text = twofold(f" LATERAL VIEW {outer}{rows.call} {alias} AS {names}", lateral)
        own = [(alias, c) for c in rows.columns]
        scope = Scope(clause.scope.columns + own, clause.scope.visible + own)
        return From(clause.text + text, scope, clause.size * 2, clause.merged, clause.wheres)

    def lateral(self, left: From, relation: Relation, alias: str) -> From:
        """``JOIN LATERAL (SELECT …) ON …``."""
        inner = self.about(left.scope.columns, relation, alias)
        outside = self.alias()
        own = [(outside, c) for c in inner.columns]
        columns = left.scope.columns + own
        kind = self.rng.choice(["CROSS JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN"])
        query, on = f"({inner.text}) AS {outside}", "" if kind == "CROSS JOIN" else " ON TRUE"
        if on and self.rng.random() < 0.4:
            test = Expressions(self.rng, Scope(columns)).lenient(1)
            query = twofold(query, f"(SELECT * FROM {query} WHERE {test}) AS {outside}")
            on = twofold(f" ON {test}", on)
        text = f"{left.text} {kind} LATERAL {query}{on}"
        size = left.size * (inner.size / 2 + 1)
        return From(text, Scope(columns, left.scope.visible + own), size, left.merged, left.wheres)

    def about(self, around: _Columns, relation: Relation, alias: str) -> Query:
        """A query about columns of the query around it."""
        own = [(alias, c) for c in relation.columns]
        source = f" FROM {self.aliased(relation, alias)}"
        where = self.correlation(around, own) if self.rng.random() < 0.85 else ""
        inside = Expressions(self.rng, Scope(own))
        wide = inside if self.portable else Expressions(self.rng, Scope([*own, *around]))
        some = [self.rng.choice(own) for _ in range(self.rng.randint(1, 2))]
        plain = [(full(*c), c[1].kind) for c in some]
        match self.rng.choice(["plain", "plain", "whole", "whole", "grouped", "distinct", "first", "window"]):
            case "whole":
                items, columns = self.named([self.aggregate(inside) for _ in range(self.rng.randint(1, 2))])
                return Query(f"SELECT {items}{source}{where}", columns, 1)
            case "grouped":
                items, columns = self.named([*plain, self.aggregate(inside)])
                by = ", ".join(dict.fromkeys(t for t, _ in plain))
                return Query(f"SELECT {items}{source}{where} GROUP BY {by}", columns, 2)
            case "distinct":
                items, columns = self.named(plain)
                return Query(f"SELECT DISTINCT {items}{source}{where}", columns, 2)
            case "first":
                items, columns = self.named(plain)
                return self.cut(Query(f"SELECT {items}{source}{where}", columns, relation.size))
            case "window":
                items, columns = self.named([*plain, self.window(inside)])
            case _:
                items, columns = self.named([*plain, (wide.of(k := self.kinds(Scope(own))[0]), k)])
        return Query(f"SELECT {items}{source}{where}", columns, relation.size / 2)

    def with_group(self, left: From, alias: str, relation: Relation) -> From:
        """A join with a join in parentheses."""
        first = [(alias, c) for c in relation.columns]
        start = From(f" FROM {self.aliased(relation, alias)}", Scope(first, list(first)), relation.size, False, ())
        second = Relation(relation.text, relation.columns, relation.size, relation.ordered)
        group = NewValues.joined(self, start, self.alias(), second if self.rng.random() < 0.3 else self.values())
        if group.wheres or " JOIN " not in group.text or left.size * group.size > 4 * LARGEST:
            return NewValues.joined(self, left, alias, relation)
        own = group.scope.columns
        columns = left.scope.columns + own
        condition = self.equalities(columns, own)
        kind = self.rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]) if condition else "JOIN"
        condition = condition or self.linking(Scope(columns), own)
        text = f"{left.text} {kind} ({group.text.removeprefix(' FROM ')}) ON {condition}"
        size = left.size * group.size / 3 + left.size + group.size
        visible = left.scope.visible + group.scope.visible
        return From(text, Scope(columns, visible), size, left.merged or group.merged, left.wheres)

    def on_subquery(self, left: From, alias: str, relation: Relation) -> From:
        """A join whose ON holds a subquery; that of an outer join is about the side that may be missing."""
        own = [(alias, c) for c in relation.columns]
        columns, visible = left.scope.columns + own, left.scope.visible + own
        named = self.aliased(relation, alias)
        kind = self.rng.choice(["JOIN", "JOIN", "LEFT JOIN", "LEFT SEMI JOIN"])
        condition = self.equalities(columns, own) or "TRUE"
        about = own if kind != "JOIN" or self.portable else self.rng.choice([own, columns, left.scope.columns])
        test = self.subquery_test([relation, self.values()], Scope(about))
        if kind == "JOIN":
            text = f"{left.text} JOIN {named} ON {condition} AND {test}"
        else:
            kept = f"(SELECT * FROM {named} WHERE {test}) AS {alias}"
            text = f"{left.text} {kind} {twofold(named, kept)} ON {condition}{twofold(f' AND {test}', '')}"
        size = left.size * relation.size / 3 + left.size
        if kind == "LEFT SEMI JOIN":
            return From(text, left.scope, left.size, left.merged, left.wheres)
        return From(text, Scope(columns, visible), size, left.merged, left.wheres)

    # functions that make rows

    def rows(self, around: _Columns) -> _Rows:
        """``explode`` and its kind, over columns."""
        writer = Expressions(self.rng, Scope(around))
        match self.rng.choice(["explode", "explode", "posexplode", "stack", "inline"]):
            case "explode":
                array = self.array(writer)
                return _Rows(f"EXPLODE({array})", [f"EXPLODE({array})"], self.made(["int"]))
            case "posexplode":
                array = self.array(writer)
                place = f"CAST(EXPLODE(RANGE(LEN({array}))) AS INT)"
                return _Rows(f"POSEXPLODE({array})", [place, f"EXPLODE({array})"], self.made(["int", "int"]))
            case form:
                kinds = [writer.present("int", "str", "date", "bool", "dec"), writer.present("int", "str")]
                columns = self.made(kinds)
                cells = [[settled(writer.of(k, 1), k) for k in kinds] for _ in range(2)]
                items = [f"EXPLODE(ARRAY({cells[0][n]}, {cells[1][n]}))" for n in range(2)]
                if form == "stack":
                    return _Rows(f"STACK(2, {', '.join(cells[0] + cells[1])})", items, columns)
                structs = [f"NAMED_STRUCT('i', {a}, 'j', {b})" for a, b in cells]
                return _Rows(f"INLINE(ARRAY({', '.join(structs)}))", items, columns)

    def array(self, writer: Expressions) -> str:
        there = [full(*c) for c in writer.scope.columns if c[1].kind == "arr"]
        if there and self.rng.random() < 0.8:
            return self.rng.choice(there)
        items = ", ".join(f"CAST({writer.of('int', 1)} AS INT)" for _ in range(self.rng.choice([1, 2, 2])))
        made = f"ARRAY({items})"
        return made if self.rng.random() < 0.6 else f"CASE WHEN {writer.condition(1)} THEN {made} END"

    def made(self, kinds: Sequence[str]) -> tuple[Column, ...]:
        """Columns with names of their own."""
        columns: list[Column] = []
        for number, kind in enumerate(kinds):
            taken = {c.name.lower() for c in columns}
            free = [n for n in schema.NAMES[kind] if n.lower() not in taken]
            columns.append(Column(self.rng.choice(free) if free else f"{kind}_{number}", kind))
        return tuple(columns)

    def exploded(self, below: Sequence[Relation]) -> Query:
        """``SELECT …, explode(…) AS x``."""
        source = self.from_clause(below, 2, True)
        if not source.scope.columns:
            return self.grouped(below)
        writer = Expressions(self.rng, source.scope)
        where = self.where(writer, source)
        rows = self.rows(source.scope.columns)
        plain = [(full(a, c), c.kind) for a, c in source.scope.columns]
        chosen = self.rng.sample(plain, k=min(len(plain), self.rng.randint(0, 2)))
        _, columns = self.named([*chosen, *[("", c.kind) for c in rows.columns]])
        first = [f"{t} AS {quote(c.name)}" for (t, _), c in zip(chosen, columns, strict=False)]
        made = columns[len(chosen) :]
        call, items_, names = rows.call, rows.items, ", ".join(quote(c.name) for c in made)
        if len(made) == 1 and self.rng.random() < 0.3:
            array = call.removeprefix("EXPLODE(").removesuffix(")")
            call = f"EXPLODE_OUTER({array})"
            items_ = [f"EXPLODE(CASE WHEN SIZE({array}) > 0 THEN {array} ELSE ARRAY(CAST(NULL AS INT)) END)"]
        said = f"{call} AS {names}" if len(made) == 1 else f"{call} AS ({names})"
        listed = ", ".join(f"{i} AS {quote(c.name)}" for i, c in zip(items_, made, strict=True))
        text = f"SELECT {', '.join([*first, twofold(said, listed)])}{source.text}{where}"
        return Query(text, columns, source.size * 2)

    # PIVOT, UNPIVOT

    def pivoted(self, below: Sequence[Relation]) -> Query:
        """``SELECT * FROM … PIVOT (… FOR … IN (…))``."""
        alias, relation = self.source(below, True)
        choices = [c for c in relation.columns if c.kind in ("int", "str", "date", "bool")]
        if not choices:
            return self.grouped(below)
        by = self.rng.choice(choices)
        others = [c for c in relation.columns if c != by]
        calls: list[tuple[str, str, set[str]]] = [("COUNT(*)", "int", set())]
        for c in others:
            calls.append((f"COUNT({quote(c.name)})", "int", {c.name}))
            if c.kind in ("int", "dec"):
                calls += [(settled(f"SUM({quote(c.name)})", c.kind), c.kind, {c.name})] * 2
            if c.kind not in ("arr", "row"):
                calls.append((f"{self.rng.choice(['MIN', 'MAX'])}({quote(c.name)})", c.kind, {c.name}))
        chosen = self.rng.sample(calls, k=min(len(calls), self.rng.choice([1, 1, 2])))
        gone = {by.name, *(n for _, _, names in chosen for n in names)}
        kept = [c for c in others if c.name not in gone]
        values = self.rng.sample([*LITERALS[by.kind], *(["NULL"] if self.rng.random() < 0.3 else [])], k=2)
        columns, cells = list(kept), []
        heads = ("p", "q") if len(chosen) > 1 else ("P 0", "P 1")
        while any(c.name.startswith(heads) for c in kept):
            heads = (heads[0] + "'", heads[1] + "'")
        for place, value in enumerate(values):
            for number, (call, kind, _) in enumerate(chosen):
                name = f"{heads[place]}_{'mn'[number]}" if len(chosen) > 1 else heads[place]
                test = f"{quote(by.name)} <=> {value}"
                among = call.replace(")", f") FILTER (WHERE {test})", 1)
                cells.append(f"CASE WHEN COUNT(*) FILTER (WHERE {test}) > 0 THEN {among} END AS {quote(name)}")
                columns.append(Column(name, kind))
        shown = [quote(c.name) for c in kept]
        named = [f"{v} AS {quote(heads[n])}" for n, v in enumerate(values)]
        aggregates = ", ".join(f"{c} AS {'mn'[n]}" for n, (c, _, _) in enumerate(chosen))
        pivot = f" PIVOT ({aggregates} FOR {quote(by.name)} IN ({', '.join(named)}))"
        groups = f" GROUP BY {', '.join(shown)}" if shown else ""
        text = f"SELECT {twofold('*', ', '.join([*shown, *cells]))} FROM {self.aliased(relation, alias)}"
        return Query(text + twofold(pivot, groups), tuple(columns), min(relation.size, 10))

    def unpivoted(self, below: Sequence[Relation]) -> Query:
        """``SELECT * FROM … UNPIVOT (… FOR … IN (…))``."""
        there = [c.kind for r in below for c in r.columns if c.kind not in ("arr", "row")]
        kind = self.rng.choice(there or ["int"])
        wanted = [kind, kind, *(self.rng.choice(there or ["int"]) for _ in range(self.rng.choice([0, 1, 1])))]
        inner = self.select(below, most=2, simple=True, wanted=wanted)
        if inner.size > LARGEST or len(inner.text) > LONGEST:
            return self.grouped(below)
        one, other, *kept = inner.columns
        alias, unfolded = self.alias(), self.alias()
        nulls = self.rng.choice(["", "INCLUDE NULLS "])
        listed = f"{quote(one.name)} AS `one`, {quote(other.name)}"
        unpivot = f" UNPIVOT {nulls}(`value_of` FOR `name_of` IN ({listed}))"
        own = quote(alias)
        first = f"SELECT 'one' AS `name_of`, {own}.{quote(one.name)} AS `value_of`"
        second = other.name.replace("'", "\\'")
        both = f"{first} union all SELECT '{second}', {own}.{quote(other.name)}"
        where = "" if nulls else f" WHERE NOT {unfolded}.`value_of` IS NULL"
        shown = [f"{own}.{quote(c.name)}" for c in kept] + [f"{unfolded}.`name_of`", f"{unfolded}.`value_of`"]
        text = f"SELECT {twofold('*', ', '.join(shown))} FROM ({inner.text}) AS {alias}"
        text += twofold(unpivot, f" CROSS JOIN LATERAL ({both}) AS {unfolded}{where}")
        return Query(text, (*kept, Column("name_of", "str"), Column("value_of", kind)), inner.size * 2)

    # queries

    def by_name(self, below: Sequence[Relation]) -> Query:
        """``… UNION BY NAME …``, the columns of the second query in another order."""
        first = self.select(below, most=2, simple=True, stars=False)
        second = self.select(below, most=2, simple=True, wanted=[c.kind for c in first.columns])
        alias = self.alias()
        pairs = list(zip(first.columns, second.columns, strict=True))
        self.rng.shuffle(pairs)
        items = ", ".join(f"{full(alias, s)} AS {quote(f.name)}" for f, s in pairs)
        operator = self.rng.choice(["union by name", "union all by name"])
        text = f"{first.text} {operator} SELECT {items} FROM ({second.text}) AS {alias}"
        return Query(text, first.columns, first.size + second.size)

    def group_by(self, below: Sequence[Relation], scope: Scope, keys: list[str]) -> tuple[str, Values, str]:
        more: Values = []
        if keys and scope.columns and self.rng.random() < 0.07:
            more.append(self.scalar(below, scope.columns))
            keys = [*keys, more[0][0]]
        if not 0 < len(keys) <= 3 or self.rng.random() > 0.3:
            return (f" GROUP BY {', '.join(keys)}" if keys else ""), more, ""
        # DuckDB does not find a CAST, or a subquery, among the keys again: see the traps.
        plain = [k for k in keys if "SELECT" not in k and "CAST" not in k]
        if plain and self.rng.random() < 0.6:
            more.append((settled(f"GROUPING({self.rng.choice(plain)})", "int"), "int"))
        listed = ", ".join(keys)
        chosen = [self.rng.sample(keys, k=self.rng.randint(1, len(keys))) for _ in range(2)]
        sets = [f"({', '.join(some)})" for some in chosen]
        sets += self.rng.sample(["()", f"({listed})", sets[0]], k=self.rng.randint(0, 2))
        clauses = [
            f"ROLLUP ({listed})",
            f"ROLLUP ({listed})",
            f"GROUPING SETS ({', '.join(sets)})",
            f"GROUPING SETS ({', '.join(sets)})",
            twofold(f"{listed} WITH ROLLUP", f"ROLLUP ({listed})"),
        ]
        if len(keys) < 3:
            clauses += [f"CUBE ({listed})", twofold(f"{listed} WITH CUBE", f"CUBE ({listed})")]
        if len(keys) > 1:
            clauses.append(f"{keys[0]}, ROLLUP ({', '.join(keys[1:])})")
        clause = self.rng.choice(clauses)
        if "SETS" in clause:  # a key must be in some set
            covered = f"({listed})" in sets or all(any(k in some for some in chosen) for k in keys)
            clause = clause if covered else f"{clause[:-1]}, ({listed}))"
        return f" GROUP BY {clause}", more, "COUNT(*) > 0"


def _enclosed(clause: From) -> From:
    """The joins of a clause in parentheses; a single source stays as it is, for DuckDB."""
    if len({a for a, _ in clause.scope.columns}) < 2:
        return clause
    text = f" FROM ({clause.text.removeprefix(' FROM ')})"
    return From(text, clause.scope, clause.size, clause.merged, clause.wheres)
