"""Modules, folders, functions and constructors are small enough to be read at once; a class name means one thing."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.architecture.source import ROOT, classes, functions, modules, packages, shown

MODULE_LINES, FOLDER_FILES, FUNCTION_LINES, BRANCHES, PARAMETERS = 400, 21, 45, 15, 7

_BRANCH = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.match_case)


def test_modules_are_short() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES} == {}


def test_folders_are_small() -> None:
    sizes = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in packages()}
    assert {name: files for name, files in sizes.items() if files > FOLDER_FILES} == {}


def test_functions_are_short() -> None:
    """A function that goes through all kinds of node may be long: it is a table."""
    long = [
        shown(path, function)
        for path in modules()
        for function in functions(path)
        if not _is_exhaustive(function) and _lines(function) > FUNCTION_LINES
    ]
    assert long == []


def test_functions_have_few_branches() -> None:
    branching = [
        shown(path, function)
        for path in modules()
        for function in functions(path)
        if not _is_exhaustive(function) and sum(isinstance(n, _BRANCH) for n in ast.walk(function)) > BRANCHES
    ]
    assert branching == []


def test_constructors_take_few_parameters() -> None:
    """A plain record may have many: nobody has to build it from parts that work."""
    wide = [
        shown(path, one)
        for path in modules()
        for one in classes(path)
        if _parameters(one) > PARAMETERS and not _is_record(one)
    ]
    assert wide == []


def test_a_class_name_means_one_thing() -> None:
    homes = defaultdict(set)
    for path in modules():
        for one in classes(path):
            homes[one.name].add(str(path.relative_to(ROOT)))
    assert {name: sorted(paths) for name, paths in homes.items() if len(paths) > 1} == {}


def _is_exhaustive(function: ast.AST) -> bool:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(isinstance(name, ast.Name) and name.id == "assert_never" for name in calls)


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its docstring."""
    first = function.body[0]
    is_docstring = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if is_docstring else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def _parameters(one: ast.ClassDef) -> int:
    """The parameters of a constructor, written or made by ``dataclass``."""
    for part in one.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return len(part.args.args) + len(part.args.kwonlyargs) - 1
    if not any("dataclass" in ast.unparse(decorator) for decorator in one.decorator_list):
        return 0
    fields = [ast.unparse(part) for part in one.body if isinstance(part, ast.AnnAssign)]
    return sum("init=False" not in text and "ClassVar" not in text for text in fields)


def _is_record(one: ast.ClassDef) -> bool:
    """Whether a class is a value that never changes, or data with properties at most."""
    if any("frozen=True" in ast.unparse(decorator) for decorator in one.decorator_list):
        return True
    methods = [part for part in one.body if isinstance(part, ast.FunctionDef)]
    return all(method.name.startswith("__") or _is_accessor(method) for method in methods)


def _is_accessor(method: ast.FunctionDef) -> bool:
    kinds = {ast.unparse(decorator).partition("(")[0] for decorator in method.decorator_list}
    return bool(kinds & {"property", "staticmethod", "classmethod"})
