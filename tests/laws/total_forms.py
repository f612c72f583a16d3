"""Writes totals, aggregates without GROUP BY, at every place of a subquery, and windows that build on others.

A total has one row, also over no rows; with HAVING it has one or none.  DuckDB loses that row in several places, so the
oracle asks by scalar subqueries without HAVING, of which its answers are right:

    x IN (SELECT agg … HAVING c)        CASE WHEN (SELECT c …) THEN x = (SELECT agg …) ELSE FALSE END

Windows name each other, number rows in frames that are written out, and pick values of frames of values: those only
where ties do not matter, since the oracle breaks them as they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.laws.expressions import Expressions, Scope
from tests.laws.forms import Forms
from tests.laws.keyed_writer import LARGEST, Values, full, in_order, settled
from tests.laws.schema import Column
from tests.laws.twofold import twofold
from tests.laws.views import Query, Relation

_Columns = list[tuple[str, Column]]

_UP_TO_HERE = "BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


@dataclass(slots=True)
class TotalForms(Forms):
    """Adds totals and windows to the forms of the base class."""

    _windows: list[str] | None = field(init=False, default=None)
    """What the SELECT that is being written has in its WINDOW clause; None where it cannot have one."""

    # totals

    def subquery_test(self, below: Sequence[Relation], scope: Scope) -> str:
        if not scope.columns or self.rng.random() > 0.3:
            return Forms.subquery_test(self, below, scope)
        return self.total_test(below, scope)

    def scalar(self, below: Sequence[Relation], around: _Columns) -> tuple[str, str]:
        if not around or self.rng.random() > 0.3:
            return Forms.scalar(self, below, around)
        source, own, where = self.total_source(below, around)
        value, kind = self.aggregate(Expressions(self.rng, Scope(own)))
        having = self.having_of_total(own)
        said = f"(SELECT {value} FROM {source}{where} HAVING {having})"
        return twofold(said, f"CASE WHEN {_asked(having, source, where)} THEN {_asked(value, source, where)} END"), kind

    def total_source(self, below: Sequence[Relation], around: _Columns) -> tuple[str, _Columns, str]:
        source, own = self.inside(below)
        return source, own, self.correlation(around, own)

    def having_of_total(self, own: _Columns) -> str:
        """A condition on a total that no row, one row or several may meet."""
        some = full(*self.rng.choice(own))
        return self.rng.choice(
            [
                "COUNT(*) = 0",
                "COUNT(*) > 0",
                "COUNT(*) <> 1",
                f"COUNT({some}) < 2",
                f"NOT COUNT({some}) = 1",
                twofold("1 < 2", "COUNT(*) >= 0"),
            ]
        )

    def total_test(self, below: Sequence[Relation], scope: Scope) -> str:
        """EXISTS, IN, ANY or ALL of a total."""
        source, own, where = self.total_source(below, scope.columns)
        writer = Expressions(self.rng, Scope(own))
        value, kind = self.aggregate(writer)
        having = self.having_of_total(own) if self.rng.random() < 0.6 else ""
        holds = f"COALESCE({_asked(having, source, where)}, FALSE)" if having else "TRUE"
        said = f"SELECT {value} FROM {source}{where}{f' HAVING {having}' if having else ''}"
        negated = self.rng.choice(["", "NOT "])
        mine = [full(*c) for c in scope.columns if c[1].kind == kind and kind not in ("arr", "row")]
        dice = self.rng.random()
        if not mine or dice < 0.4:
            if dice < 0.15 and not self.portable:
                said = f"SELECT 1 FROM ({said.replace(value, f'{value} AS kept', 1)}) AS {self.alias()}"
            return twofold(f"{negated}EXISTS ({said})", f"({negated}{holds})")
        operand, answer = self.rng.choice(mine), _asked(value, source, where)
        if self.portable or dice < 0.75:
            inside = f"CASE WHEN {holds} THEN {operand} = {answer} ELSE FALSE END"
            return twofold(f"{operand} {negated}IN ({said})", f"({negated}{inside})")
        operator = self.rng.choice(["=", "<>", "<", "<=", ">", ">="])
        quantifier, otherwise = self.rng.choice([("ANY", "FALSE"), ("ALL", "TRUE")])
        inside = f"CASE WHEN {holds} THEN {operand} {operator} {answer} ELSE {otherwise} END"
        return twofold(f"{operand} {operator} {quantifier} ({said})", f"({inside})")

    def about(self, around: _Columns, relation: Relation, alias: str) -> Query:
        """At times a LATERAL total with HAVING."""
        if not around or self.rng.random() > 0.25:
            return Forms.about(self, around, relation, alias)
        own = [(alias, c) for c in relation.columns]
        source, where = self.aliased(relation, alias), self.correlation(around, own)
        having = self.having_of_total(own)
        items, columns = self.named([self.aggregate(Expressions(self.rng, Scope(own)))])
        return Query(f"SELECT {items} FROM {source}{where} HAVING {having}", columns, 1)

    # windows

    def windowed(self, below: Sequence[Relation]) -> Query:
        """At times with a WINDOW clause."""
        self._windows = [] if self.rng.random() < 0.35 else None
        query = Forms.windowed(self, below)
        named, self._windows = self._windows, None
        if not named or " QUALIFY " in query.text or query.size > LARGEST or not query.text.startswith("SELECT "):
            return query if not named else Forms.windowed(self, below)
        return Query(f"{query.text} WINDOW {', '.join(named)}", query.columns, query.size)

    def window(self, writer: Expressions) -> tuple[str, str]:
        if self.rng.random() < 0.35:
            return self.framed(writer)
        text, kind = Forms.window(self, writer)
        before, over, after = text.partition(" OVER (")
        inside, _, rest = after.partition(")")
        nested = "(" in inside or not over
        if self._windows is None or nested or self.rng.random() < 0.3:
            return text, kind
        return f"{before} OVER {self.named_window(inside)}{rest}", kind

    def named_window(self, inside: str) -> str:
        """A window by a name, which may take something or everything over from another."""
        assert self._windows is not None
        name = f"w{len(self._windows)}"
        partition, order, frame = inside.partition("ORDER BY")
        form = self.rng.choice(["plain", "again", "again", "added", "added"])
        if form == "added" and partition.strip() and order:
            self._windows.append(f"{name} AS ({partition.strip()})")
            return f"({name} {order}{frame})"
        self._windows.append(f"{name} AS ({inside})")
        if form == "again":
            self._windows.insert(
                self.rng.choice([0, len(self._windows)]), twofold(f"{name}b AS {name}", f"{name}b AS ({inside})")
            )
            return f"{name}b"
        return name

    def framed(self, writer: Expressions) -> tuple[str, str]:
        """Ranks with their frame, and values of frames that do not depend on ties."""
        partition = [self.key(writer)[0] for _ in range(self.rng.choice([0, 1, 1]))]
        by = f"PARTITION BY {', '.join(partition)} " if partition else ""
        places = list(writer.scope.columns)
        self.rng.shuffle(places)
        few = f"{in_order(*places[0])} {self.direction()}"
        total = "ORDER BY " + ", ".join(f"{in_order(*p)} {self.direction()}" for p in places)
        alias, column = self.rng.choice(writer.scope.columns)
        value = full(alias, column)
        rows = self.rng.choice(
            [
                "",
                " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                f" ROWS {_UP_TO_HERE}",
                " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
            ]
        )
        pick = self.rng.choice(["FIRST_VALUE({})", "LAST_VALUE({})", "NTH_VALUE({}, 2)"])
        nulls = self.rng.choice(["", " IGNORE NULLS"])
        choices: Values = [
            (f"RANK() OVER ({by}ORDER BY {few} ROWS {_UP_TO_HERE})", "int"),
            (f"DENSE_RANK() OVER ({by}ORDER BY {few} ROWS {_UP_TO_HERE})", "int"),
            (f"PERCENT_RANK() OVER ({by}ORDER BY {few} ROWS {_UP_TO_HERE})", "dbl"),
            (f"CUME_DIST() OVER ({by}ORDER BY {few} RANGE {_UP_TO_HERE})", "dbl"),
            (f"{pick.format(value)} IGNORE NULLS OVER ({by}{total}{rows})", column.kind),
            (f"LAG({value}) IGNORE NULLS OVER ({by}{total})", column.kind),
            (f"{pick.format(full(*places[0]))}{nulls} OVER ({by}ORDER BY {few})", places[0][1].kind),
        ]
        number = writer.column("int")
        if number is not None:
            distance = f"CAST({number} AS BIGINT)"
            spans = ["1 PRECEDING AND CURRENT ROW", "1 PRECEDING AND 1 FOLLOWING", "CURRENT ROW AND 2 FOLLOWING"]
            span = self.rng.choice([*spans, "2 PRECEDING AND 1 PRECEDING"])
            ranged = f"ORDER BY {distance} RANGE BETWEEN {span}"
            choices += [(f"{pick.format(distance)}{nulls} OVER ({by}{ranged})", "int")] * 3
            choices.append((f"COUNT(*) OVER ({by}{ranged})", "int"))
        text, kind = self.rng.choice(choices)
        return settled(text, kind), kind


def _asked(value: str, source: str, where: str) -> str:
    """A value of a total, by a scalar subquery."""
    return f"(SELECT {value} FROM {source}{where})"
