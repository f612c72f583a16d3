"""Writes the aggregates over an order and the conditions with ANY, ALL and rows.

The oracle's side differs where DuckDB does:

- collected arrays are in the order of the rows there: LIST_SORT gives the canonical one;
- of ``max_by`` and ``listagg`` it takes any of several rows: the oracle sorts the whole group;
- it compares rows by their structs, in which NULL equals NULL: the oracle says what IN means, column by column.

Spark's own answer to ``collect_list``, ``max_by`` and ``listagg`` depends on the order of rows
too.  Portable cases sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.laws.expressions import Expressions, Scope
from tests.laws.keyed_writer import COMPARED, KeyedWriter, full, settled
from tests.laws.schema import Column, quote
from tests.laws.twofold import twofold
from tests.laws.views import Relation

_Columns = list[tuple[str, Column]]


@dataclass(slots=True)
class NewValues(KeyedWriter):
    """Adds aggregates and subquery tests to those of the base class."""

    def aggregate(self, writer: Expressions) -> tuple[str, str]:
        if self.rng.random() > 0.32:
            return KeyedWriter.aggregate(self, writer)
        condition = writer.lenient(1) if self.rng.random() < 0.15 else ""
        form = self.rng.choice([self.collected, self.collected, self.listed, self.extreme, self.middle, self.truths])
        return form(writer, condition)

    def collected(self, writer: Expressions, condition: str) -> tuple[str, str]:
        """An array of all values, or of each once."""
        value = f"CAST({writer.of('int', 1)} AS INT)"
        function = self.rng.choice(["COLLECT_LIST({})", "COLLECT_SET({})", "ARRAY_AGG({})", "ARRAY_AGG(DISTINCT {})"])
        call = function.format(value) + _filter(condition)
        if self.portable or self.rng.random() < 0.3:
            call = f"SORT_ARRAY({call})"
        once = "DISTINCT " if function in ("COLLECT_SET({})", "ARRAY_AGG(DISTINCT {})") else ""
        rows = f"LIST({once}{value}){_filter(f'NOT {value} IS NULL', condition)}"
        return twofold(call, f"LIST_SORT(COALESCE({rows}, CAST(ARRAY() AS ARRAY<INT>)))"), "arr"

    def listed(self, writer: Expressions, condition: str) -> tuple[str, str]:
        """The texts of a group in one."""
        value, separator = writer.of("str", 1), self.rng.choice(["'-'", "''", "', '"])
        once = self.rng.choice(["", "", "DISTINCT "])
        call = f"{self.rng.choice(['LISTAGG', 'STRING_AGG'])}({once}{value}, {separator})"
        down = self.rng.choice([True, False])
        if self.portable or self.rng.random() < 0.5:
            call += f" WITHIN GROUP (ORDER BY {value}{' DESC' if down else ''})"
        else:
            down = False
        rows = f"LIST({once}{value}){_filter(f'NOT {value} IS NULL', condition)}"
        ordered = f"LIST_REVERSE_SORT({rows})" if down else f"LIST_SORT({rows})"
        return twofold(call + _filter(condition), f"ARRAY_TO_STRING({ordered}, {separator})"), "str"

    def extreme(self, writer: Expressions, condition: str) -> tuple[str, str]:
        """The value beside the greatest or the least."""
        kind = writer.present(*COMPARED)
        value, by = writer.of(kind, 0), writer.of(writer.present(*COMPARED), 0)
        function, down = self.rng.choice([("MAX_BY", True), ("MIN_BY", False)])
        if self.portable:  # Spark takes any of several rows, so there is one
            return f"{function}({value}, NAMED_STRUCT('a', {by}, 'b', {value})){_filter(condition)}", kind
        direction = "DESC NULLS LAST" if down else "ASC NULLS FIRST"
        rows = f"LIST({value} ORDER BY {by} {direction}, {value} {direction})"
        first = f"({rows}{_filter(f'NOT {by} IS NULL', condition)})[0]"
        return twofold(f"{function}({value}, {by}){_filter(condition)}", first), kind

    def middle(self, writer: Expressions, condition: str) -> tuple[str, str]:
        """Percentiles.  At quarters of small numbers floats are exact, however the arithmetic goes."""
        value, at = writer.of(writer.present("int", "dec"), 1), self.rng.choice(["0.25", "0.5", "0.75", "1"])
        where, ordered = _filter(condition), f"WITHIN GROUP (ORDER BY {value})"
        exact = f"QUANTILE_CONT(CAST({value} AS DOUBLE), {at}){where}"
        call, oracle = self.rng.choice(
            [
                (f"PERCENTILE({value}, {at})", exact),
                (f"PERCENTILE_CONT({at}) {ordered}", exact),
                (f"PERCENTILE_DISC({at}) {ordered}", f"QUANTILE_DISC({value}, {at}){where}"),
                (f"MEDIAN({value})", f"QUANTILE_CONT(CAST({value} AS DOUBLE), 0.5){where}"),
            ]
        )
        return settled(twofold(call + where, oracle), "dbl"), "dbl"

    def truths(self, writer: Expressions, condition: str) -> tuple[str, str]:
        value, where = f"({writer.condition(1)})", _filter(condition)
        call, oracle = self.rng.choice([("ANY", "BOOL_OR"), ("SOME", "BOOL_OR"), ("EVERY", "BOOL_AND")])
        return twofold(f"{call}({value}){where}", f"{oracle}({value}){where}"), "bool"

    # conditions

    def subquery_test(self, below: Sequence[Relation], scope: Scope) -> str:
        dice = self.rng.random()
        if dice > 0.35:
            return KeyedWriter.subquery_test(self, below, scope)
        source, own = self.inside(below)
        pairs = [(a, b) for a in scope.columns for b in own if a[1].kind == b[1].kind]
        if pairs and dice < 0.13 and not self.portable:
            return self.quantified(scope.columns, source, own, pairs)
        if pairs and dice < 0.25:
            return self.row_in(scope.columns, source, own, pairs)
        return self.exists_by_inequality(source, own, scope.columns)

    def quantified(
        self, around: _Columns, source: str, own: _Columns, pairs: list[tuple[tuple[str, Column], tuple[str, Column]]]
    ) -> str:
        """``x > ALL (SELECT …)``.  Spark has no such thing."""
        (mine, item), where = self.rng.choice(pairs), ""
        if self.rng.random() < 0.5:
            where = self.correlation(around, own)
        plain = mine[1].kind in ("arr", "row")
        operator = self.rng.choice(["=", "<>"] if plain else ["=", "<>", "<", "<=", ">", ">="])
        quantifier = self.rng.choice(["ANY", "ALL", "SOME"])
        said = f"SELECT {full(*item)} FROM {source}{where}"
        return twofold(
            f"{full(*mine)} {operator} {quantifier} ({said})",
            f"{full(*mine)} {operator} {quantifier.replace('SOME', 'ANY')} ({said})",
        )

    def row_in(
        self, around: _Columns, source: str, own: _Columns, pairs: list[tuple[tuple[str, Column], tuple[str, Column]]]
    ) -> str:
        """``(a, b) IN (SELECT x, y …)``."""
        chosen = self.rng.sample(pairs, k=min(2, len(pairs)))
        chosen = chosen * 2 if len(chosen) < 2 else chosen
        negated = self.rng.choice(["", "NOT "])
        where = self.correlation(around, own) if self.rng.random() < 0.3 else ""
        mine = ", ".join(full(*m) for m, _ in chosen)
        items = ", ".join(f"{full(*i)} AS {quote('ij'[n])}" for n, (_, i) in enumerate(chosen))
        equal = " AND ".join(f"{full(*m)} = {full(*i)}" for m, i in chosen)
        # DuckDB's own answer to TRUE IN (SELECT a = x AND b = y …) is wrong where they are arrays.
        some = f"EXISTS (SELECT 1 FROM (SELECT ({equal}) AS `equal` FROM {source}{where}) AS e WHERE e.`equal`"
        inside = f"CASE WHEN {some}) THEN TRUE WHEN {some} IS NULL) THEN NULL ELSE FALSE END"
        return twofold(f"({mine}) {negated}IN (SELECT {items} FROM {source}{where})", f"({negated}{inside})")

    def exists_by_inequality(self, source: str, own: _Columns, around: _Columns) -> str:
        """EXISTS about what is less or greater, at times in the FROM of the subquery."""
        negated = self.rng.choice(["", "NOT "])
        pairs = [(a, b) for a in around for b in own if a[1].kind == b[1].kind and a[1].kind in COMPARED]
        if not pairs:
            return f"{negated}EXISTS (SELECT 1 FROM {source})"
        (mine, item), operator = self.rng.choice(pairs), self.rng.choice(["<", "<=", ">", ">=", "<>"])
        test = f"{full(*item)} {operator} {full(*mine)}"
        if self.rng.random() < 0.4:
            more = self.equalities(around + own, own)
            test += f" AND {more}" if more else ""
        if self.portable or self.rng.random() < 0.7:
            return f"{negated}EXISTS (SELECT 1 FROM {source} WHERE {test})"
        alias = self.alias()
        kept = f"(SELECT {full(*item)} AS kept FROM {source} WHERE {test}) AS {alias}"
        return f"{negated}EXISTS (SELECT 1 FROM {kept} WHERE NOT {alias}.kept IS NULL)"


def _filter(*conditions: str) -> str:
    """FILTER with the conditions that say something."""
    said = [c for c in conditions if c]
    return f" FILTER (WHERE {' AND '.join(said)})" if said else ""
