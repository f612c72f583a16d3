"""The reference has every public name, and is what the docstrings say."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import pytest

import tidings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_the_page_is_what_the_script_makes() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "api-reference"))
    assert script["page"]() == PAGE, "run 'make api'"


@pytest.mark.parametrize("name", tidings.__all__)
def test_every_public_name_is_there_with_a_sentence(name: str) -> None:
    found = re.search(rf"^## {name}\n+(?:```text\n.*?```\n+)?(\S.*)$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    assert not found[1].startswith("#")
    value = getattr(tidings, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert (inspect.getdoc(value) or "").strip()


def test_every_condition_is_there() -> None:
    classes, base = inspect.getmembers(tidings.errors, inspect.isclass), tidings.errors.TidingsError
    conditions = {name for name, value in classes if issubclass(value, base) and value is not base}
    assert len(conditions) > 100
    assert conditions <= set(re.findall(r"^- `(\w+)`: ", PAGE, flags=re.MULTILINE))


@pytest.mark.parametrize("name", tidings.__all__)
def test_every_public_name_has_an_example_of_all_it_has(name: str) -> None:
    """The examples run with the others of the page; those of two large classes are beside each method."""
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert section is not None
    shown = "\n".join(re.findall(r"^```python\n(.*?)^```", section[1], flags=re.MULTILINE | re.DOTALL))
    assert shown
    for member in re.findall(rf"^### {name}\.(\w+)$", section[1], flags=re.MULTILINE):
        if member not in SESSION_NEEDED:
            assert re.search(rf"\b{member}\b", shown), member
    if name in ("Database", "Transaction"):
        for part in section[1].split("\n### ")[1:]:
            assert "```python" in part, part.splitlines()[0]


SESSION_NEEDED = {"to_spark"}
"""What docs/spark.md shows: the examples of the reference need no JVM."""
