"""Partial differencing over sets, the calculus of Risch and Sköld's AMOS, as symbols and as values.

The kernel in :mod:`tidings.delta` computes with weighted rows, because SQL speaks of bags.  This package is the
calculus that stands behind it, small enough to be read beside the paper: sets of tuples, the pair ⟨Δ+, Δ-⟩, one
differential per influent and sign, the old state by logical rollback.  Use it to see what a differential looks like,
to check a rule by hand, and as an oracle that shares no code with the kernel.

    deltaset     ⟨Δ+, Δ-⟩, delta-union, logical rollback, events to net change
    scalar       conditions and computed attributes of one row
    expression   set expressions: data only
    text         expressions as one line of algebra
    facts        new states and delta-sets, and the value of an expression over them
    partial      Table 1: the differential by one influent and sign
    network      breadth-first, bottom-up propagation over several definitions

The example of the paper, p(X, Z) ← q(X, Y) ∧ r(Y, Z):

>>> q, r = relation("q", "X", "Y"), relation("r", "Y", "Z")
>>> p = project(join(q, r), "X", "Z")
>>> print(show(partial(p, "q", Sign.PLUS)))
π[X, Z] (Δ+q ⋈ r)
>>> facts = Facts.after(
...     {"q": {(1, 1)}, "r": {(1, 2), (2, 3)}},
...     {"q": DeltaSet.of(plus={(1, 2)}), "r": DeltaSet.of(plus={(1, 4)})},
... )
>>> print(delta(p, facts))
⟨{⟨1, 3⟩, ⟨1, 4⟩}, {}⟩
"""

from tidings.algebra.deltaset import (
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
from tidings.algebra.expression import (
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
from tidings.algebra.facts import Facts, evaluate
from tidings.algebra.network import Propagation, delta, levels, propagate, split
from tidings.algebra.partial import differentials, influents, old, partial, strict
from tidings.algebra.scalar import Scalar
from tidings.algebra.text import show

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
