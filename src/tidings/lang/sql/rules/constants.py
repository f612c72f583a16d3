"""Takes the constants out of the conditions of rules, so that rules that differ only in constants share one query.

``qty < 10`` and ``qty < 20`` have one template: the same query with a column in the place of the number.  The constants
of all rules are the rows of a relation, :data:`CONSTANTS`, that is joined into the template.  Each row of the result
says in the column :data:`RULE` which rule it belongs to.

Only what something is compared with, in the WHERE of a plain SELECT, is taken out.  A number keeps the type it has as a
literal, or gets a wider one, so the comparison means the same.  A string literal takes its meaning from the other side
of the comparison, but a column of strings does not; so it is taken out only where the other side is a column of
strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from sqlglot import exp

from tidings.errors import TidingsError
from tidings.ir import types
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.ir.relation import Column, Relation
from tidings.lang.sql.bind import bind
from tidings.lang.sql.context import Analyzer, ExtendedNamespace, Namespace
from tidings.lang.sql.rules.condition import is_plain
from tidings.lang.sql.statements.rule import CreateRule

CONSTANTS = "constants of rules"
"""The relation with a row of constants per rule, in a template; in the plan of a shape it has the shape's name too."""

RULE = "id of the rule"
"""The column of that relation with the number of the rule."""

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)

Constant: TypeAlias = int | Decimal | str


@dataclass(frozen=True, slots=True)
class ConditionTemplate:
    """The condition of a rule with columns in the place of its constants, and the constants that were there."""

    tree: Expression
    constants: tuple[Constant, ...]
    constant_columns: tuple[Column, ...]

    @property
    def key(self) -> str:
        """Equal for rules that have the same template."""
        types = ", ".join(c.type for c in self.constant_columns)
        return f"{self.tree.sql(DIALECT, comments=False)} [{types}]"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the relation :data:`CONSTANTS` for this template."""
        return (Column(RULE, "bigint"), *self.constant_columns)

    def bind(self, name: str, text: str, namespace: Namespace, analyzer: Analyzer) -> Relation | None:
        """The plan of the template, whose constants are those of :func:`constants_of` its name.

        None if it cannot be bound with columns in the place of constants.
        """
        tree, relation = self.tree.copy(), constants_of(name)
        for table in tree.find_all(exp.Table):
            if table.name == CONSTANTS:
                table.set("this", exp.to_identifier(relation, quoted=True))
        try:
            return bind(tree, text, ExtendedNamespace(namespace, {relation: self.columns}), analyzer, name)
        except TidingsError:
            return None


def constants_of(name: str) -> str:
    """The relation with the constants of the rules of one shape, by the name of the shape."""
    return f"{CONSTANTS} of {name}"


def take_constants(statement: CreateRule, namespace: Namespace) -> ConditionTemplate | None:
    """The template of a rule's condition; None if it has no constants that can be taken out."""
    tree = statement.query.copy()
    if statement.parameters or not isinstance(tree, exp.Select) or not is_plain(tree) or not tree.args.get("where"):
        return None
    if any(item.is_star for item in tree.expressions) or _has_subqueries(tree):
        return None
    constants: list[Constant] = []
    columns: list[Column] = []
    for literal in list(tree.args["where"].find_all(exp.Literal)):
        signed = literal.parent if isinstance(literal.parent, exp.Neg) else literal
        typed = _typed_constant(signed, literal, tree, namespace) if isinstance(signed.parent, _COMPARISONS) else None
        if typed is not None:
            constants.append(typed[0])
            columns.append(Column(f"c{len(columns)}", typed[1]))
            signed.replace(exp.column(columns[-1].name, table="constant"))
    if not constants:
        return None
    relation = exp.Table(this=exp.to_identifier(CONSTANTS, quoted=True))
    relation.set("alias", exp.TableAlias(this=exp.to_identifier("constant")))
    tree.append("joins", exp.Join(this=relation, kind="CROSS"))
    rule = exp.column(exp.to_identifier(RULE, quoted=True), table="constant")
    tree.append("expressions", rule.as_(RULE, quoted=True))
    return ConditionTemplate(tree, tuple(constants), tuple(columns))


def _has_subqueries(tree: exp.Select) -> bool:
    return any(isinstance(node, exp.Query) for node in tree.walk() if node is not tree)


def _typed_constant(
    signed: Expression, literal: exp.Literal, tree: exp.Select, namespace: Namespace
) -> tuple[Constant, str] | None:
    """The value of a literal with its sign, and its type; None if it has to stay where it is."""
    if literal.is_string:
        others = [node for node in signed.parent.iter_expressions() if node is not signed] if signed.parent else []
        return (literal.name, "string") if all(_is_string(node, tree, namespace) for node in others) else None
    sign = -1 if signed is not literal else 1
    if literal.is_int:
        number = sign * int(literal.name)
        return None if abs(number) >= 2**63 else (number, "int" if abs(number) < 2**31 else "bigint")
    type = types.roomy_decimal(literal.name)
    return None if type is None else (sign * Decimal(literal.name), type)


def _is_string(node: Expression, tree: exp.Select, namespace: Namespace) -> bool:
    """Whether an expression is a column of strings, or another string."""
    if isinstance(node, exp.Literal):
        return node.is_string
    if not isinstance(node, exp.Column):
        return False
    types = set()
    for table in tree.find_all(exp.Table):
        if node.table and table.alias_or_name.lower() != node.table.lower():
            continue
        known = namespace.columns(table.name)
        types |= {c.type for c in (known[1] if known else ()) if c.name.lower() == node.name.lower()}
    return types == {"string"}
