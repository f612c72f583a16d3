"""The walks of docs/architecture.md name files that are there, in the order in which they are entered.

A walk is a numbered list whose items begin with a file.  A file is imported by one before it, directly or through
others.  Where a lower layer calls what an upper one has given it, the item says "called back"; then the file itself
imports one before it.  No file is entered twice, unless the item says "again".
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import grimp
import pytest

from tests.architecture.source import PACKAGE, ROOT


class Stop(NamedTuple):
    """One item of a walk."""

    file: str
    text: str

    @property
    def module(self) -> str:
        return "tidings." + self.file.removesuffix(".py").replace("/", ".")


def walks() -> dict[str, list[Stop]]:
    """The walks by their headings."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (The walk of [^\n]+)\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    return {
        title: [
            Stop(file, text)
            for file, text in re.findall(
                r"^\d+\. `([\w/]+\.py)`(.*?)(?=^\d+\. |\n\n|\Z)", body, re.MULTILINE | re.DOTALL
            )
        ]
        for title, body in sections
    }


@cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("tidings", cache_dir=None)


def imports(one: str, other: str) -> bool:
    """Whether a module imports another, directly or through others."""
    return graph().find_shortest_chain(one, other) is not None


def test_there_are_two_walks() -> None:
    assert [len(walk) >= 8 for walk in walks().values()] == [True, True]


@pytest.mark.parametrize("title", walks())
def test_files_of_a_walk_exist(title: str) -> None:
    assert [stop.file for stop in walks()[title] if not (PACKAGE / stop.file).is_file()] == []


@pytest.mark.parametrize("title", walks())
def test_files_of_a_walk_are_imported_by_those_before(title: str) -> None:
    wrong, before = [], list[Stop]()
    for stop in walks()[title]:
        if "called back" in stop.text:
            is_linked = any(imports(stop.module, earlier.module) for earlier in before)
        else:
            is_linked = not before or any(imports(earlier.module, stop.module) for earlier in before)
        if not is_linked:
            wrong.append(stop.file)
        before.append(stop)
    assert wrong == []


@pytest.mark.parametrize("title", walks())
def test_no_file_is_entered_twice_without_a_reason(title: str) -> None:
    seen: set[str] = set()
    twice = []
    for stop in walks()[title]:
        if stop.file in seen and "again" not in stop.text:
            twice.append(stop.file)
        seen.add(stop.file)
    assert twice == []
