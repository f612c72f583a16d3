"""Δ f(A): the change of a user's operator by its incremental form, where it has one.

An operator is the unnesting of an array that a function makes of the gathered rows of its key (see
:mod:`tidings.lang.sql.table_operator`); without a form it is a grouping like others.  With one, the rows of a touched
key are gathered once, each with its instant: those of its old state, and the changes.

    G  =  γ_{K; gather(t, w, row)} (A ⋉ K(D)  ⊎  D)          Δ  =  { (rows, t, w) : (t, w, rows) in form(gathered) }

The form is called for each instant in their order, with the rows as they were before it, and says what the operator
loses (w = -1) and gains (w = +1).  These arrays are not the operator's own, which would be the whole of its value; but
nothing reads them except the unnesting above, and the rows in them are the change of the rows in its own.

Cost: the rows of the touched keys once per batch, and what the form does.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.delta.differentiate import aggregate
from tidings.delta.keyed import rows_alias, timed_rows
from tidings.ir.expression import TIME, WEIGHT, Expression, cast, column, filled, refs, substitute
from tidings.ir.operator_calls import form_of, timed_answers_type, timed_rows_type
from tidings.ir.relation import Aggregate, Column, Item, Project, Relation, Scan, Unnest


@dataclass(frozen=True, slots=True)
class OwnOperator:
    """A call of an operator with an incremental form: the array it makes, the grouping, and the rows it gathers."""

    array: Item
    groups: Aggregate
    form: str
    gathered: tuple[tuple[Expression, str], ...]
    """For each relation its row as a struct, and the type of that."""

    @property
    def source(self) -> Scan:
        """The relation whose rows it gathers."""
        assert isinstance(self.groups.input, Scan), "the plan has been cut into parts"
        return self.groups.input


def own_operator(plan: Relation) -> OwnOperator | None:
    """The operator with an incremental form that a plan is, without the unnesting."""
    if not isinstance(plan, Project) or not isinstance(plan.input, Aggregate) or len(plan.items) != 1:
        return None
    (array,) = plan.items
    call, groups = array.expression, plan.input
    form = form_of(call.name) if isinstance(call, exp.Anonymous) else None
    if form is None:
        return None
    by_name = {(groups.alias, item.name): item for item in groups.aggregates}
    gathered = []
    for argument in call.expressions:
        items = [by_name[ref] for ref in refs(argument) if ref in by_name]
        lists = [item.expression.find(exp.ArrayAgg) for item in items]
        if len(lists) != 1 or lists[0] is None:
            return None
        gathered.append((lists[0].this, items[0].type.removeprefix("array<").removesuffix(">")))
    return OwnOperator(array, groups, form, tuple(gathered))


def delta(name: str, operator: OwnOperator, changed: frozenset[str]) -> Relation:
    """The change of an operator's arrays, as far as their rows are concerned; not consolidated."""
    lifted = aggregate.lift(operator.groups)
    (entry,) = lifted.inputs
    alias = rows_alias(entry)
    rows = timed_rows(entry, lifted, [entry] if entry.scan.relation in changed else [])
    by_rows = {(entry.scan.alias, c.name): column(alias, c.name) for c in entry.scan.columns}
    keys = tuple(
        Item(f"key{n}", type, substitute(key, by_rows))
        for n, (key, type) in enumerate(zip(entry.key, lifted.key_types, strict=True))
    )
    lists = tuple(
        Item(f"rows{n}", timed_rows_type(type), _timed_list(alias, substitute(row, by_rows)))
        for n, (row, type) in enumerate(operator.gathered)
    )
    groups = Aggregate(rows, "gathered", keys, lists)
    arguments = [filled("COALESCE(x, ARRAY())", x=column("gathered", item.name)) for item in lists]
    answers = timed_answers_type(operator.array.type)
    call = Item("r", answers, exp.Anonymous(this=operator.form, expressions=arguments))
    element = Column("element", answers.removeprefix("array<").removesuffix(">"))
    unnested = Unnest(Project(groups, "answers", (call,)), "answer", element, column("answers", "r"))
    parts = Project(unnested, "parts", (Item(element.name, element.type, column("answer", element.name)),))
    items = (
        Item(operator.array.name, operator.array.type, _part("rows")),
        Item(TIME, "bigint", _part("t")),
        Item(WEIGHT, "bigint", _part("w")),
    )
    return Project(parts, name, items)


def _timed_list(alias: str, row: Expression) -> Expression:
    """All rows of a relation with their instants and weights; those of other relations are NULL and left out."""
    text = "SORT_ARRAY(COLLECT_LIST(CASE WHEN NOT r IS NULL THEN NAMED_STRUCT('t', t, 'w', w, 'r', r) END))"
    time, weight = (cast(column(alias, name), "bigint") for name in (TIME, WEIGHT))
    return filled(text, t=time, w=weight, r=row)


def _part(name: str) -> Expression:
    return exp.Dot(this=column("parts", "element"), expression=exp.to_identifier(name, quoted=True))
