"""A renamed plan is the same plan under other aliases."""

from __future__ import annotations

import pytest

from tests.unit.ir.test_text import KINDS
from tidings.ir.rename import rename
from tidings.ir.traverse import walk


@pytest.mark.parametrize("kind", KINDS)
def test_every_alias_is_replaced(kind: str) -> None:
    renamed = rename(KINDS[kind], lambda alias: f"{alias}_x")
    assert all(f.alias.endswith("_x") for n in walk(renamed) for f in n.fields)
    assert [f.name for f in renamed.fields] == [f.name for f in KINDS[kind].fields]


@pytest.mark.parametrize("kind", KINDS)
def test_renaming_back(kind: str) -> None:
    there = rename(KINDS[kind], lambda alias: f"{alias}_x")
    assert rename(there, lambda alias: alias.removesuffix("_x")) == KINDS[kind]
