"""Binds rules to what relations are to become, before one is altered or replaced.

If a rule that depends on it could not be bound to that, its condition or its action, the change is refused with the
names of all such rules, as it is where it would break a view (:mod:`tidings.define.binder`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidings.errors import BreaksViews, TidingsError
from tidings.rules.dependencies import RuleDependencies
from tidings.rules.rule import Rule
from tidings.rules.transactions import RuleTransactions
from tidings.store.relation.relations import Relations
from tidings.write.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RuleRebinding:
    """Refuses changes of relations that would break rules of one database."""

    dependencies: RuleDependencies
    transactions: RuleTransactions

    def check(self, name: str, changed: Relations) -> None:
        """Refuse a change of a relation that breaks rules; ``changed`` are the relations with the change made."""
        broken: dict[str, str] = {}
        for rule in self.dependencies.dependents(name):
            try:
                self._bind(rule, changed)
            except TidingsError as error:
                broken[f"rule {rule.name}"] = error.message
        if broken:
            raise BreaksViews(name=name, dependents=", ".join(broken), reason="; ".join(broken.values()))

    def _bind(self, rule: Rule, changed: Relations) -> None:
        context, write_parts = self.transactions.context, self.transactions.write_parts
        bound = replace(context.registry.binder, relations=changed).bind(rule.record, rule.statement)
        context.actions.check(bound, Workspace(replace(write_parts, relations=changed)))
