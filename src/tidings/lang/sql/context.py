"""What every part of the binder needs: the text, the catalog, the analyzer, and aliases no two nodes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from tidings.analysis.functions import written_name
from tidings.analysis.spark_functions import DETERMINED, is_spark_function
from tidings.errors import (
    InvalidExpression,
    Place,
    SparkNeeded,
    UnknownFunction,
    UnsupportedConstruct,
    UnsupportedType,
)
from tidings.ir import types
from tidings.ir.expression import Expression, column, show, substitute, typed_null
from tidings.ir.relation import Column, Field
from tidings.lang.sql.parse import place

if TYPE_CHECKING:
    from tidings.lang.sql.table_operator import TableOperator


class Namespace(Protocol):
    """What the binder asks about relations: their names and columns."""

    def names(self) -> list[str]: ...

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        """The relation's name as declared and its columns, or None."""


@dataclass(frozen=True, slots=True)
class ExtendedNamespace:
    """A namespace with a few more relations, which hide those of the same name."""

    namespace: Namespace
    more: Mapping[str, tuple[Column, ...]]

    def names(self) -> list[str]:
        return [*self.namespace.names(), *self.more]

    def columns(self, relation: str) -> tuple[str, tuple[Column, ...]] | None:
        name = next((n for n in self.more if n.lower() == relation.lower()), None)
        return self.namespace.columns(relation) if name is None else (name, self.more[name])


class Analyzer(Protocol):
    """Names and types of a query over typed stand-ins; raises :class:`AnalysisFailed`."""

    def analyze(self, query: exp.Query) -> tuple[Column, ...]: ...

    def names(self, text: str, relations: Mapping[str, tuple[Column, ...]]) -> tuple[str, ...] | None:
        """The output names of a query's own text over relations, where the engine speaks Spark's SQL itself."""

    def is_added(self, name: str) -> bool:
        """Whether a user has added a function of this name."""

    def operator(self, name: str) -> TableOperator | None:
        """The operator of a user by this name, if there is one."""

    def session_columns(self, name: str) -> tuple[Column, ...] | None:
        """The columns of a view or table that the user's session has by this name, if there is one."""


