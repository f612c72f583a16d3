"""The documentation is true: its code runs, its output is what is shown, its links lead somewhere."""

from __future__ import annotations

import io
import re
import runpy
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings.demo.__main__ import main as demo
from tidings.lang.sql import statement

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WRITTEN = [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "examples").rglob("*.md"))]
EXAMPLE = ROOT / "examples" / "inventory"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: what it is written in, its text, its first line's number."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    opened: tuple[str, int] | None = None
    held: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("```"):
            held.append(line)
        elif opened is None:
            opened, held = (line[3:].strip(), number + 1), []
        else:
            found.append(Block(opened[0], "\n".join(held), opened[1]))
            opened = None
    assert opened is None, f"{page.name}: a block is not closed"
    return found


def run_python(page: Path, block: Block, names: dict[str, Any]) -> str:
    """Run a block at its place in the page, so that an error names the line; what it printed."""
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    with redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return printed.getvalue()


def run_page(page: Path) -> None:
    """Run the blocks of a page in one namespace; hold what they print against the text that follows.

    A block that prints nothing may be followed by a text that belongs to what comes next.
    """
    names: dict[str, Any] = {}
    printed: str | None = None
    end = 0
    for block in blocks(page):
        where = f"{page.name}, line {block.line}"
        if block.language == "python":
            printed, end = run_python(page, block, names), block.line + len(block.text.splitlines())
            continue
        if block.language == "sql":
            assert statement.read(block.text), where
            if "db" in names:
                names["db"].sql(block.text)
        elif block.language == "text" and printed is not None and (printed or block.line == end + 3):
            assert lines(printed) == lines(block.text), where
        printed = None


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


ON_SPARK = ROOT / "docs" / "spark.md"
"""The page whose code works in a session of Spark."""


@pytest.mark.parametrize("page", [page for page in PAGES if page != ON_SPARK], ids=lambda page: page.stem)
def test_code_of_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = tidings.open
    monkeypatch.setattr(tidings, "open", lambda *path, **options: opened(*path, **{"engine": "duckdb"} | options))
    run_page(page)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_code_in_a_session_runs() -> None:
    run_page(ON_SPARK)


@pytest.mark.spark
def test_readme_runs_as_pasted() -> None:
    run_page(ROOT / "README.md")


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_name_their_language(page: Path) -> None:
    assert {b.language for b in blocks(page)} <= {"python", "sql", "text", "sh"}


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in headings(linked), f"{page.name} links to {target}"


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_named_in_prose_exist(page: Path) -> None:
    """A name such as `delta/restrict.py` or `engine/` is a path from the root, from the package or from the page."""
    for name in re.findall(r"`([\w./-]+(?:\.(?:py|sql|md|toml)|/))`", prose(page)):
        homes = (ROOT, ROOT / "src" / "tidings", page.parent, EXAMPLE)
        assert any((home / name).exists() for home in homes), f"{page.name} names {name}"


def test_equations_are_numbered_in_order() -> None:
    text = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
    numbers = [int(n) for n in re.findall(r"^### S(\d+)\. ", text, flags=re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def run_example(engine: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "argv", ["run.py", "--engine", engine])
    with redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(EXAMPLE / "run.py"), run_name="__main__")
    return printed.getvalue()


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def test_example_prints_what_its_page_says(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = [b for b in blocks(EXAMPLE / "README.md") if b.language == "text"]
    assert lines(run_example(engine, monkeypatch)) == lines(shown.text)


@pytest.mark.parametrize("name", ["schema.sql", "views.sql", "rules.sql"])
def test_demo_has_the_statements_of_the_example(name: str) -> None:
    inside = ROOT / "src" / "tidings" / "demo" / name
    assert inside.read_text(encoding="utf-8") == (EXAMPLE / name).read_text(encoding="utf-8")


DEMO_FACTS = [
    r"└── threshold",
    r"08:00 .* item 1 begins to be low",
    r"08:30 .* nothing changes",
    r"09:00 .* nothing changes",
    r"09:30 .* item 2 begins to be low",
    r"10:00 .* item 1 ceases to be low",
    r"10:30 .* item 2 ceases to be low",
    r"11:00 .* item 1 begins to be low",
    r"ordered: 4880 of item 1 ",
    r"ordered: 7190 of item 2 ",
    r"ordered: 4861 of item 1 ",
    r"Between the first state and the last: item 1 became low\.",
    r"The rule ordered item 1 twice and item 2 once: once per shortage",
    r"11:30 .* nothing changes",
    r"item 1: 4900 pieces",
    r"full recompute of 20 rows",
    r"recompute / wave .* \d+\.\d",
    r"There were 2,002 items; the day touched 2 of them\.",
]


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def test_demo_prints_its_facts(engine: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert demo(["--engine", engine, "--items", "2000"]) == 0
    printed = capfd.readouterr().out
    for fact in DEMO_FACTS:
        assert re.search(fact, printed), f"{fact} is not in\n{printed}"
    assert printed.count("ordered: ") == 3


def test_demo_refuses_a_negative_number_of_items(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo(["--items", "-1"])
    assert "--items cannot be negative" in capsys.readouterr().err
