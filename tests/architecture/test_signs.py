"""Every room has a sign on its door, and stands in the tables that say what belongs where."""

from __future__ import annotations

import ast
import re
import tomllib

from tests.architecture.source import PACKAGE, ROOT, packages, tree


def test_every_package_says_what_it_is_for() -> None:
    wrong = {}
    for folder in packages():
        sign = ast.get_docstring(tree(folder / "__init__.py")) or ""
        if folder != PACKAGE and not 2 <= len(sign.splitlines()) <= 6:
            wrong[str(folder.relative_to(ROOT))] = sign
    assert wrong == {}


def test_contributing_lists_every_package() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]+) \|", text, flags=re.MULTILINE)
    listed = {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}
    top = {folder.name for folder in packages() if folder.parent == PACKAGE}
    assert top - listed == set()


def test_layers_have_every_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    listed = {name for layer in layers for name in re.findall(r"tidings\.([a-z_]+)", layer)}
    top = {folder.name for folder in packages() if folder.parent == PACKAGE}
    assert top - listed == set()
