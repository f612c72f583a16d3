"""Rules that differ only in constants are judged together.

``qty < 10`` and ``qty < 20`` have one shape: the same query, with a column in the place of the number.  The numbers of
all rules of a shape are the rows of a relation that is joined in, as activations are, and each row of the result says
which rule it is of.  So a thousand rules of twenty shapes are twenty queries.

Only what something is compared with, in the WHERE of a plain SELECT, is taken out.  Numbers have the same type as a
column that they have as a literal, or a wider one, so the comparison means the same.  A text means what the other side
wants it to mean as a literal, but not as a column; so it is taken out only where the other side is a column of texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from tidings.engine.changes import as_changes
from tidings.errors import TidingsError
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.ir.relation import Column, Relation
from tidings.lang.sql.bind import bind
from tidings.lang.sql.context import Analyzer
from tidings.lang.sql.statements.rule import CreateRule
from tidings.rules.condition.evaluate import ExtendedNamespace, is_plain
from tidings.rules.rule import Rule
from tidings.store.relation.net import table_of
from tidings.store.relation.relations import Relations

CONSTANTS = "constants of rules"
"""The relation with a row per rule of a shape."""

RULE = "id of the rule"

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)


@dataclass(frozen=True, slots=True)
class RuleShape:
    """What some rules have in common: a query over their constants."""

    name: str
    plan: Relation
    constants: pa.Table
    """A row per rule, as a log entry of no instant."""

    def apart(self, delta: pa.Table) -> dict[int, pa.Table]:
        """The changes of each rule's condition, of those rules whose conditions changed; of number 0 there are none."""
        own, rules = delta.drop_columns([RULE]), delta.column(RULE)
        return {0: own.slice(0, 0)} | {n: own.filter(pc.equal(rules, n)) for n in pc.unique(rules).to_pylist()}


Value: TypeAlias = int | Decimal | str


@dataclass(frozen=True, slots=True)
class _Taken:
    """A query with its constants taken out."""

    tree: Expression
    values: tuple[Value, ...]
    columns: tuple[Column, ...]

    @property
    def key(self) -> str:
        kinds = ", ".join(c.type for c in self.columns)
        return f"{self.tree.sql(DIALECT, comments=False)} [{kinds}]"


def shapes(
    rules: Sequence[Rule], relations: Relations, analyzer: Analyzer, plans: dict[str, Relation | None]
) -> dict[int, RuleShape]:
    """The shapes that several rules have, by the rules' numbers; ``plans`` has those that were bound before."""
    groups: dict[str, list[tuple[Rule, _Taken]]] = {}
    for rule in rules:
        taken = _taken(rule.statement, relations)
        if taken is not None and rule.changes_of is None and not rule.asks:
            groups.setdefault(taken.key, []).append((rule, taken))
    found: dict[int, RuleShape] = {}
    for key, group in groups.items():
        if len(group) < 2:
            continue
        name = f"shape {sha256(key.encode()).hexdigest()[:16]}"
        columns = (Column(RULE, "bigint"), *group[0][1].columns)
        if key not in plans:
            plans[key] = _bound(name, group, columns, relations, analyzer)
        plan = plans[key]
        if plan is not None:
            rows = table_of(columns, [(rule.id, *taken.values) for rule, taken in group])
            shape = RuleShape(name, plan, as_changes(columns, rows, [1] * rows.num_rows))
            found |= {rule.id: shape for rule, _ in group}
    return found


def _taken(read: CreateRule, relations: Relations) -> _Taken | None:
    """The query of a rule without its constants; None if it has none that can be taken out."""
    tree = read.query.copy()
    if read.parameters or not isinstance(tree, exp.Select) or not is_plain(tree) or not tree.args.get("where"):
        return None
    if any(item.is_star for item in tree.expressions) or any(isinstance(n, exp.Query) for n in _below(tree)):
        return None
    values: list[Value] = []
    columns: list[Column] = []
    for literal in list(tree.args["where"].find_all(exp.Literal)):
        written = literal.parent if isinstance(literal.parent, exp.Neg) else literal
        found = _value(written, literal, tree, relations) if isinstance(written.parent, _COMPARISONS) else None
        if found is not None:
            values.append(found[0])
            columns.append(Column(f"c{len(columns)}", found[1]))
            written.replace(exp.column(columns[-1].name, table="constant"))
    if not values:
        return None
    name = exp.Table(this=exp.to_identifier(CONSTANTS, quoted=True))
    name.set("alias", exp.TableAlias(this=exp.to_identifier("constant")))
    tree.append("joins", exp.Join(this=name, kind="CROSS"))
    own = exp.column(exp.to_identifier(RULE, quoted=True), table="constant")
    tree.append("expressions", own.as_(RULE, quoted=True))
    return _Taken(tree, tuple(values), tuple(columns))


def _value(
    written: Expression, literal: exp.Literal, tree: exp.Select, relations: Relations
) -> tuple[Value, str] | None:
    """What a constant is worth, and of which type it is; None if it has to stay where it is."""
    if literal.is_string:
        others = [node for node in written.parent.iter_expressions() if node is not written] if written.parent else []
        return (literal.name, "string") if all(_is_text(node, tree, relations) for node in others) else None
    sign = -1 if written is not literal else 1
    if literal.is_int:
        number = sign * int(literal.name)
        return None if abs(number) >= 2**63 else (number, "int" if abs(number) < 2**31 else "bigint")
    whole, point, part = literal.name.partition(".")
    if not point or not (whole + part).isdigit():
        return None
    precision = max(len((whole + part).lstrip("0")), len(part), 18)  # room for the longer numbers of other rules
    exact = sign * Decimal(literal.name)
    return (exact, f"decimal({precision},{len(part)})") if precision <= 38 else None


def _is_text(node: Expression, tree: exp.Select, relations: Relations) -> bool:
    """Whether a tree is a column of texts, or another text."""
    if isinstance(node, exp.Literal):
        return node.is_string
    if not isinstance(node, exp.Column):
        return False
    types = set()
    for table in tree.find_all(exp.Table):
        known = (
            relations.columns(table.name)
            if not node.table or table.alias_or_name.lower() == node.table.lower()
            else None
        )
        types |= {c.type for c in (known[1] if known else ()) if c.name.lower() == node.name.lower()}
    return types == {"string"}


def _below(tree: exp.Select) -> list[Expression]:
    """All that a query is made of but itself."""
    return [node for node in tree.walk() if node is not tree]


def _bound(
    name: str,
    group: list[tuple[Rule, _Taken]],
    columns: tuple[Column, ...],
    relations: Relations,
    analyzer: Analyzer,
) -> Relation | None:
    """The query of a shape; None if it is not that of its rules with columns for constants."""
    first, taken = group[0]
    try:
        plan = bind(
            taken.tree, first.statement.text, ExtendedNamespace(relations, {CONSTANTS: columns}), analyzer, name
        )
    except TidingsError:
        return None
    own, expected = plan.fields[:-1], first.plan.fields
    return plan if [(f.name, f.type) for f in own] == [(f.name, f.type) for f in expected] else None
