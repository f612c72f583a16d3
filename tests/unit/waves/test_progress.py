"""Progress is shown on a terminal and nowhere else."""

from __future__ import annotations

import io

import pytest

from tidings.waves.progress import steps


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
