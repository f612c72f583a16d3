"""Progress is shown on a terminal and nowhere else."""

from __future__ import annotations

import io

import pytest

from tidings.engine.progress import rounds, steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("made", [Terminal, io.StringIO])
def test_only_a_terminal_shows_progress(monkeypatch: pytest.MonkeyPatch, made: type[io.StringIO]) -> None:
    screen = made()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert list(steps("filling low_stock", [1, 2, 3])) == [1, 2, 3]
    assert ("filling low_stock" in screen.getvalue()) == (made is Terminal)


@pytest.mark.parametrize(("after", "is_shown"), [(0.0, True), (60.0, False)])
def test_only_rounds_of_long_work_are_shown(monkeypatch: pytest.MonkeyPatch, after: float, is_shown: bool) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with rounds("deriving reach", after) as done:
        done(3)
        done(1_200)
    assert ("round 2, 1,200 new rows" in screen.getvalue()) == is_shown
