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
