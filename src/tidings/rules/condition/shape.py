"""Rules that differ only in constants are judged together, by one query.

Their constants are the rows of a relation that is joined into the query (:mod:`tidings.lang.sql.rules.constants`), and
each row of the result says which rule it belongs to.  So a thousand rules of twenty shapes are twenty queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.changes import as_changes
from tidings.ir.relation import Relation
from tidings.lang.sql.context import Analyzer
from tidings.lang.sql.rules.constants import RULE, ConditionTemplate, constants_of, take_constants
from tidings.rewrite.instances import instances
from tidings.rules.rule import Rule
from tidings.store.relation.net import table_of
from tidings.store.relation.relations import Relations


@dataclass(frozen=True, slots=True)
class RuleShape:
    """What some rules have in common: one query over their constants."""

    name: str
    plan: Relation
    constants: pa.Table
    """A row per rule, as a log entry that counts as committed long ago."""

    def by_rule(self, delta: pa.Table) -> dict[int, pa.Table]:
        """The changes of each rule's condition, for the rules whose conditions changed; for number 0 there are none."""
        rows, rules = delta.drop_columns([RULE]), delta.column(RULE)
        return {0: rows.slice(0, 0)} | {n: rows.filter(pc.equal(rules, n)) for n in pc.unique(rules).to_pylist()}


def shapes(
    rules: Sequence[Rule], relations: Relations, analyzer: Analyzer, plans: dict[str, Relation | None]
) -> dict[int, RuleShape]:
    """The shapes that several rules have, by the numbers of the rules.

    ``plans`` has the queries that were bound before, by the keys of their templates; new ones are added to it.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[Rule, ConditionTemplate]]] = {}
    for rule in rules:
        template = take_constants(rule.statement, relations)
        if template is not None and not rule.condition.changes and not rule.evaluates_on_event:
            groups.setdefault((template.key, rule.key), []).append((rule, template))
    by_rule: dict[int, RuleShape] = {}
    for (text, instance_key), group in groups.items():
        if len(group) < 2:
            continue
        key = f"{text} by {', '.join(instance_key) or 'row'}"
        name = f"shape {sha256(key.encode()).hexdigest()[:16]}"
        first_rule, first_template = group[0]
        if key not in plans:
            plans[key] = _plan(name, first_rule, first_template, relations, analyzer)
        plan = plans[key]
        if plan is not None:
            columns = first_template.columns
            rows = table_of(columns, [(rule.id, *template.constants) for rule, template in group])
            shape = RuleShape(name, plan, as_changes(columns, rows, [1] * rows.num_rows))
            by_rule |= {rule.id: shape for rule, _ in group}
    return by_rule


def _plan(
    name: str, rule: Rule, template: ConditionTemplate, relations: Relations, analyzer: Analyzer
) -> Relation | None:
    """The query of a shape; None if its columns are not those of the rule's condition."""
    plan = template.bind(name, rule.statement.text, relations, analyzer)
    if plan is None:
        return None
    columns = [(f.name, f.type) for f in plan.fields[:-1]]
    if columns != [(f.name, f.type) for f in rule.condition.plan.fields]:
        return None
    primary_keys = relations.primary_keys() | {constants_of(name): (RULE,)}
    return instances(plan, (*rule.key, RULE) if rule.key else (), primary_keys, relations.definitions())
