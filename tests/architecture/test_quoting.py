"""Names and texts become parts of SQL in one module; no other puts quotes around something that varies."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.architecture.source import PACKAGE, modules, tree

QUOTING = PACKAGE / "engine" / "sql" / "quoting.py"
PLAIN_CONSTANTS = {"TIME", "WEIGHT"}
"""Names of our own."""
CHECKED = {
    "engine/agreed/aggregates.py": "names of aggregates from a list",
    "engine/agreed/arithmetic.py": "powers of ten",
    "engine/agreed/casts.py": "forms of our own",
    "engine/agreed/expression.py": "numbers that a pattern admits",
    "engine/agreed/lambdas.py": "names of fields of our own",
    "engine/agreed/nested.py": "words of an order",
    "engine/agreed/term.py": "what errors say, in words of our own",
    "engine/agreed/texts.py": "paths into JSON, of steps that a pattern admits",
    "engine/agreed/times.py": "units from a list, formats that a pattern admits, whole numbers",
    "engine/duckdb/connection.py": "the name of a setting, and passes of the optimizer",
    "engine/sql/listed_inputs.py": "numbers, dates and instants, printed by Python",
}
"""Modules that put quotes around what cannot have a quote in it, and what that is."""


def interpolated_in_quotes(path: Path) -> list[str]:
    """The places of a module at which a value that varies stands between quotes of SQL, by line."""
    places = []
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.JoinedStr):
            continue
        parts = [p.value if isinstance(p, ast.Constant) else p for p in node.values]
        for before, value, after in zip(parts, parts[1:], parts[2:], strict=False):
            if not (isinstance(before, str) and isinstance(value, ast.FormattedValue) and isinstance(after, str)):
                continue
            opened, closed = re.search(r"([\"'`])$", before), re.search(r"^([\"'`])", after)
            of_ours = isinstance(value.value, ast.Name) and value.value.id in PLAIN_CONSTANTS
            if opened and closed and opened[1] == closed[1] and not of_ours:
                places.append(f"{path.name}:{node.lineno}")
    return places


def test_quotes_are_put_around_values_in_one_module() -> None:
    places = {path: interpolated_in_quotes(path) for path in modules() if path.is_relative_to(PACKAGE / "engine")}
    found = {str(path.relative_to(PACKAGE)): lines for path, lines in places.items() if lines and path != QUOTING}
    assert set(found) == set(CHECKED), found


def test_a_place_that_quotes_by_itself_is_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("rows = f'SELECT * FROM \"{name}\"'\n")
    assert interpolated_in_quotes(module) == ["module.py:1"]
