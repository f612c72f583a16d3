"""Writes queries with the keyed operators, nested in each other and in the forms of ``views``.

GROUP BY with and without keys, HAVING, DISTINCT, set operations, outer, semi and anti joins, window functions, QUALIFY,
ORDER BY with LIMIT, and subqueries in WHERE, SELECT and HAVING.  ``new_forms`` adds what came later.

Where DuckDB and Spark type a result differently, a CAST settles it.  Windows and LIMIT order by all there is, so that
ties are between equal rows.  Sums are of exact types only: those of floats depend on the order of addition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.laws import schema
from tests.laws.expressions import LITERALS, Expressions, Scope
from tests.laws.schema import Column, quote
from tests.laws.twofold import twofold
from tests.laws.views import From, Query, Relation, Writer

LARGEST = 40
"""No nested query is estimated to have more rows than this."""
LONGEST = 1_000
"""Nor is its text longer: a case is to be read, and compiled, in a moment."""

COMPARED = ("int", "dec", "str", "bool", "date", "ts", "dbl")
Values = list[tuple[str, str]]
"""Expressions over groups: text and kind."""

_SET_OPERATORS = ["UNION ALL", "UNION ALL", "UNION", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"]


@dataclass(slots=True)
class KeyedWriter(Writer):
    """Writes queries; ``room`` is how much deeper they may nest."""

    room: int = field(default=0)
    portable: bool = field(default=False)

    def view(self, below: Sequence[Relation]) -> Query:
        """A query, at times below a WITH."""
        if self.rng.random() < 0.1:
            return self.with_cte(below)
        return self.keyed(below)

    def keyed(self, below: Sequence[Relation]) -> Query:
        """A query of any form."""
        return self.rng.choice(self.forms())(below)

    def forms(self) -> list[Callable[[Sequence[Relation]], Query]]:
        """The forms, each as often as it is to be chosen."""
        return [
            *[self.grouped] * 4,
            *[self.set_operation] * 3,
            *[self.windowed] * 3,
            *[self.first_rows] * 2,
            *[self.with_subquery] * 4,
            self.distinct,
            *[self.select] * 3,
        ]

    # FROM

    def source(self, below: Sequence[Relation], simple: bool) -> tuple[str, Relation]:
        """A relation to read; as long as there is room, often a query in parentheses."""
        if self.room > 0 and self.rng.random() < 0.5:
            self.room -= 1
            inner = self.keyed(below)
            self.room += 1
            if inner.size <= LARGEST and len(inner.text) <= LONGEST:
                return self.alias(), Relation(f"({inner.text})", inner.columns, inner.size, inner.ordered)
        if self.rng.random() < 0.05:
            return self.alias(), self.values()
        return self.alias(), self.rng.choice(below)

    def joined(self, left: From, alias: str, relation: Relation) -> From:
        """One more source, by an inner join or one of the others."""
        # Spark joins what a comma lists before an outer join, DuckDB after it.
        if self.rng.random() < 0.35 or left.wheres or left.size * relation.size > 4 * LARGEST:
            return Writer.joined(self, left, alias, relation)
        kind = self.rng.choice(["LEFT", "LEFT", "LEFT OUTER", "RIGHT", "FULL", "FULL OUTER", "LEFT SEMI", "LEFT ANTI"])
        own = [(alias, c) for c in relation.columns]
        columns, visible = left.scope.columns + own, left.scope.visible + own
        names = [c.name.lower() for _, c in left.scope.visible]
        shared = [c.name for c in relation.columns if names.count(c.name.lower()) == 1]
        named = self.aliased(relation, alias)
        using = bool(shared) and self.rng.random() < 0.25
        if using:
            common = self.rng.sample(shared, k=min(len(shared), self.rng.randint(1, 2)))
            text = f" {kind} JOIN {named} USING ({', '.join(map(quote, common))})"
        else:
            condition = self.equalities(columns, own) if kind in ("LEFT ANTI", "FULL", "FULL OUTER") else None
            if kind == "LEFT ANTI" and condition is None:
                kind = "LEFT SEMI"  # DuckDB's own answer to an anti join by inequality is wrong
            text = f" {kind} JOIN {named} ON {condition or self.linking(Scope(columns, visible), own)}"
        if kind in ("LEFT SEMI", "LEFT ANTI"):
            return From(left.text + text, left.scope, left.size, left.merged or using, left.wheres)
        if using:
            lower = {n.lower() for n in common}
            first = [c for c in left.scope.visible if c[1].name.lower() in lower]
            visible = first + [c for c in visible if c[1].name.lower() not in lower]
        size = left.size * relation.size / 3 + left.size + relation.size
        return From(left.text + text, Scope(columns, visible), size, left.merged or using, left.wheres)

    def equalities(self, columns: list[tuple[str, Column]], own: list[tuple[str, Column]]) -> str | None:
        """A condition of equalities only, if there can be one, and at times more about the new source."""
        pairs = [(a, b) for a in columns if a not in own for b in own if a[1].kind == b[1].kind]
        if not pairs:
            return None
        a, b = self.rng.choice(pairs)
        condition = f"{full(*a)} {self.rng.choice(['=', '=', '<=>'])} {full(*b)}"
        if self.rng.random() < 0.3:
            condition += f" AND {Expressions(self.rng, Scope(own)).lenient(1)}"
        return condition

    def where(self, writer: Expressions, source: From, often: float = 0.25) -> str:
        conditions = list(source.wheres)
        if self.rng.random() < often:
            conditions.append(writer.lenient())
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    # SELECT with more

    def distinct(self, below: Sequence[Relation]) -> Query:
        query = self.select(below, most=2)
        return Query("SELECT DISTINCT" + query.text.removeprefix("SELECT"), query.columns, query.size, query.ordered)

    def set_operation(self, below: Sequence[Relation]) -> Query:
        """Two or three queries combined by any operators."""
        query = self.union(below)
        first, *rest = query.text.split(" UNION ALL ")
        text = first + "".join(f" {self.rng.choice(_SET_OPERATORS)} {part}" for part in rest)
        if text.startswith("SELECT") and text.count(" AS ") and self.rng.random() < 0.15:
            return self.cut(Query(text, query.columns, query.size))
        return Query(text, query.columns, query.size)

    def first_rows(self, below: Sequence[Relation]) -> Query:
        """``… ORDER BY … LIMIT …`` over another form, ordered by all its columns."""
        form = self.rng.choice([self.plain, self.plain, self.distinct, self.grouped])
        return self.cut(form(below))

    def plain(self, below: Sequence[Relation]) -> Query:
        return self.select(below, most=2, stars=False)

    def cut(self, query: Query) -> Query:
        nested = any(c.kind in ("arr", "row") for c in query.columns)  # of another order in DuckDB: see ``in_order``
        if not query.ordered or nested or " LIMIT " in query.text[-40:]:
            return query
        places = list(range(1, len(query.columns) + 1))
        self.rng.shuffle(places)
        order = ", ".join(f"{p} {self.direction()}" for p in places)
        limit = self.rng.choice([0, 1, 2, 2, 3, 5])
        text = f"{query.text} ORDER BY {order} LIMIT {limit}"
        if self.rng.random() < 0.4:
            text += f" OFFSET {self.rng.randint(1, 3)}"
        return Query(text, query.columns, min(query.size, limit))

    def direction(self) -> str:
        return f"{self.rng.choice(['ASC', 'DESC'])} NULLS {self.rng.choice(['FIRST', 'LAST'])}"

    # GROUP BY

    def grouped(self, below: Sequence[Relation]) -> Query:
        """``SELECT keys, aggregates … GROUP BY keys HAVING …``; at times without keys."""
        source = self.from_clause(below, 3, True)
        writer = Expressions(self.rng, source.scope)
        where = self.where(writer, source)
        if self.rng.random() < 0.15:
            where += f"{' AND' if where else ' WHERE'} {self.subquery_condition(below, source.scope)}"
        keys = [self.key(writer) for _ in range(self.rng.choice([0, 1, 1, 1, 2, 3]))] if source.scope.columns else []
        aggregates = [self.aggregate(writer) for _ in range(self.rng.choice([0, 1, 1, 2, 3] if keys else [1, 2, 3]))]
        shown = [k for k in keys if self.rng.random() < 0.85]
        values = shown + aggregates
        values += [self.over_groups(keys, aggregates)] if aggregates and self.rng.random() < 0.3 else []
        if keys and self.rng.random() < 0.1:
            values.append(self.window_over_groups(keys, aggregates))
        if self.rng.random() < 0.12:
            values.append(self.scalar(below, [] if self.portable else _standing(source.scope, keys)))
        values = values or keys
        clause, more, oracles = self.group_by(below, source.scope, list(dict.fromkeys(k for k, _ in keys)))
        values = values + more
        text = f"SELECT {{}}{source.text}{where}{clause}"
        if self.rng.random() < 0.3:
            also = twofold("", f"{oracles} AND ") if oracles else ""
            text += f" HAVING {also}({self.having(below, source.scope, keys, aggregates)})"
        elif oracles:
            text += twofold("", f" HAVING {oracles}")
        items, columns = self.named(values)
        return Query(text.replace("{}", items, 1), columns, min(source.size, 10) if keys else 1)

    def group_by(self, below: Sequence[Relation], scope: Scope, keys: list[str]) -> tuple[str, Values, str]:
        """GROUP BY with its keys; what else the list shows; a condition the oracle needs over the groups."""
        return (f" GROUP BY {', '.join(keys)}", [], "") if keys else ("", [], "")

    def named(self, values: Values) -> tuple[str, tuple[Column, ...]]:
        """A select list with names that fit the kinds."""
        columns: list[Column] = []
        for number, (_, kind) in enumerate(values):
            taken = {c.name.lower() for c in columns}
            free = [n for n in schema.NAMES[kind] if n.lower() not in taken]
            columns.append(Column(self.rng.choice(free) if free else f"{kind}_{number}", kind))
        texts = [f"{text} AS {quote(c.name)}" for (text, _), c in zip(values, columns, strict=True)]
        return ", ".join(texts), tuple(columns)

    def key(self, writer: Expressions) -> tuple[str, str]:
        """Something to group by: a column, or an expression over one."""
        alias, column = self.rng.choice(writer.scope.columns)
        text, kind = full(alias, column), column.kind
        dice = self.rng.random()
        if dice < 0.1:
            return f"COALESCE({text}, {self.rng.choice(LITERALS[kind])})", kind
        if dice < 0.2 and kind == "int":
            return f"({text} % 2)", kind
        if dice < 0.25:
            return f"({text} IS NULL)", "bool"
        return text, kind

    def aggregate(self, writer: Expressions) -> tuple[str, str]:
        """An aggregate of exact types, and its kind."""
        numbers = writer.present("int", "dec")
        compared = writer.present(*COMPARED)
        small = self.rng.choice([0, 1])
        text, kind = self.rng.choice(
            [
                ("COUNT(*)", "int"),
                (f"COUNT({writer.of(compared, small)})", "int"),
                (f"COUNT(DISTINCT {writer.of(compared, small)})", "int"),
                (f"SUM({writer.of(numbers, small)})", numbers),
                (f"SUM({writer.of(numbers, small)})", numbers),
                (f"SUM(DISTINCT {writer.of(numbers, 0)})", numbers),
                (f"MIN({writer.of(compared, small)})", compared),
                (f"MAX({writer.of(compared, small)})", compared),
                (f"AVG({writer.of('int', small)})", "dbl"),
            ]
        )
        if self.rng.random() < 0.12:
            text += f" FILTER (WHERE {writer.lenient(1)})"
        return settled(text, kind), kind

    def over_groups(self, keys: Values, aggregates: Values) -> tuple[str, str]:
        """An expression over aggregates and keys."""
        text, kind = self.rng.choice(aggregates)
        same = [t for t, k in keys + aggregates if k == kind] + [self.rng.choice(LITERALS[kind])]
        if kind == "int" and self.rng.random() < 0.5:
            return f"({text} + {self.rng.choice(same)})", kind
        return f"CASE WHEN COUNT(*) > 1 THEN {text} ELSE {self.rng.choice(same)} END", kind

    def window_over_groups(self, keys: Values, aggregates: Values) -> tuple[str, str]:
        numbers = [t for t, k in aggregates if k == "int"] or ["COUNT(*)"]
        partition = f"PARTITION BY {self.rng.choice(keys)[0]}" if self.rng.random() < 0.6 else ""
        return f"CAST(SUM({self.rng.choice(numbers)}) OVER ({partition}) AS BIGINT)", "int"

    def having(self, below: Sequence[Relation], scope: Scope, keys: Values, aggregates: Values) -> str:
        text, kind = self.rng.choice([("COUNT(*)", "int"), *keys, *aggregates])
        dice = self.rng.random()
        if dice < 0.15:
            scalar, found = self.scalar(below, [] if self.portable else _standing(scope, keys))
            return f"{scalar} IS NOT NULL" if found != kind else f"{text} >= {scalar}"
        if dice < 0.3:
            inside = self.inside(below)
            item = [full(*c) for c in inside[1] if c[1].kind == kind]
            if item:
                negated = self.rng.choice(["", "NOT "])
                return f"{text} {negated}IN (SELECT {self.rng.choice(item)} FROM {inside[0]})"
        if dice < 0.5:
            return f"{text} IS {self.rng.choice(['', 'NOT '])}NULL"
        if kind in ("arr", "row"):
            return f"{text} IS NOT NULL"
        return f"{text} {self.rng.choice(['>', '>=', '<>', '<=', '='])} {self.rng.choice(LITERALS[kind])}"

    # windows

    def windowed(self, below: Sequence[Relation]) -> Query:
        """``SELECT …, f() OVER (…) … QUALIFY …``."""
        source = self.from_clause(below, 2, True)
        if not source.scope.columns:
            return self.grouped(below)
        writer = Expressions(self.rng, source.scope)
        where = self.where(writer, source)
        bare = [(full(a, c), c.kind) for a, c in source.scope.columns]
        plain = self.rng.sample(bare, k=min(len(bare), self.rng.randint(1, 3)))
        windows = [self.window(writer) for _ in range(self.rng.choice([1, 1, 2]))]
        text = f"SELECT {{}}{source.text}{where}"
        if self.rng.random() < 0.3:
            function, kind = self.rng.choice([*windows, self.window(writer)])
            literal = self.rng.choice(LITERALS[kind])
            test = f"{function} {self.rng.choice(['=', '<=', '>'])} {literal}"
            if kind in ("arr", "row"):
                test = f"{function} IS NOT NULL"
            text += f" QUALIFY {test}"
            if self.portable:
                return self.filtered_by_window(source, where, plain, test)
        items, columns = self.named(plain + windows)
        return Query(text.replace("{}", items, 1), columns, source.size)

    def filtered_by_window(self, source: From, where: str, plain: Values, test: str) -> Query:
        """QUALIFY for an engine without it."""
        items, columns = self.named([*plain, (f"({test})", "bool")])
        alias, kept = self.alias(), columns[:-1]
        shown = ", ".join(full(alias, c) for c in kept)
        inner = f"(SELECT {items}{source.text}{where}) AS {alias}"
        return Query(f"SELECT {shown} FROM {inner} WHERE {full(alias, columns[-1])}", kept, source.size)

    def window(self, writer: Expressions) -> tuple[str, str]:
        """A window function; ordered ones by all columns there are."""
        partition = [self.key(writer)[0] for _ in range(self.rng.choice([0, 1, 1, 2]))]
        by = f"PARTITION BY {', '.join(partition)}" if partition else ""
        places = list(writer.scope.columns)
        self.rng.shuffle(places)
        order = "ORDER BY " + ", ".join(f"{in_order(*p)} {self.direction()}" for p in places)
        frame = self.rng.choice(
            [
                "",
                "",
                " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
                " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                " ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
            ]
        )
        over, ordered = f"({by})", f"({by}{' ' if by else ''}{order})"
        framed = ordered[:-1] + frame + ")"
        alias, column = self.rng.choice(writer.scope.columns)
        numbers = writer.present("int", "dec")
        number, compared = writer.column(numbers) or "1", writer.present(*COMPARED)
        numbers = numbers if number != "1" else "int"
        extreme = f"{self.rng.choice(['MIN', 'MAX'])}({writer.of(compared, 0)})"
        few = ", ".join(f"{in_order(*p)} {self.direction()}" for p in places[:1])
        choices = [
            (f"ROW_NUMBER() OVER {ordered}", "int"),
            (f"ROW_NUMBER() OVER {ordered}", "int"),
            (f"RANK() OVER ({by} ORDER BY {few})", "int"),
            (f"DENSE_RANK() OVER ({by} ORDER BY {few})", "int"),
            (f"NTILE(2) OVER {ordered}", "int"),
            (f"LAG({full(alias, column)}) OVER {ordered}", column.kind),
            (f"LEAD({full(alias, column)}, 2) OVER {ordered}", column.kind),
            (f"FIRST_VALUE({full(alias, column)}) OVER {framed}", column.kind),
            (f"LAST_VALUE({full(alias, column)}) OVER {framed}", column.kind),
            (f"COUNT(*) OVER {over}", "int"),
            (f"COUNT({full(alias, column)}) OVER {framed}", "int"),
            (f"SUM({number}) OVER {over}", numbers),
            (f"SUM({number}) OVER {framed}", numbers),
            (f"SUM({number}) OVER ({by} ORDER BY {few})", numbers),
            (f"{extreme} OVER {over}", compared),
            (f"{extreme} OVER {framed}", compared),
        ]
        text, kind = self.rng.choice(choices)
        return settled(text, kind), kind

    # subqueries

    def with_subquery(self, below: Sequence[Relation]) -> Query:
        """A SELECT with subqueries in WHERE, in its list, or both."""
        source = self.from_clause(below, 2, True)
        writer = Expressions(self.rng, source.scope)
        where = self.where(writer, source)
        place = self.rng.choice(["where", "where", "where", "list", "both"])
        if place != "list":
            for _ in range(self.rng.choice([1, 1, 1, 2])):
                where += f"{' AND' if where else ' WHERE'} {self.subquery_condition(below, source.scope)}"
        values = [(writer.of(k), k) for k in self.kinds(source.scope)]
        if place != "where":
            if self.portable or self.rng.random() < 0.6:
                values.append(self.scalar(below, source.scope.columns))
            else:
                values.append((f"({self.subquery_test(below, source.scope)})", "bool"))
        items, columns = self.named(values)
        return Query(f"SELECT {items}{source.text}{where}", columns, source.size)

    def subquery_condition(self, below: Sequence[Relation], scope: Scope) -> str:
        """A condition with a subquery, by itself or inside OR, NOT and CASE."""
        test, dice = self.subquery_test(below, scope), self.rng.random()
        if dice < 0.7:
            return test
        other = Expressions(self.rng, Scope(scope.columns)).condition(1)
        if dice < 0.9:
            return f"({test} OR {other})"
        return f"NOT ({test})" if dice < 0.95 else f"CASE WHEN {other} THEN {test} ELSE TRUE END"

    def subquery_test(self, below: Sequence[Relation], scope: Scope) -> str:
        negated = self.rng.choice(["", "NOT "])
        kind = self.rng.choice(["exists", "exists", "in", "in", "scalar"])
        if kind == "scalar":
            text, found = self.scalar(below, scope.columns)
            mine = [full(*c) for c in scope.columns if c[1].kind == found]
            if not mine:
                return f"{text} IS {negated}NULL"
            return f"{self.rng.choice(mine)} {self.rng.choice(['=', '<>', '<', '>=', '<=>'])} {text}"
        source, own = self.inside(below)
        pairs = [(a, b) for a in scope.columns for b in own if a[1].kind == b[1].kind]
        if kind == "in" and pairs:
            mine_, item = self.rng.choice(pairs)
            operand = Expressions(self.rng, Scope([mine_])).of(mine_[1].kind, 1)
            where = self.correlation(scope.columns, own) if self.rng.random() < 0.35 else ""
            return f"{operand} {negated}IN (SELECT {full(*item)} FROM {source}{where})"
        where = self.correlation(scope.columns, own) if self.rng.random() < 0.85 else ""
        if self.portable or self.rng.random() < 0.85:
            return f"{negated}EXISTS (SELECT 1 FROM {source}{where})"
        key = full(*self.rng.choice(own))
        return f"{negated}EXISTS (SELECT {key} FROM {source}{where} GROUP BY {key} HAVING COUNT(*) > 1)"

    def scalar(self, below: Sequence[Relation], around: list[tuple[str, Column]]) -> tuple[str, str]:
        """``(SELECT aggregate …)``, often about columns of the query around it."""
        source, own = self.inside(below)
        text, kind = self.aggregate(Expressions(self.rng, Scope(own)))
        if self.rng.random() < 0.15 and kind == "int":
            text = f"({text} + 1)"
        elif self.rng.random() < 0.2:
            text = f"COALESCE({text}, {self.rng.choice(LITERALS[kind])})"
        where = self.correlation(around, own) if around and self.rng.random() < 0.75 else ""
        return f"(SELECT {text} FROM {source}{where})", kind

    def inside(self, below: Sequence[Relation]) -> tuple[str, list[tuple[str, Column]]]:
        """What a subquery reads."""
        alias, relation = self.source(below, True)
        return self.aliased(relation, alias), [(alias, c) for c in relation.columns]

    def correlation(self, around: list[tuple[str, Column]], own: list[tuple[str, Column]]) -> str:
        """The WHERE of a subquery: mostly equalities with the query around it."""
        same = self.equalities(around + own, own)
        if same is not None and (self.portable or self.rng.random() < 0.7):
            return f" WHERE {same}"
        if self.portable:
            return f" WHERE {Expressions(self.rng, Scope(own)).lenient(1)}"
        return f" WHERE {self.linking(Scope(around + own), own)}"


def full(alias: str, column: Column) -> str:
    return f"{quote(alias)}.{quote(column.name)}"


def in_order(alias: str, column: Column) -> str:
    """What rows are put in order by; for the oracle a key, where a NULL inside would be the greatest for DuckDB."""
    name, key = full(alias, column), order_key(alias, column)
    return name if name == key else twofold(name, key)


def order_key(alias: str, column: Column) -> str:
    """What the oracle puts rows in order by."""
    name = full(alias, column)
    if column.kind == "arr":
        return f"TRANSFORM({name}, item -> STRUCT(item IS NOT NULL AS there, item AS item))"
    if column.kind == "row":
        fields = ", ".join(f"{name}.{f} IS NOT NULL AS {f}0, {name}.{f} AS {f}1" for f in "ab")
        return f"CASE WHEN {name} IS NOT NULL THEN STRUCT({fields}) END"
    return name


def settled(text: str, kind: str) -> str:
    """An aggregate or window function in the type both engines are to give it."""
    types = {"int": "BIGINT", "dec": "DECIMAL(24,4)", "dbl": "DOUBLE"}
    return f"CAST({text} AS {types[kind]})" if kind in types else text


def _standing(scope: Scope, keys: Values) -> list[tuple[str, Column]]:
    """The columns that are keys as they are: what a subquery over groups may use."""
    texts = {k for k, _ in keys}
    return [c for c in scope.columns if full(*c) in texts]
