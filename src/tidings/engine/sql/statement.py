"""Statements with slots: SQL text that is printed once, with places for the keys of each batch.

The restriction of a scan to the keys of a delta is a test in the text, ``expression IN (slot)``.  The test is filled in
when the statement runs: the keys change from batch to batch, the text does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tidings.delta.key_columns import KeyColumn, key_columns
from tidings.ir.relation import Restrict


@dataclass(frozen=True, slots=True)
class KeyList:
    """A list of literal keys that a statement reads: the values of some columns of deltas."""

    slot: str
    columns: tuple[KeyColumn, ...]
    type: str


@dataclass(frozen=True, slots=True)
class KeyTest:
    """A place in a statement where an expression is compared with a list of keys, or with ranges that contain them."""

    tested: str
    slot: str
    ranges: bool = False

    @property
    def text(self) -> str:
        return f"{self.tested} {'WITHIN' if self.ranges else 'IN'} ({self.slot})"


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """SQL text with slots for lists of keys."""

    text: str
    key_lists: tuple[KeyList, ...]
    small: bool
    """Whether all it reads is a delta or restricted by a list of keys."""
    tests: tuple[KeyTest, ...] = ()

    def filled(self, among: Callable[[KeyList, KeyTest], str], since: str = "since", until: str = "until") -> str:
        """The text with every test filled in, and the ends of the batch."""
        text = self.text.replace("__SINCE()", since).replace("__UNTIL()", until)
        keys = {k.slot: k for k in self.key_lists}
        tests = {t.text: among(keys[t.slot], t) for t in self.tests}
        places = "|".join(map(re.escape, sorted(tests, key=len, reverse=True)))
        return re.sub(places, lambda place: tests[place[0]], text) if tests else text


def listable_keys(node: Restrict, listed: frozenset[str]) -> tuple[KeyColumn, ...] | None:
    """The columns of deltas that hold all keys of a restriction, if they may be written as literals."""
    columns = key_columns(node)
    return columns if columns is not None and all(relation in listed for relation, _ in columns) else None


@dataclass(slots=True)
class KeySlots:
    """The key lists and tests of a statement while it is printed.

    Keys of deltas in ``listed`` are written as literals, those of deltas in ``ranged`` as ranges that contain them.
    """

    listed: frozenset[str]
    ranged: frozenset[str]
    key_lists: dict[tuple[KeyColumn, ...], KeyList] = field(init=False, default_factory=dict)
    tests: dict[KeyTest, None] = field(init=False, default_factory=dict)

    def are_listed(self, node: Restrict) -> bool:
        """Whether the keys of a restriction are written as literals."""
        return listable_keys(node, self.listed) is not None

    def list_test(self, node: Restrict, tested: str) -> str | None:
        """The test of an expression against the listed keys of a restriction; None if they are not listed."""
        keys = self._key_list(node, self.listed)
        return None if keys is None else self._test(KeyTest(tested, keys.slot), node)

    def range_test(self, node: Restrict, tested: str) -> str | None:
        """The test against ranges that contain the keys; None if they do not come from small deltas."""
        keys = self._key_list(node, self.listed | self.ranged)
        return None if keys is None else self._test(KeyTest(tested, keys.slot, ranges=True), node)

    def _test(self, test: KeyTest, node: Restrict) -> str:
        """The text of a test; it holds for NULL too where the restriction is null-safe."""
        self.tests[test] = None
        return f"({test.text} OR {test.tested} IS NULL)" if node.null_safe else test.text

    def _key_list(self, node: Restrict, listed: frozenset[str]) -> KeyList | None:
        """The slot for the keys of a restriction, where they come from the deltas in ``listed``."""
        columns = listable_keys(node, listed)
        if columns is None:
            return None
        slot = f"__keys_{len(self.key_lists)}__"
        return self.key_lists.setdefault(columns, KeyList(slot, columns, node.keys.fields[0].type))
