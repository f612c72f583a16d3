"""From clauses to queries of SQL, as trees.

Literals over relations are what is joined; the first that has a variable binds it, the others are compared with that.
Bodies inside a literal are subqueries that see the variables bound around them: ``¬`` is NOT EXISTS, an aggregate is a
scalar subquery.  A clause counts derivations as SQL counts rows, so the rows are those of the clause, as often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import assert_never

from sqlglot import exp

from tidings.errors import ForeignNotHere, UnboundVariable
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.ir.operator_calls import foreign_function
from tidings.lang.amosql.objectlog import (
    Aggregated,
    Alternatives,
    Atom,
    Body,
    Compare,
    Compute,
    ConstantTerm,
    ForeignCall,
    HornClause,
    Literal,
    Not,
    Term,
    Variable,
    atoms,
    terms_of,
)
from tidings.lang.amosql.schema import SQL_TYPES
from tidings.lang.amosql.syntax import Value

_OPERATORS: Mapping[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_COMPARISONS: Mapping[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_AGGREGATES: Mapping[str, type[exp.AggFunc]] = {
    "count": exp.Count,
    "sum": exp.Sum,
    "avg": exp.Avg,
    "min": exp.Min,
    "max": exp.Max,
}


@dataclass(frozen=True, slots=True)
class GivenRows:
    """Rows that a query is asked for: each has values for some variables."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Value, ...], ...]


def query_text(
    clause: HornClause,
    columns: Sequence[tuple[str, str]],
    parameters: Mapping[str, str] | None = None,
    given: GivenRows | None = None,
) -> str:
    """The query of a clause: a column, of a name and type, for each term of its head.

    ``parameters`` has the names in SQL of variables that something else binds; ``given`` has rows of bound variables.
    """
    return query(clause, columns, parameters, given).sql(DIALECT)


def query(
    clause: HornClause,
    columns: Sequence[tuple[str, str]],
    parameters: Mapping[str, str] | None = None,
    given: GivenRows | None = None,
) -> exp.Select:
    """The same as a tree."""
    outer: dict[str, Expression] = {name: exp.column(sql, quoted=True) for name, sql in (parameters or {}).items()}
    columns_read = {name for atom in atoms(clause.body) for name in atom.relation.columns}
    block = _Block(outer, _Aliases(columns_read))
    if given is not None:
        block.join_rows(given)
    block.add(clause.body)
    values = [
        exp.alias_(block.typed(term, type), name, quoted=True)
        for term, (name, type) in zip(clause.head, columns, strict=True)
    ]
    return block.select(values or [exp.alias_(exp.true(), "holds", quoted=True)], distinct=clause.distinct)


@dataclass(slots=True)
class _Aliases:
    """Gives each relation of a query a name of its own, which no column has: ``item.oid`` is of a relation."""

    taken: set[str]

    def new(self, name: str) -> str:
        names = (f"{name}_{n}" if n else name for n in count())
        alias = next(alias for alias in names if alias not in self.taken)
        self.taken.add(alias)
        return alias


