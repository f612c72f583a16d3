"""Partial differencing over sets: the calculus of AMOS, as symbols and as values, for reading and for checking.

Set expressions and delta-sets come in; differentials, as expressions or as values, go out.  The kernel in
:mod:`tidings.delta` computes with weighted rows and does not use it: this is an oracle that shares no code with it.
It imports no other package.
"""

from tidings.algebra.calculus.deltaset import (
    DeltaSet,
    PhysicalEvent,
    Row,
    RowSet,
    Sign,
    accumulate,
    apply,
    delta_union,
    logical_rollback,
    net,
)
from tidings.algebra.calculus.expression import (
    Attribute,
    DeltaMinus,
    DeltaPlus,
    NaturalJoin,
    NewState,
    OldState,
    Projection,
    Selection,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetProduct,
    SetUnion,
    join,
    project,
    relation,
    select,
)
from tidings.algebra.calculus.facts import Facts, evaluate
from tidings.algebra.calculus.network import Propagation, delta, levels, propagate, split
from tidings.algebra.calculus.partial import differentials, influents, old, partial, strict
from tidings.algebra.calculus.scalar import Scalar
from tidings.algebra.calculus.text import show

__all__ = [
    "Attribute",
    "DeltaMinus",
    "DeltaPlus",
    "DeltaSet",
    "Facts",
    "NaturalJoin",
    "NewState",
    "OldState",
    "PhysicalEvent",
    "Projection",
    "Propagation",
    "Row",
    "RowSet",
    "Scalar",
    "Selection",
    "SetDifference",
    "SetExpression",
    "SetIntersection",
    "SetProduct",
    "SetUnion",
    "Sign",
    "accumulate",
    "apply",
    "delta",
    "delta_union",
    "differentials",
    "evaluate",
    "influents",
    "join",
    "levels",
    "logical_rollback",
    "net",
    "old",
    "partial",
    "project",
    "propagate",
    "relation",
    "select",
    "show",
    "split",
    "strict",
]
