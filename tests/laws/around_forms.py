"""Writes subqueries that take more than columns from the query around them, and what stands for other forms.

- aggregates of the query around, in subqueries of its list and of HAVING: the oracle groups in FROM first, and asks
  the subqueries over the groups;
- grouping sets of columns of the query around: the oracle has a query per set;
- WITH in a subquery that uses the query around it: the oracle has the query in FROM;
- stars inside expressions, types as functions, ``range``, UNNEST and ``explode`` in FROM, ``json_tuple``, ``max_by`` of
  several, ``grouping`` of a subquery: each is written out.

Of the forms with aggregates of the query around Spark reads only some: portable cases go without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.laws.expressions import Expressions, Scope
from tests.laws.keyed_writer import COMPARED, full, settled
from tests.laws.schema import Column
from tests.laws.total_forms import TotalForms
from tests.laws.twofold import sides, twofold
from tests.laws.views import Query, Relation

_Columns = list[tuple[str, Column]]


@dataclass(slots=True)
class AroundForms(TotalForms):
    """Adds these forms to those of the base class."""

    def forms(self) -> list[Callable[[Sequence[Relation]], Query]]:
        more = [] if self.portable else [self.asked_of_groups, self.asked_of_groups, self.sets_around]
        return [*TotalForms.forms(self), self.written_out, *more]

    # aggregates of the query around

    def asked_of_groups(self, below: Sequence[Relation]) -> Query:
        """Subqueries with aggregates of the grouped query around them."""
        source = self.from_clause(below, 2, True)
        if not source.scope.columns or source.wheres:
            return self.grouped(below)
        writer, groups = Expressions(self.rng, Scope(source.scope.columns)), self.alias()
        where = self.where(writer, source)
        keys = [self.key(writer) for _ in range(self.rng.choice([0, 1, 1, 2]))]
        totals = [self.total_of(writer) for _ in range(self.rng.choice([1, 2]))]
        computed = [*((t, k, f"k{n}") for n, (t, k) in enumerate(keys))]
        computed += [(t, k, f"a{n}") for n, (t, k) in enumerate(totals)]
        over = [(twofold(text, f"{groups}.{name}"), kind) for text, kind, name in computed]
        values = [*over[: len(keys)], self.asked_value(below, over[len(keys) :])]
        items, columns = self.named(values)
        by = f" GROUP BY {', '.join(dict.fromkeys(t for t, _ in keys))}" if keys else ""
        test = self.asked_test(below, over[len(keys) :]) if self.rng.random() < 0.5 else ""
        inner = ", ".join(f"{text} AS {name}" for text, _, name in computed)
        view = f"{source.text}{where}{by}{f' HAVING {test}' if test else ''}"
        oracle = f" FROM (SELECT {inner}{source.text}{where}{by}) AS {groups}{f' WHERE {test}' if test else ''}"
        return Query(f"SELECT {items}{twofold(view, oracle)}", columns, min(source.size, 10) if keys else 1)

    def total_of(self, writer: Expressions) -> tuple[str, str]:
        """An aggregate that mentions a column."""
        for _ in range(6):
            text, kind = self.aggregate(writer)
            if any(full(*c) in sides(text)[0] for c in writer.scope.columns):
                return text, kind
        column = self.rng.choice(writer.scope.columns)
        return settled(f"COUNT({full(*column)})", "int"), "int"

    def asked_value(self, below: Sequence[Relation], totals: list[tuple[str, str]]) -> tuple[str, str]:
        """A scalar subquery about an aggregate of the query around."""
        text, kind = self.rng.choice(totals)
        source, own = self.inside(below)
        value, found = self.aggregate(Expressions(self.rng, Scope(own)))
        match self.rng.choice(["alone", "where", "where", "derived", "nested"]):
            case "alone":
                return f"(SELECT {text})", kind
            case "derived":
                item = self.rng.choice(own)
                test = f"d.i {self.compared(kind)} d.m" if item[1].kind == kind else "NOT d.m IS NULL"
                rows = f"SELECT {full(*item)} AS i, {text} AS m FROM {source}"
                return f"(SELECT CAST(COUNT(*) AS BIGINT) FROM ({rows}) AS d WHERE {test})", "int"
            case "nested":
                again, others = self.inside(below)
                inner = f"SELECT 1 FROM {again} WHERE {self.about_total(others, text, kind)}"
                return f"(SELECT {value} FROM {source} WHERE EXISTS ({inner}))", found
            case _:
                return f"(SELECT {value} FROM {source} WHERE {self.about_total(own, text, kind)})", found

    def asked_test(self, below: Sequence[Relation], totals: list[tuple[str, str]]) -> str:
        """EXISTS, IN or a comparison, about an aggregate of the query around."""
        text, kind = self.rng.choice(totals)
        source, own = self.inside(below)
        negated = self.rng.choice(["", "NOT "])
        same = [full(*c) for c in own if c[1].kind == kind]
        if same and self.rng.random() < 0.4:
            return f"{text} {negated}IN (SELECT {self.rng.choice(same)} FROM {source})"
        return f"{negated}EXISTS (SELECT 1 FROM {source} WHERE {self.about_total(own, text, kind)})"

    def about_total(self, own: _Columns, text: str, kind: str) -> str:
        same = [full(*c) for c in own if c[1].kind == kind and kind in COMPARED]
        return f"{self.rng.choice(same)} {self.compared(kind)} {text}" if same else f"{text} IS NULL"

    def compared(self, kind: str) -> str:
        return self.rng.choice(["=", "<>"] if kind in ("arr", "row") else ["=", "<", "<=", ">", ">=", "<=>"])

    # grouping sets of what is around

    def sets_around(self, below: Sequence[Relation]) -> Query:
        """``LATERAL (SELECT … GROUP BY GROUPING SETS ((column around), ()))``."""
        alias, relation = self.source(below, True)
        source, own = self.inside(below)
        around = self.rng.choice([(alias, c) for c in relation.columns])
        kind, mine = around[1].kind, full(*around)
        where = self.correlation([(alias, c) for c in relation.columns], own) if self.rng.random() < 0.6 else ""
        value, found = self.aggregate(Expressions(self.rng, Scope(own)))
        outside, both = self.alias(), self.alias()
        items, columns = self.named([(mine, kind), (f"{outside}.k", kind), (f"{outside}.v", found)])
        sets = self.rng.choice([f"ROLLUP ({mine})", f"GROUPING SETS (({mine}), ())", f"CUBE ({mine})"])
        rows, named = f"FROM {source}{where}", self.aliased(relation, alias)
        view = (
            f"SELECT {items} FROM {named} CROSS JOIN LATERAL (SELECT {mine} AS k, {value} AS v {rows} GROUP BY {sets})"
        )
        lateral = f"FROM {named} CROSS JOIN LATERAL (SELECT {value} AS v, COUNT(*) AS n {rows}) AS {outside}"
        first = items.replace(f"{outside}.k", mine)
        second = items.replace(f"{outside}.k", f"CASE WHEN FALSE THEN {mine} END")
        some = f"{lateral} WHERE {outside}.n > 0"
        oracle = f"SELECT * FROM (SELECT {first} {some} union all SELECT {second} {some}) AS {both}"
        return Query(twofold(f"{view} AS {outside}", oracle), columns, 2 * relation.size)

    # forms that stand for others

    def written_out(self, below: Sequence[Relation]) -> Query:
        """A form beside what it stands for."""
        alias, relation = self.source(below, True)
        named = self.aliased(relation, alias)
        own = [(alias, c) for c in relation.columns]
        writer = Expressions(self.rng, Scope(own))
        arrays = [full(*c) for c in own if c[1].kind == "arr"]
        match self.rng.choice(["struct", "types", "range", "with", "several", "rows", "rows", "json", "grouping"]):
            case "struct" if all(c.kind not in ("arr", "row") for c in relation.columns):
                fields = ", ".join(f"'{_name(c)}', {full(alias, c)}" for c in relation.columns)
                test = twofold("STRUCT(*)", f"NAMED_STRUCT({fields})")
                chosen = self.rng.choice(own)
                items, columns = self.named([(full(*chosen), chosen[1].kind), (f"{test} IS NULL", "bool")])
                return Query(f"SELECT {items} FROM {named}", columns, relation.size)
            case "types":
                number = writer.of("int", 1)
                values = [
                    (twofold(f"BIGINT({number})", f"CAST({number} AS BIGINT)"), "int"),
                    (twofold(f"STRING({number})", f"CAST({number} AS STRING)"), "str"),
                ]
                items, columns = self.named(values)
                return Query(f"SELECT {items} FROM {named}", columns, relation.size)
            case "range":
                other, number = self.alias(), f"CAST({writer.of('int', 1)} AS BIGINT)"
                rows = twofold(f"RANGE(1, 4) AS {other} (i)", f"(VALUES (1), (2), (3)) AS {other} (i)")
                items, columns = self.named([(f"CAST({other}.i AS BIGINT)", "int"), self.aggregate(writer)])
                kind = self.rng.choice(["JOIN", "LEFT JOIN"])
                text = f"SELECT {items} FROM {rows} {kind} {named} ON {other}.i = {number} GROUP BY {other}.i"
                return Query(text, columns, 3)
            case "with":
                source, inside = self.inside(below)
                item, about = self.rng.choice(inside), self.correlation(own, inside)
                rows = f"SELECT {full(*item)} AS i FROM {source}{about}"
                count = "SELECT CAST(COUNT(i) AS BIGINT) FROM"
                value = twofold(f"(WITH c AS ({rows}) {count} c)", f"({count} ({rows}) AS c)")
                chosen = self.rng.choice(own)
                items, columns = self.named([(full(*chosen), chosen[1].kind), (value, "int")])
                return Query(f"SELECT {items} FROM {named}", columns, relation.size)
            case "rows" if arrays:
                return self.rows_of(relation, alias, self.rng.choice(arrays))
            case "json":
                number, made = f"CAST({writer.of('int', 1)} AS STRING)", self.alias()
                tuple_ = f"JSON_TUPLE(CONCAT('{{\"i\": ', {number}, '}}'), 'i', 'j')"
                view = f" LATERAL VIEW {tuple_} {made} AS i, j"
                oracle = f" CROSS JOIN LATERAL (SELECT {number} AS i, CAST(NULL AS STRING) AS j) AS {made}"
                items, columns = self.named([(f"{made}.i", "str"), (f"{made}.j", "str")])
                return Query(f"SELECT {items} FROM {named}{twofold(view, oracle)}", columns, relation.size)
            case "grouping" if not self.portable:
                return self.grouped_by_subquery(below, relation, alias)
            case _:
                return self.several(relation, alias, writer)

    def rows_of(self, relation: Relation, alias: str, array: str) -> Query:
        """UNNEST beside its rows, or a subquery that reads the elements of an array around it."""
        writer = Expressions(self.rng, Scope([(alias, c) for c in relation.columns]))
        made, named, (chosen, kind) = self.alias(), self.aliased(relation, alias), self.key(writer)
        if self.rng.random() < 0.5:
            rows = self.rng.choice([f"UNNEST({array})", f"LATERAL UNNEST({array})", f"LATERAL EXPLODE({array})"])
            items, columns = self.named([(chosen, kind), (f"{made}.x", "int")])
            lateral = f"LATERAL (SELECT EXPLODE({array}) AS x) AS {made}"
            joined = twofold(f"{rows} AS {made} (x)", lateral)
            return Query(f"SELECT {items} FROM {named} CROSS JOIN {joined}", columns, 2 * relation.size)
        view = f"(SELECT CAST(SUM({made}.x) AS BIGINT) FROM EXPLODE({array}) AS {made} (x))"
        items, columns = self.named([(chosen, kind), (twofold(view, f"CAST(LIST_SUM({array}) AS BIGINT)"), "int")])
        return Query(f"SELECT {items} FROM {named}", columns, relation.size)

    def grouped_by_subquery(self, below: Sequence[Relation], relation: Relation, alias: str) -> Query:
        """``GROUP BY ROLLUP ((SELECT …))`` and ``grouping`` of it."""
        value, kind = self.scalar(below, [(alias, c) for c in relation.columns])
        named, rows = self.aliased(relation, alias), self.alias()
        columns = (Column("k", kind), Column("g", "int"), Column("n", "int"))
        view = f"SELECT {value} AS k, {_grouping(value)}, COUNT(*) AS n FROM {named} GROUP BY ROLLUP ({value})"
        oracle = f"SELECT {rows}.k, {_grouping(f'{rows}.k')}, COUNT(*) AS n"
        oracle += f" FROM (SELECT {value} AS k FROM {named}) AS {rows} GROUP BY ROLLUP ({rows}.k) HAVING COUNT(*) > 0"
        return Query(twofold(view, oracle), columns, 4)

    def several(self, relation: Relation, alias: str, writer: Expressions) -> Query:
        """``max_by(x, y, 2)``."""
        key, value = self.key(writer), f"CAST({writer.of('int', 1)} AS INT)"
        by = writer.of(writer.present(*COMPARED), 0)
        function, down = self.rng.choice([("MAX_BY", True), ("MIN_BY", False)])
        direction = "DESC NULLS LAST" if down else "ASC NULLS FIRST"
        rows = f"LIST({value} ORDER BY {by} {direction}, {value} {direction}) FILTER (WHERE NOT {by} IS NULL)"
        if self.portable:
            row = f"NAMED_STRUCT('a', {by}, 'b', {value})"
            call = f"CAST({function}({value}, {row}, 2) AS ARRAY<INT>)"
        else:
            call = f"{function}({value}, {by}, 2)"
        items, columns = self.named([key, (twofold(call, f"LIST_SLICE({rows}, 1, 2)"), "arr")])
        return Query(f"SELECT {items} FROM {self.aliased(relation, alias)} GROUP BY {key[0]}", columns, 4)


def _grouping(of: str) -> str:
    return f"CAST(GROUPING({of}) AS BIGINT) AS g"


def _name(column: Column) -> str:
    return column.name.replace("'", "\\'")