@dataclass(slots=True)
class _Block:
    """One SELECT while it is made."""

    bound: dict[str, Expression]
    """What stands for each variable that is bound so far; those of the queries around first."""
    aliases: _Aliases
    sources: list[Expression] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)

    def join_rows(self, given: GivenRows) -> None:
        """Join rows that are given, under names for their columns."""
        alias = self.aliases.new("given")
        names = [f"c{n}" for n in range(len(given.variables))]
        tuples = [exp.Tuple(expressions=[constant(v) for v in row]) for row in given.rows]
        named = exp.TableAlias(this=exp.to_identifier(alias), columns=[exp.to_identifier(n) for n in names])
        self.sources.append(exp.Values(expressions=tuples, alias=named))
        for variable, name in zip(given.variables, names, strict=True):
            self.bound[variable.name] = exp.cast(exp.column(name, table=alias), _sql_type(variable.type))

    def add(self, body: Body) -> None:
        """Add all literals of a body."""
        for literal in body:
            if isinstance(literal, Atom):
                self._join(literal)
        waiting = [literal for literal in body if not isinstance(literal, Atom | Not | Alternatives)]
        while waiting:
            ready = [literal for literal in waiting if self._take(literal)]
            if not ready:
                raise UnboundVariable(name=self._first_unbound(waiting))
            waiting = [literal for literal in waiting if literal not in ready]
        for literal in body:
            if isinstance(literal, Not):
                self.conditions.append(exp.not_(self._holds(literal.body)))
            elif isinstance(literal, Alternatives):
                self.conditions.append(exp.or_(*map(self._holds, literal.branches)))

    def select(self, values: Sequence[Expression], *, distinct: bool = False) -> exp.Select:
        select = exp.Select(expressions=list(values))
        if self.sources:
            select = select.from_(self.sources[0], copy=False)
            for source in self.sources[1:]:
                select = select.join(source, join_type="cross", copy=False)
        if self.conditions:
            select = select.where(*self.conditions, copy=False)
        return select.distinct(copy=False) if distinct else select

    # literals

    def _join(self, atom: Atom) -> None:
        alias = self.aliases.new(atom.relation.name)
        table = exp.Table(
            this=exp.to_identifier(atom.relation.name, quoted=True),
            alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)),
        )
        self.sources.append(table)
        for term, name in zip(atom.terms, atom.relation.columns, strict=True):
            self._equal(term, exp.column(name, table=alias, quoted=True))

    def _equal(self, term: Term, value: Expression) -> None:
        """A term is a value: that binds it, or is to be compared."""
        if isinstance(term, Variable) and term.name not in self.bound:
            self.bound[term.name] = value
        else:
            self.conditions.append(exp.EQ(this=value, expression=self.value(term)))

    def _take(self, literal: Literal) -> bool:
        """Add a literal if what it needs is bound; whether it was."""
        match literal:
            case Compute():
                if not (self._is_bound(literal.left) and self._is_bound(literal.right)):
                    return False
                self._equal(literal.result, self._computed(literal))
            case Compare():
                left, right = self._is_bound(literal.left), self._is_bound(literal.right)
                if left and right:
                    comparison = _COMPARISONS[literal.operator]
                    self.conditions.append(
                        comparison(this=self.value(literal.left), expression=self.value(literal.right))
                    )
                elif literal.operator == "=" and (left or right):
                    known, unknown = (literal.left, literal.right) if left else (literal.right, literal.left)
                    self._equal(unknown, self.value(known))
                else:
                    return False
            case Aggregated():
                return self._aggregate(literal)
            case ForeignCall():
                return self._call(literal)
            case Atom() | Not() | Alternatives():
                raise AssertionError("these are added apart")
            case _:
                assert_never(literal)
        return True

    def _call(self, literal: ForeignCall) -> bool:
        """A foreign function has a value or none; none makes the body false."""
        if not all(map(self._is_bound, literal.arguments)):
            return False
        if not literal.arguments:
            raise ForeignNotHere(name=literal.function, where="a query inside another, for it has no arguments")
        arguments = [
            exp.cast(self.value(a), _sql_type(t)) for a, t in zip(literal.arguments, literal.types, strict=True)
        ]
        call = exp.Anonymous(this=foreign_function(literal.function), expressions=arguments)
        self.conditions.append(exp.not_(exp.Is(this=call.copy(), expression=exp.null())))
        self._equal(literal.result, call)
        return True

    def _aggregate(self, literal: Aggregated) -> bool:
        inner = _Block(dict(self.bound), self.aliases)
        try:
            inner.add(literal.body)
            value: Expression = inner.value(literal.value)
        except UnboundVariable:
            return False
        if literal.kind != "count" and inner.is_outside(value):
            subquery = _of_one_value(literal, value, inner.select([exp.Count(this=exp.Star())]))
        else:
            if literal.kind == "count" and not literal.distinct:
                value = exp.Star()
            elif literal.distinct:
                value = exp.Distinct(expressions=[value])
            subquery = exp.Subquery(this=inner.select([_AGGREGATES[literal.kind](this=value)]))
        result: Expression = exp.cast(subquery, _sql_type(literal.result.type))
        if literal.kind == "sum":
            result = exp.Coalesce(this=result, expressions=[_zero(literal.result.type)])
        elif literal.kind != "count":
            self.conditions.append(exp.not_(exp.Is(this=subquery.copy(), expression=exp.null())))
        self._equal(literal.result, result)
        return True

    def is_outside(self, value: Expression) -> bool:
        """Whether a value is of the queries around alone; SQL would take an aggregate of it for one of theirs."""
        own = {source.alias for source in self.sources}
        columns = list(value.find_all(exp.Column))
        return bool(columns) and not any(column.table in own for column in columns)

    def _holds(self, body: Body) -> Expression:
        """Whether there is a way to make a body true."""
        inner = _Block(dict(self.bound), self.aliases)
        inner.add(body)
        if inner.sources:
            return exp.Exists(this=inner.select([exp.Literal.number(1)]))
        return exp.paren(exp.and_(*inner.conditions)) if inner.conditions else exp.true()

    def _computed(self, literal: Compute) -> Expression:
        operands = [self._operand(literal.left), self._operand(literal.right)]
        if literal.operator == "/":
            left, right = (exp.cast(operand, "DOUBLE") for operand in operands)
            return exp.Div(this=left, expression=exp.Nullif(this=right, expression=exp.cast(constant(0), "DOUBLE")))
        return exp.paren(_OPERATORS[literal.operator](this=operands[0], expression=operands[1]))

    def _operand(self, term: Term) -> Expression:
        """A term in a computation: constants have the width of their type."""
        value = self.value(term)
        return exp.cast(value, _sql_type(term.type)) if isinstance(term, ConstantTerm) else value

    # terms

    def value(self, term: Term) -> Expression:
        """What stands for a term."""
        if isinstance(term, ConstantTerm):
            return constant(term.value)
        if term.name not in self.bound:
            raise UnboundVariable(name=term.name.removeprefix("?"))
        return self.bound[term.name].copy()

    def typed(self, term: Term, type: str) -> Expression:
        """What stands for a term, as a value of a type."""
        value = self.value(term)
        return exp.cast(value, _sql_type(type)) if isinstance(term, ConstantTerm) or term.type != type else value

    def _is_bound(self, term: Term) -> bool:
        return not isinstance(term, Variable) or term.name in self.bound

    def _first_unbound(self, waiting: Sequence[Literal]) -> str:
        for literal in waiting:
            if isinstance(literal, Compute | Compare | ForeignCall):
                for term in terms_of(literal):
                    if isinstance(term, Variable) and term.name not in self.bound:
                        return term.name.removeprefix("?")
        return "of an aggregate"


def constant(value: Value) -> Expression:
    """A constant in SQL.

    >>> constant("it's").sql(DIALECT), constant(-2).sql(DIALECT)
    ("'it''s'", '-2')
    """
    if isinstance(value, float):
        digits = repr(abs(value))
        number = exp.Literal.number(digits if "e" in digits else f"{digits}e0")  # without an exponent it is a decimal
        return exp.Neg(this=number) if value < 0 else number
    converted: Expression = exp.convert(value)
    return converted


def _of_one_value(literal: Aggregated, value: Expression, count: exp.Select) -> Expression:
    """An aggregate of one value as often as a query counts."""
    counted, one = exp.Subquery(this=count), exp.Literal.number(1)
    if literal.kind == "sum" and not literal.distinct:
        return exp.Mul(this=value, expression=counted)
    return exp.Case(ifs=[exp.If(this=exp.GTE(this=counted, expression=one), true=value)])


def _zero(type: str) -> Expression:
    return exp.cast(constant(0), _sql_type(type))


def _sql_type(type: str) -> str:
    return SQL_TYPES.get(type, "BIGINT")
