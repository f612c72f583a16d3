"""The progress bar: on a terminal, after a while, and gone afterwards."""

from __future__ import annotations

import io
from threading import Event

import pytest
from rich.console import Console
from rich.progress import Progress

from tidings.store.relation.progress import nobody, progress


def test_nothing_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("loading", wait=0) as seen:
        assert seen is nobody
        seen(1, 2)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    output, started, start = io.StringIO(), Event(), Progress.start

    def started_once(bar: Progress) -> None:
        start(bar)
        started.set()

    monkeypatch.setattr(Progress, "start", started_once)
    console = Console(file=output, force_terminal=True, width=100)
    with progress("loading stock", console, wait=0) as seen:
        assert started.wait(30)
        seen(3, 7)
    assert "loading stock" in output.getvalue()
    assert "3/7" in output.getvalue()


def test_what_is_quick_shows_no_bar() -> None:
    output = io.StringIO()
    with progress("loading", Console(file=output, force_terminal=True), wait=600) as seen:
        seen(1, None)
    assert "loading" not in output.getvalue()
