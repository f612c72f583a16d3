"""HiPAC's renamings: ``~A`` is what an attribute was, ``A~`` what it is now."""

from __future__ import annotations

from dataclasses import replace
from typing import overload

from tidings.algebra.delta_relations.instance import RelationInstance
from tidings.errors import InvalidExpression

TILDE = "~"


@overload
def pretilde(of: str) -> str: ...
@overload
def pretilde(of: RelationInstance) -> RelationInstance: ...
def pretilde(of: str | RelationInstance) -> str | RelationInstance:
    """``~A`` of a name; a relation with all its attributes renamed so, and its tid.

    >>> pretilde("Salary")
    '~Salary'
    """
    if isinstance(of, str):
        return TILDE + of
    return replace(of, attributes=tuple(map(pretilde, of.attributes)), tid=pretilde(of.tid))


@overload
def posttilde(of: str) -> str: ...
@overload
def posttilde(of: RelationInstance) -> RelationInstance: ...
def posttilde(of: str | RelationInstance) -> str | RelationInstance:
    """``A~`` of a name; a relation with all its attributes renamed so, and its tid.

    >>> posttilde("Salary")
    'Salary~'
    """
    if isinstance(of, str):
        return of + TILDE
    return replace(of, attributes=tuple(map(posttilde, of.attributes)), tid=posttilde(of.tid))


def untilde(relation: RelationInstance) -> RelationInstance:
    """The relation without tildes; refused unless all names have one, and all on the same side.

    >>> emp = RelationInstance.of(("Name",), (1, "Joe"))
    >>> untilde(pretilde(emp)) == emp == untilde(posttilde(emp))
    True
    """
    names = [relation.tid, *relation.attributes]
    if all(name.startswith(TILDE) for name in names):
        tid, *attributes = (name.removeprefix(TILDE) for name in names)
    elif all(name.endswith(TILDE) for name in names):
        tid, *attributes = (name.removesuffix(TILDE) for name in names)
    else:
        reason = f"untilde needs a tilde before every name or behind every name, and these are {', '.join(names)}"
        raise InvalidExpression(reason=reason)
    return replace(relation, attributes=tuple(attributes), tid=tid)