class AnalysisFailed(Exception):
    """The analyzer's verdict on a query, in one sentence, with the fragment it blames."""

    def __init__(self, reason: str, fragment: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fragment = fragment


class SparkAlone(AnalysisFailed):
    """An expression that only Spark evaluates, where the analyzer is another."""

    def __init__(self, node: Expression) -> None:
        super().__init__(show(node))
        self.node = node


@dataclass(slots=True)
class Context:
    """One binding: of one query, from one text."""

    text: str
    namespace: Namespace
    analyzer: Analyzer
    reads_session: bool = False
    """Whether the query may read what the user's session has."""
    used: set[str] = field(default_factory=set)
    _numbers: dict[str, int] = field(init=False, default_factory=dict)
    """For names that were preferred and taken, a number below which all are."""

    def place(self, node: Expression) -> Place | None:
        return place(self.text, node)

    def alias(self, preferred: str) -> str:
        """An alias no other node of the plan has."""
        name = self.fresh(preferred)
        self.used.add(name.lower())
        return name

    def fresh(self, preferred: str) -> str:
        """A name that is free, not yet taken."""
        if preferred.lower() not in self.used:
            return preferred
        number = self._numbers.get(preferred, 2)
        while f"{preferred}_{number}".lower() in self.used:
            number += 1
        self._numbers[preferred] = number
        return f"{preferred}_{number}"

    def analyze(self, query: exp.Query, node: Expression) -> tuple[Column, ...]:
        """The analyzer's word on a query; ``node`` is what it stands for in the text."""
        try:
            columns = self.analyzer.analyze(query)
            for column in columns:
                if column.type != types.VOID:  # a NULL, whose type other branches of a union may give
                    types.parse(column.type)  # an engine may have types that nothing here can hold
            return columns
        except UnsupportedType as unsupported:
            raise UnsupportedType(self.place(node), type=unsupported.parameters["type"]) from None
        except SparkAlone as alone:
            raise SparkNeeded(self.place(alone.node) or self.place(node), expression=str(alone)) from None
        except AnalysisFailed as failed:
            at = self.place(node)
            if failed.fragment and (start := self.text.find(failed.fragment, at.start if at else 0)) >= 0:
                at = Place(self.text, start, start + len(failed.fragment))
            raise InvalidExpression(at, reason=failed.reason) from None

    def types(self, expressions: list[Expression], fields: tuple[Field, ...], node: Expression) -> list[str]:
        """The types of bound expressions over the columns of a plan."""
        if not expressions:
            return []
        flat = {f.ref: column("r", f"{f.alias}.{f.name}") for f in fields}
        nulls = [typed_null(f.type).as_(f"{f.alias}.{f.name}", quoted=True) for f in fields]
        nothing = [exp.Literal.number(1).as_("one")]
        source = exp.select(*(nulls or nothing)).subquery(exp.to_identifier("r", quoted=True))
        items = [substitute(e, flat).copy().as_(f"c{n}") for n, e in enumerate(expressions)]
        return [c.type for c in self.analyze(exp.select(*items).from_(source), node)]

    def check_type(self, node: Expression) -> None:
        """Refuse a type that would be taken for another one."""
        if isinstance(node, exp.DataType) and node.this in types.NOT_OF_SPARK:
            raise UnsupportedType(self.place(node) or self.place(node.parent or node), type=types.canonical(node))

    def check_function(self, call: Expression) -> None:
        """Refuse a call of a function that neither Spark nor a user has.

        What makes rows in FROM is bound elsewhere, and ``__`` begins names of our own.
        """
        name = written_name(call)
        makes_rows = isinstance(call.parent, exp.Lateral) or isinstance(
            call.find_ancestor(exp.Table, exp.Query), exp.Table
        )
        if name is None or makes_rows or name.startswith("__"):
            return
        if is_spark_function(name) or self.analyzer.is_added(name):
            return
        close = get_close_matches(name.lower(), DETERMINED, n=1)
        hint = f"did you mean {close[0]}?" if close else "functions are those of Spark 4.3, and those of @db.function"
        raise UnknownFunction(self.place(call), hint, name=name)

    def unsupported(self, construct: str, node: Expression, hint: str | None = None) -> UnsupportedConstruct:
        """A refusal by name; its hint says what to write instead, where that is known."""
        at = self.place(node) or (self.place(node.parent) if node.parent is not None else None)
        return UnsupportedConstruct(at, hint or _HINTS.get(construct, _HINT), construct=construct)

    def no_table_function(self, node: Expression) -> UnsupportedConstruct:
        """A refusal of a function in FROM that makes no rows of what is given to it."""
        name = written_name(node.this) or node.this.key
        return self.unsupported(f"the table function {name.lower()}()", node, _TABLE_FUNCTIONS)


_HINT = "docs/sql.md lists what a view may be built from"
_TABLE_FUNCTIONS = (
    "in FROM there are range, explode, posexplode, inline, stack, json_tuple, their _outer forms and UNNEST"
)
_HINTS = {
    "CHANGES": "ask for it by db.query(…), or read it in the condition of a rule",
    "a subquery or condition on time over both sides of such a join": "join by ON, without columns that are maps",
    "several time windows in one SELECT": "group by one in a subquery in FROM, and by the other over it",
    "session_window() in several grouping sets": "group by the session alone, and by more over it",
    "LIMIT without ORDER BY": "which rows a LIMIT keeps depends on their order: say it with ORDER BY",
    "LIMIT beside a function that makes rows": "put the function in a subquery in FROM, and the LIMIT around it",
    "LIMIT by anything but a number": "write the number, or give it as a parameter",
    "LIMIT … WITH TIES and LIMIT … PERCENT": "write QUALIFY rank() OVER (ORDER BY …) <= n",
    "LIMIT … BY": "write QUALIFY row_number() OVER (PARTITION BY … ORDER BY …) <= n",
    "FETCH": "write ORDER BY … LIMIT n",
    "DISTINCT ON": "write QUALIFY row_number() OVER (PARTITION BY … ORDER BY …) = 1",
    "GROUP BY DISTINCT": "list the GROUPING SETS, each once",
    "GROUP BY ()": "write GROUP BY GROUPING SETS (()), or no GROUP BY",
    "TABLESAMPLE": "choose rows by their values, as in WHERE pmod(id, 10) = 0",
    "VERSION AS OF and TIMESTAMP AS OF": "ask db.query(…, as_of=…)",
    "FOR UPDATE": "leave it out: a transaction sees one state, and a conflict shows when it commits",
    "SELECT INTO": "write INSERT INTO … SELECT …, or CREATE MATERIALIZED VIEW … AS SELECT …",
    "SELECT AS STRUCT": "write SELECT struct(…)",
    "CONNECT BY": "write WITH RECURSIVE",
    "UNION of unlike columns": "list the same columns on both sides, and use BY NAME if they are in another order",
    "BETWEEN SYMMETRIC": "write x BETWEEN least(a, b) AND greatest(a, b)",
    "CAST … DEFAULT": "write coalesce(try_cast(x AS …), …)",
    "CAST … FORMAT": "write to_date(x, …), to_timestamp(x, …) or date_format(x, …)",
    "WITH ORDINALITY": "posexplode(…) counts the elements, from 0",
    "a star with ILIKE": "list the columns, or leave some out by * EXCEPT (…)",
    "a star with RENAME": "list the columns with their new names",
    "a name that begins with @": "leave out the @",
    "a function that makes rows": "let it stand alone in the list, in FROM, or in LATERAL VIEW",
    "an outer join with a function that makes rows": "write explode(filter(xs, x -> …)) … ON true",
    "an outer, semi or anti join that uses the query around it": "join it in FROM too, and group by its columns",
    "LATERAL that uses a query further out": "use a subquery in FROM, or join in WHERE",
    "WITH that uses the query around, in a subquery inside": "put the WITH into the subquery that reads it",
    "a subquery of several columns in an expression": "select one column, or one struct(…)",
    "a comparison of rows with ANY or ALL other than =": "compare column by column, in EXISTS or NOT EXISTS",
    "a window frame other than ROWS or RANGE BETWEEN … AND …": "write ROWS or RANGE BETWEEN … AND …",
    "PIVOT over values that are not listed": "list them, as in FOR x IN (1, 2)",
    "ASOF JOIN other than LEFT and INNER": "change the sides, or write ASOF LEFT JOIN",
    "ASOF JOIN without one comparison by >=, >, <= or <": "compare one column of each side, as in a.ts >= b.ts",
    **dict.fromkeys(("SORT BY", "CLUSTER BY", "DISTRIBUTE BY"), "leave it out: rows have no order, nor places"),
}
