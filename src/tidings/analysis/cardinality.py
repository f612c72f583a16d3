"""How many rows a relation can have: whether it is one at most."""

from __future__ import annotations

from tidings.ir.relation import (
    Aggregate,
    Filter,
    Join,
    OuterJoin,
    Project,
    Relation,
    SemiJoin,
    SetOperation,
    Values,
    Window,
)


def at_most_one_row(plan: Relation) -> bool:
    """Whether a relation has never more than one row, whatever the tables hold.

    >>> from tidings.ir.text import parse
    >>> at_most_one_row(parse("aggregate g [] [n bigint := COUNT(*)]\\n  scan t t [a int]"))
    True
    """
    match plan:
        case Aggregate():
            return not plan.keys or at_most_one_row(plan.input)
        case Filter() | Project() | Window():
            return at_most_one_row(plan.input)
        case Join():
            return all(map(at_most_one_row, plan.inputs))
        case OuterJoin():
            return at_most_one_row(plan.left) and at_most_one_row(plan.right)
        case SemiJoin() | SetOperation():
            return at_most_one_row(plan.left)
        case Values():
            return len(plan.rows) <= 1
        case _:
            return False
