"""What a text of AMOSQL says: statements and expressions as they are written, before any name is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tidings.errors import Place

Value: TypeAlias = bool | int | float | str

# expressions


@dataclass(frozen=True, slots=True)
class ConstantExpression:
    value: Value
    place: Place


@dataclass(frozen=True, slots=True)
class Name:
    """A variable or parameter."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class InterfaceVariable:
    """``:name``, a variable of the session."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class FunctionCall:
    function: str
    arguments: tuple[Expression | SelectQuery, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: str
    left: Expression
    right: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class ComparisonExpression:
    operator: str
    left: Expression
    right: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class Negation:
    operand: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class Conjunction:
    operands: tuple[Expression, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Disjunction:
    operands: tuple[Expression, ...]
    place: Place


Expression: TypeAlias = (
    ConstantExpression
    | Name
    | InterfaceVariable
    | FunctionCall
    | Arithmetic
    | ComparisonExpression
    | Negation
    | Conjunction
    | Disjunction
)


@dataclass(frozen=True, slots=True)
class VariableDeclaration:
    """``item i``: a variable, or a parameter, which need not have a name."""

    type: str
    name: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class SelectQuery:
    """``select … [into …] [for each …] [where …]``."""

    expressions: tuple[Expression, ...]
    into: tuple[InterfaceVariable, ...]
    declarations: tuple[VariableDeclaration, ...]
    where: Expression | None
    distinct: bool
    place: Place


# what is done


@dataclass(frozen=True, slots=True)
class UpdateFunction:
    """``set``, ``add`` or ``remove``; without a value all values go."""

    kind: str
    call: FunctionCall
    value: Expression | None
    declarations: tuple[VariableDeclaration, ...]
    where: Expression | None
    place: Place


@dataclass(frozen=True, slots=True)
class Assign:
    """``set :x = …``."""

    variable: InterfaceVariable
    value: Expression | SelectQuery
    place: Place


@dataclass(frozen=True, slots=True)
class DeleteObjects:
    object: Expression
    declarations: tuple[VariableDeclaration, ...]
    where: Expression | None
    place: Place


@dataclass(frozen=True, slots=True)
class ForEach:
    declarations: tuple[VariableDeclaration, ...]
    where: Expression | None
    body: Action
    place: Place


@dataclass(frozen=True, slots=True)
class ActionBlock:
    actions: tuple[Action, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class If:
    condition: Expression
    then: Action
    otherwise: Action | None
    place: Place


@dataclass(frozen=True, slots=True)
class CallStatement:
    """A call on its own: of a procedure, or of a function whose value is to be shown."""

    call: FunctionCall
    place: Place


Action: TypeAlias = UpdateFunction | Assign | DeleteObjects | ForEach | ActionBlock | If | CallStatement | SelectQuery


@dataclass(frozen=True, slots=True)
class CreateInstances:
    type: str
    variables: tuple[InterfaceVariable, ...]
    place: Place


# definitions


@dataclass(frozen=True, slots=True)
class CreateType:
    name: str
    parent: str | None
    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """The name under which a function of Python is registered."""

    name: str


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """A function: stored without a body, derived by a query, foreign, or a procedure."""

    name: str
    parameters: tuple[VariableDeclaration, ...]
    result: VariableDeclaration | None
    many: bool
    body: Foreign | Action | None
    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class DefineRule:
    name: str
    parameters: tuple[VariableDeclaration, ...]
    declarations: tuple[VariableDeclaration, ...]
    condition: Expression
    action: Action
    nervous: bool
    priority: int
    place: Place
    text: str


Definition: TypeAlias = CreateType | CreateFunction | DefineRule


@dataclass(frozen=True, slots=True)
class DropDefinition:
    kind: Literal["type", "function", "rule"]
    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Activate:
    name: str
    arguments: tuple[Expression | SelectQuery, ...]
    on: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Explain:
    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Commit:
    place: Place


@dataclass(frozen=True, slots=True)
class Rollback:
    place: Place


Statement: TypeAlias = Definition | DropDefinition | Activate | Explain | Commit | Rollback | CreateInstances | Action
