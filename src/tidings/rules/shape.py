"""Rules that differ only in constants are judged together.

``qty < 10`` and ``qty < 20`` have one shape: the same query, with a column in the place of the number.  The numbers of
all rules of a shape are the rows of a relation that is joined in, as activations are, and each row of the result says
which rule it is of.  So a thousand rules of twenty shapes are twenty queries.

Only whole numbers that something is compared with, in the WHERE of a plain SELECT, are taken out.  They have the same
type as a column that they have as a literal, so the comparison means the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from tidings.errors import TidingsError
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.ir.relation import Column, Relation
from tidings.lang.sql.bind import bind
from tidings.lang.sql.context import Analyzer
from tidings.lang.sql.rule import CreateRule
from tidings.rules.condition import Known, is_plain
from tidings.rules.rule import Rule
from tidings.store.catalog import Catalog
from tidings.store.net import table_of
from tidings.write.transaction import as_entry

CONSTANTS = "constants of rules"
"""The relation with a row per rule of a shape."""

RULE = "id of the rule"

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


@dataclass(frozen=True, slots=True)
class Shape:
    """What some rules have in common: a query over their constants."""

    name: str
    plan: Relation
    constants: pa.Table
    """A row per rule, as a log entry of no instant."""

    def apart(self, delta: pa.Table) -> dict[int, pa.Table]:
        """The changes of each rule's condition, of those rules whose conditions changed; of number 0 there are none."""
        own, rules = delta.drop_columns([RULE]), delta.column(RULE)
        return {0: own.slice(0, 0)} | {n: own.filter(pc.equal(rules, n)) for n in pc.unique(rules).to_pylist()}


@dataclass(frozen=True, slots=True)
class _Taken:
    """A query with its constants taken out."""

    tree: Expression
    values: tuple[int, ...]
    columns: tuple[Column, ...]

    @property
    def key(self) -> str:
        kinds = ", ".join(c.type for c in self.columns)
        return f"{self.tree.sql(DIALECT, comments=False)} [{kinds}]"


def shapes(
    rules: Sequence[Rule], catalog: Catalog, analyzer: Analyzer, plans: dict[str, Relation | None]
) -> dict[int, Shape]:
    """The shapes that several rules have, by the rules' numbers; ``plans`` has those that were bound before."""
    groups: dict[str, list[tuple[Rule, _Taken]]] = {}
    for rule in rules:
        taken = _taken(rule.read)
        if taken is not None and rule.changes_of is None and not rule.asks:
            groups.setdefault(taken.key, []).append((rule, taken))
    found: dict[int, Shape] = {}
    for key, group in groups.items():
        if len(group) < 2:
            continue
        name = f"shape {sha256(key.encode()).hexdigest()[:16]}"
        columns = (Column(RULE, "bigint"), *group[0][1].columns)
        if key not in plans:
            plans[key] = _bound(name, group, columns, catalog, analyzer)
        plan = plans[key]
        if plan is not None:
            rows = table_of(columns, [(rule.id, *taken.values) for rule, taken in group])
            shape = Shape(name, plan, as_entry(columns, rows, [1] * rows.num_rows))
            found |= {rule.id: shape for rule, _ in group}
    return found


def _taken(read: CreateRule) -> _Taken | None:
    """The query of a rule without its constants; None if it has none that can be taken out."""
    tree = read.query.copy()
    if read.parameters or not isinstance(tree, exp.Select) or not is_plain(tree) or not tree.args.get("where"):
        return None
    if any(item.is_star for item in tree.expressions) or any(isinstance(n, exp.Query) for n in _below(tree)):
        return None
    values: list[int] = []
    columns: list[Column] = []
    for literal in list(tree.args["where"].find_all(exp.Literal)):
        is_negative = isinstance(literal.parent, exp.Neg)
        written = literal.parent if is_negative else literal
        if literal.is_int and isinstance(written.parent, _COMPARISONS):
            values.append(-int(literal.name) if is_negative else int(literal.name))
            columns.append(Column(f"c{len(columns)}", "int" if abs(values[-1]) < 2**31 else "bigint"))
            written.replace(exp.column(columns[-1].name, table="constant"))
    if not values or any(abs(v) >= 2**63 for v in values):
        return None
    name = exp.Table(this=exp.to_identifier(CONSTANTS, quoted=True))
    name.set("alias", exp.TableAlias(this=exp.to_identifier("constant")))
    tree.append("joins", exp.Join(this=name, kind="CROSS"))
    own = exp.column(exp.to_identifier(RULE, quoted=True), table="constant")
    tree.append("expressions", own.as_(RULE, quoted=True))
    return _Taken(tree, tuple(values), tuple(columns))


def _below(tree: exp.Select) -> list[Expression]:
    """All that a query is made of but itself."""
    return [node for node in tree.walk() if node is not tree]


def _bound(
    name: str,
    group: list[tuple[Rule, _Taken]],
    columns: tuple[Column, ...],
    catalog: Catalog,
    analyzer: Analyzer,
) -> Relation | None:
    """The query of a shape; None if it is not that of its rules with columns for constants."""
    first, taken = group[0]
    try:
        plan = bind(taken.tree, first.read.text, Known(catalog, {CONSTANTS: columns}), analyzer, name)
    except TidingsError:
        return None
    own, expected = plan.fields[:-1], first.plan.fields
    return plan if [(f.name, f.type) for f in own] == [(f.name, f.type) for f in expected] else None
