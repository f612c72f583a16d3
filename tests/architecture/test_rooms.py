"""Every library has its room: others get at what it does through the project's own modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, modules, tree

ROOMS = {
    "sqlglot": ("algebra", "analysis", "delta", "engine", "ir", "lang", "rewrite"),
    "pyspark": ("engine/spark",),
    "duckdb": ("engine/duckdb",),
    "lark": ("lang",),
}
"""Where a library may be imported: packages or modules, below the top."""


def imported(path: Path) -> Iterator[str]:
    """The top-level packages that a module imports, wherever in its text."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("library", ROOMS)
def test_a_library_is_imported_only_in_its_rooms(library: str) -> None:
    rooms = [PACKAGE / room for room in ROOMS[library]]
    importers = [path for path in modules() if library in imported(path)]
    assert importers, "the rooms name a library that nobody uses"
    strays = [path for path in importers if not any(path == room or room in path.parents for room in rooms)]
    assert [str(path.relative_to(PACKAGE)) for path in strays] == []
