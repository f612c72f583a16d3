"""How a table is cut into fragments: a tree with a table at each leaf.

    union   R = R1 ⊎ R2     each part has the rows for which its condition is true
    join    R = R1 ⋈ R2     each part has some of the columns, and the key

A part of a union or a join may be one itself.  There is one key in a tree: every join is by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

PartKind = Literal["table", "union", "join"]


@dataclass(frozen=True, slots=True)
class FragmentTree:
    """A fragment, or several that stand for a part of a table."""

    kind: PartKind
    columns: tuple[str, ...]
    condition: str | None = None
    """True for the rows of a part of a union; none if it may have all."""
    parts: tuple[FragmentTree, ...] = ()
    table: str = ""
    """The name of a leaf's table."""
    site: str = ""
    """Where a leaf is."""

    def leaves(self) -> Iterator[FragmentTree]:
        """The fragments, from left to right."""
        if self.kind == "table":
            yield self
        for part in self.parts:
            yield from part.leaves()

    def to_json(self) -> dict[str, Any]:
        facts = {
            "kind": self.kind,
            "columns": list(self.columns),
            "condition": self.condition,
            "parts": [part.to_json() for part in self.parts],
            "table": self.table,
            "site": self.site,
        }
        return {name: value for name, value in facts.items() if value}

    @staticmethod
    def from_json(facts: dict[str, Any]) -> FragmentTree:
        return FragmentTree(
            facts["kind"],
            tuple(facts["columns"]),
            facts.get("condition"),
            tuple(map(FragmentTree.from_json, facts.get("parts", ()))),
            facts.get("table", ""),
            facts.get("site", ""),
        )


@dataclass(frozen=True, slots=True)
class FragmentScheme:
    """What a table is fragmented by."""

    tree: FragmentTree
    key: tuple[str, ...] = ()
    """The primary key of the whole, which every fragment has."""
    owns_tables: bool = False
    """Whether the fragments were made with the table, and go with it."""

    def tables(self) -> list[str]:
        """The names of the fragments, from left to right."""
        return [leaf.table for leaf in self.tree.leaves()]

    def to_json(self) -> dict[str, Any]:
        return {"tree": self.tree.to_json(), "key": list(self.key), "owns_tables": self.owns_tables}

    @staticmethod
    def from_json(facts: dict[str, Any]) -> FragmentScheme:
        return FragmentScheme(FragmentTree.from_json(facts["tree"]), tuple(facts["key"]), facts["owns_tables"])
