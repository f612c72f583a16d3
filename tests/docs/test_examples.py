"""The examples print what their page says."""

from __future__ import annotations

import io
import re
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(HOME.glob("*.py"))


def shown(script: str) -> str:
    """The block under the heading of a script."""
    page = (HOME / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {re.escape(script)}$.*?^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(found)


def test_there_are_examples() -> None:
    assert len(SCRIPTS) == 4


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_prints_what_its_page_says(script: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [script.name, "--engine", engine])
    with redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(script), run_name="__main__")
    assert printed.getvalue() == shown(script.name)
