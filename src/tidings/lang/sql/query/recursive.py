"""WITH RECURSIVE: a common table expression that reads itself, as rules of a fixpoint.

    WITH RECURSIVE r (x, y) AS (SELECT a, b FROM e UNION SELECT r.x, e.b FROM r JOIN e ON r.y = e.a) …

Each branch becomes one rule: the relations it joins are literals, its conditions stay, its select list is the head.  A
part that does not read the expression itself, whatever it is, is one literal over its rows.  UNION gives a set.  UNION
ALL counts how often a row is derived; such a recursion ends only if every derivation does.

What cannot be said by rules is refused by name: aggregates, windows, outer joins, DISTINCT and set operations over the
recursive rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from tidings.errors import InvalidExpression
from tidings.ir.expression import Expression, Ref, conjuncts, equality, substitute, typed_null
from tidings.ir.relation import (
    Column,
    Filter,
    Fixpoint,
    Join,
    Member,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Union,
    Values,
)
from tidings.ir.rule import (
    VARIABLES,
    DatalogAtom,
    DatalogRule,
    Literal,
    labels,
    variable,
    variable_name,
    with_predicates,
)
from tidings.ir.traverse import walk
from tidings.lang.datalog.compile import group_name
from tidings.lang.datalog.rule_plan import as_columns
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.bound import Bound

BindBranch = Callable[[Expression, tuple[Column, ...] | None], Bound]
"""Binds one branch; with columns, names of the expression itself stand for rows with these."""

_TURNS = 8


def is_recursive(cte: exp.CTE) -> bool:
    """Whether a common table expression reads itself."""
    name = cte.alias.lower()
    return any(isinstance(t, exp.Table) and t.name.lower() == name and not t.db for t in cte.this.walk())


def bind_recursive(ctx: Context, cte: exp.CTE, names: Callable[[Bound], tuple[str, ...]], bind: BindBranch) -> Fixpoint:
    """The fixpoint of a common table expression that reads itself."""
    branches, is_bag = _branches(ctx, cte)
    own = [b for b in branches if not _reads(b, cte.alias)]
    recursive = [b for b in branches if _reads(b, cte.alias)]
    if not own:
        raise _refused(ctx, "a recursive query without a branch that does not read itself", cte)
    anchors = [bind(branch, None) for branch in own]
    columns = _columns(ctx, cte, names(anchors[0]), [[f.type for f in a.plan.fields] for a in anchors])
    for _ in range(_TURNS):
        bound = [bind(branch, columns) for branch in recursive]
        all_types = [[f.type for f in b.plan.fields] for b in (*anchors, *bound)]
        widened = _columns(ctx, cte, tuple(c.name for c in columns), all_types)
        if widened == columns:
            break
        columns = widened
    else:
        raise InvalidExpression(ctx.place(cte), reason=f"the types of {cte.alias} grow with every round: cast them")
    rules = _Rules(ctx, cte, member_name(cte.alias), columns)
    for branch in (*anchors, *bound):
        rules.add(branch.plan)
    if is_bag and any(sum(i.predicate == rules.member for i in r.body) > 1 for r in rules.rules):
        raise _refused(ctx, "UNION ALL with more than one reference to the recursive rows", cte)
    label = labels([rules.member, *rules.inputs])
    members = (Member(label[rules.member], columns, "all" if is_bag else None),)
    found = tuple(with_predicates(rule, label.__getitem__) for rule in rules.rules)
    inputs, names_of_inputs = tuple(rules.inputs.values()), tuple(label[name] for name in rules.inputs)
    group = group_name(members, found, inputs)
    return Fixpoint(inputs, names_of_inputs, members, found, label[rules.member], group, ctx.alias(cte.alias))


def member_name(alias: str) -> str:
    """The relation that stands for the recursive rows while their query is bound."""
    return f"recursive {alias.lower()}"


def _branches(ctx: Context, cte: exp.CTE) -> tuple[list[Expression], bool]:
    """The branches of the union that an expression is, and whether it counts duplicates."""
    kinds: set[bool] = set()

    def split(node: Expression) -> list[Expression]:
        inner = node.unnest()
        if isinstance(inner, exp.Union) and _reads(inner, cte.alias):
            if inner.args.get("limit") or inner.args.get("order") or inner.args.get("offset"):
                raise _refused(ctx, "ORDER BY or LIMIT in a recursive query", inner)
            kinds.add(bool(inner.args.get("distinct")))
            return [*split(inner.left), *split(inner.right)]
        return [node]

    branches = split(cte.this)
    if len(branches) == 1:
        raise _refused(ctx, "a recursive query that is no UNION", cte)
    if len(kinds) > 1:
        raise _refused(ctx, "UNION and UNION ALL in one recursive query", cte)
    return branches, kinds == {False}


def _reads(node: Expression, alias: str) -> bool:
    return any(isinstance(t, exp.Table) and t.name.lower() == alias.lower() and not t.db for t in node.walk())


def _columns(ctx: Context, cte: exp.CTE, names: tuple[str, ...], rows: list[list[str]]) -> tuple[Column, ...]:
    if len({len(row) for row in rows}) > 1 or len(names) != len(rows[0]):
        raise InvalidExpression(ctx.place(cte), reason=f"the branches of {cte.alias} differ in their number of columns")
    selects = [exp.select(*(typed_null(t).as_(f"c{n}") for n, t in enumerate(row))) for row in rows]
    common = selects[0] if len(selects) == 1 else exp.union(*selects, distinct=False)
    return tuple(Column(n, c.type) for n, c in zip(names, ctx.analyze(common, cte), strict=True))


def _refused(ctx: Context, construct: str, node: Expression) -> Exception:
    refusal = ctx.unsupported(construct, node)
    refusal.hint = "docs/datalog.md says what a recursive query may be built from"
    return refusal


@dataclass(frozen=True, slots=True)
class _RuleBlock:
    """What a plan joins: literals, conditions over their variables, and what its columns are."""

    literals: tuple[Literal, ...] = ()
    conditions: tuple[Expression, ...] = ()
    columns: dict[Ref, Expression] = field(default_factory=dict)


@dataclass(slots=True)
class _Rules:
    """Turns bound branches into rules, and gathers what these read."""

    ctx: Context
    cte: exp.CTE
    member: str
    columns: tuple[Column, ...]
    rules: list[DatalogRule] = field(default_factory=list)
    inputs: dict[str, Relation] = field(default_factory=dict)
    _fresh: count[int] = field(default_factory=lambda: count(1))

    def add(self, plan: Relation) -> None:
        """The rules of one branch."""
        if isinstance(plan, Union):
            for branch in plan.inputs:
                self.add(branch)
            return
        block = self._block(plan)
        head = DatalogAtom(self.member, tuple(block.columns[f.ref] for f in plan.fields))
        self.rules.append(_unified(DatalogRule(head, block.literals, block.conditions), self._types(block)))

    def _types(self, block: _RuleBlock) -> dict[str, str]:
        kinds: dict[str, str] = {}
        for literal in block.literals:
            own = literal.predicate == self.member
            fields = self.columns if own else as_columns(self.inputs[literal.predicate].fields)
            for term, field_of_term in zip(literal.atom.terms, fields, strict=True):
                name = variable_name(term)
                if name is not None:
                    kinds.setdefault(name, field_of_term.type)
        return kinds

    def _block(self, plan: Relation) -> _RuleBlock:
        match plan:
            case Scan(relation=relation) if relation == self.member:
                return self._literal(relation, plan)
            case Scan():
                return self._literal(self._input(plan), plan)
            case Values(columns=()) if len(plan.rows) == 1:
                return _RuleBlock()
            case Filter():
                inner = self._block(plan.input)
                return replace(inner, conditions=(*inner.conditions, *self._over(plan.conditions, inner.columns)))
            case Project():
                inner = self._block(plan.input)
                return replace(
                    inner,
                    columns={
                        f.ref: substitute(i.expression, inner.columns)
                        for f, i in zip(plan.fields, plan.items, strict=True)
                    },
                )
            case Join():
                return self._join(plan)
            case SemiJoin() if not self._is_recursive(plan.right) and self._keys(plan) is not None:
                return self._semi_join(plan)
            case _ if not self._is_recursive(plan):
                return self._literal(self._input(plan), plan)
            case _:
                words = {"Aggregate": "an aggregate or DISTINCT", "Window": "a window function or LIMIT"}
                words |= {"OuterJoin": "an outer join", "SetOperation": "EXCEPT or INTERSECT"}
                words |= {"SemiJoin": "EXISTS or IN by anything but equality", "During": "a condition on time"}
                kind = words.get(type(plan).__name__, "an operator")
                raise _refused(self.ctx, f"{kind} over the rows of a recursive query", self.cte)

    def _join(self, plan: Join) -> _RuleBlock:
        blocks = [self._block(i) for i in plan.inputs]
        columns = {ref: e for b in blocks for ref, e in b.columns.items()}
        conditions = tuple(c for b in blocks for c in b.conditions) + self._over(plan.conditions, columns)
        return _RuleBlock(tuple(i for b in blocks for i in b.literals), conditions, columns)

    def _over(self, conditions: tuple[Expression, ...], columns: dict[Ref, Expression]) -> tuple[Expression, ...]:
        parts = (part for condition in conditions for part in conjuncts(condition))
        return tuple(substitute(part, columns) for part in parts)

    def _is_recursive(self, plan: Relation) -> bool:
        return any(isinstance(n, Scan) and n.relation == self.member for n in walk(plan))

    def _input(self, plan: Relation) -> str:
        """The name of a plan as an input; a relation that is read twice is one."""
        if isinstance(plan, Scan):
            self.inputs.setdefault(plan.relation, plan)
            return plan.relation
        name = f"part {len(self.inputs) + 1}"
        self.inputs[name] = plan
        return name

    def _literal(self, name: str, plan: Relation) -> _RuleBlock:
        terms = tuple(variable(f"v{next(self._fresh)}") for _ in plan.fields)
        return _RuleBlock(
            (Literal(DatalogAtom(name, terms)),), (), dict(zip((f.ref for f in plan.fields), terms, strict=True))
        )

    def _keys(self, plan: SemiJoin) -> list[tuple[Expression, int, bool]] | None:
        """The equalities of a semi join: what the left side has, which column the right, and whether NULL matches."""
        right = [f.ref for f in plan.right.fields]
        keys: list[tuple[Expression, int, bool]] = []
        for condition in (c for whole in plan.conditions for c in conjuncts(whole)):
            sides = equality(condition)
            if sides is None:
                return None
            for one, other in ((sides[0], sides[1]), (sides[1], sides[0])):
                if isinstance(other, exp.Column) and (other.table, other.name) in right:
                    keys.append((one, right.index((other.table, other.name)), sides[2]))
                    break
            else:
                return None
        left = {f.ref for f in plan.left.fields}
        fit = all(all((c.table, c.name) in left for c in e.find_all(exp.Column)) for e, _, _ in keys)
        return keys if fit else None

    def _semi_join(self, plan: SemiJoin) -> _RuleBlock:
        """A literal over the right side, negated for an anti join; keys that may not be NULL are left out of it."""
        keys = self._keys(plan)
        assert keys is not None
        inner = self._block(plan.left)
        strict = [plan.right.fields[n].expression for _, n, null_safe in keys if not null_safe]
        tests = tuple(exp.Not(this=exp.Is(this=e.copy(), expression=exp.Null())) for e in strict)
        rows = Filter(plan.right, tests) if tests else plan.right
        by_place = {n: substitute(e, inner.columns) for e, n, _ in keys}
        terms = tuple(by_place.get(n, variable(f"_v{next(self._fresh)}")) for n in range(len(plan.right.fields)))
        literal = Literal(DatalogAtom(self._input(rows), terms), plan.anti)
        return replace(inner, literals=(*inner.literals, literal))


def _unified(rule: DatalogRule, types: dict[str, str]) -> DatalogRule:
    """A rule in which variables that must be equal are one, and that is not NULL."""
    conditions: list[Expression] = []
    same: dict[Ref, Expression] = {}
    for condition in rule.conditions:
        shown = substitute(condition, same)
        sides = equality(shown)
        names = [variable_name(s) for s in sides[:2]] if sides is not None else [None, None]
        if sides is not None and all(names) and types.get(names[0] or "") == types.get(names[1] or ""):
            first, _, null_safe = sides
            if names[0] != names[1]:
                by = {(VARIABLES, names[1] or ""): first}
                same = {ref: substitute(e, by) for ref, e in same.items()} | by
                conditions = [substitute(c, by) for c in conditions]
            if not null_safe:
                conditions.append(exp.EQ(this=first.copy(), expression=first.copy()))
        else:
            conditions.append(shown)

    def atom(of: DatalogAtom) -> DatalogAtom:
        return DatalogAtom(of.predicate, tuple(substitute(t, same) for t in of.terms))

    body = tuple(Literal(atom(i.atom), i.negated) for i in rule.body)
    return DatalogRule(atom(rule.head), body, tuple(dict.fromkeys(conditions)))
