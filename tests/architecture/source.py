"""The source tree as the tests of its architecture see it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tidings"


def modules() -> list[Path]:
    """All modules, in the order of their paths."""
    return sorted(PACKAGE.rglob("*.py"))


def packages() -> list[Path]:
    """All folders with modules, the top one first."""
    return sorted({path.parent for path in modules()})


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions and methods of a module, inner ones too."""
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def classes(path: Path) -> Iterator[ast.ClassDef]:
    """The classes of a module."""
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef))


def shown(path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """Where something is, for a message."""
    return f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
