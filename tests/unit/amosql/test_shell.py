"""The shell: statements over several lines, answers as tables, files, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

import tidings
from tidings.amosql.__main__ import main
from tidings.amosql.shell import GOES_ON, PROMPT, Shell, history, statements


def typed(*lines: str | BaseException) -> tuple[Callable[[str], str], list[str]]:
    """A terminal at which lines are typed, and the prompts that it showed."""
    remaining, prompts = list(lines), list[str]()

    def read_line(prompt: str) -> str:
        prompts.append(prompt)
        if not remaining:
            raise EOFError
        line = remaining.pop(0)
        if isinstance(line, BaseException):
            raise line
        return line

    return read_line, prompts


def test_a_statement_takes_several_lines() -> None:
    read_line, prompts = typed("create type", "  item;", "commit;")
    assert list(statements(read_line)) == ["create type\n  item;", "commit;"]
    assert prompts == [PROMPT, GOES_ON, PROMPT, PROMPT]


def test_a_block_goes_on_after_its_semicolons() -> None:
    read_line, _ = typed("create procedure p() as begin", "  add f() = 1;", "  add f() = 2;", "end;")
    assert len(list(statements(read_line))) == 1


def test_an_empty_line_or_an_interrupt_gives_a_statement_up() -> None:
    read_line, _ = typed("create", "", "commit;", "select", KeyboardInterrupt(), "rollback;", "comm")
    assert list(statements(read_line)) == ["commit;", "rollback;", "comm"]


def test_a_conversation() -> None:
    console = Console(record=True, width=100, force_terminal=False)
    lines = ["help", "create type item; create function quantity(item) -> integer;", "create item instances :a;"]
    lines += [
        "set quantity(:a) = 5;",
        "select i, quantity(i) for each item i;",
        "select quantty(:a);",
        ";",
        "quit",
        "no",
    ]
    with tidings.open(engine="duckdb") as db:
        Shell(db, console).converse(typed(*lines)[0])
        assert db.query("quantity").rows() == []
    shown = console.export_text()
    assert "Statements end with a semicolon" in shown
    assert "│ 1 │ 5" in shown
    assert "1 row" in shown
    assert "did you mean quantity?" in shown


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, question, wrong = tmp_path / "schema.amosql", tmp_path / "question.amosql", tmp_path / "wrong.amosql"
    schema.write_text("create type item; create item instances :a, :b; commit;", encoding="utf-8")
    question.write_text("select count(select i for each item i);", encoding="utf-8")
    wrong.write_text("select i for each itm i;", encoding="utf-8")
    folder = ["--db", str(tmp_path / "shop"), "--engine", "duckdb"]
    assert main([*folder, str(schema), str(question)]) == 0
    assert "│ 2 " in capsys.readouterr().out
    assert main([*folder, str(question)]) == 0
    assert "│ 2 " in capsys.readouterr().out
    assert main([*folder, str(wrong), str(question)]) == 1
    assert "did you mean item?" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*folder, str(tmp_path / "absent.amosql")])
    assert "cannot be read" in capsys.readouterr().err


def test_history_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "history"
    with history(path):
        pass
    assert path.exists()
    with history(path):
        pass
