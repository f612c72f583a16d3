"""Measuring and reporting: what a report holds is found again, on the page too."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pytest

from benchmarks import draw, measure, page
from benchmarks.report import Bar, Plot, Report, Table, finished, ms
from tidings.errors import EngineFailed


def some_report() -> Report:
    table = Table("what took how long", ("what", "time"), (("wave", "3 ms"), ("recompute", "9 ms")))
    bars = [Bar("recompute / wave", 3.0, 2, at_most=False), Bar("wave / trivial", 3.0, 2, at_most=True)]
    plot = Plot("some", "Some", "size", "seconds", {"wave": [(1.0, 0.1), (2.0, math.inf)]})
    return finished("inventory", "About it.", [table], bars, [plot], ["a note"])


def test_bars_say_by_how_much_they_are_missed() -> None:
    met, missed = some_report().bars
    assert (met.outcome, missed.outcome) == ("met", "missed by 1.50 times")


def test_reports_are_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    monkeypatch.setattr(draw, "IMAGES", tmp_path / "images")
    report = some_report()
    report.publish()
    found = Report.read("inventory")
    assert found is not None
    assert found.text() == report.text() == (tmp_path / "inventory.txt").read_text(encoding="utf-8")
    assert (tmp_path / "images" / "some.png").read_bytes().startswith(b"\x89PNG")
    text = page.page()
    assert "1 of 2 are met" in text
    assert "| inventory | wave / trivial | 3.00 | at most 2 | missed by 1.50 times |" in text
    assert "![Some](images/some.png)" in text


def test_a_page_without_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    assert "Nothing has been measured yet." in page.page()


def test_runs_are_taken_in_turns() -> None:
    order: list[str] = []
    works: dict[str, measure.Work] = {n: (lambda n=n: order.append(f"-{n}"), lambda n=n: order.append(n)) for n in "ab"}  # type: ignore[misc]
    figures = measure.measure_in_turns(works, runs=1, warm=1)
    assert order == ["-a", "a", "-b", "b"] * 2
    assert [len(f.times) for f in figures.values()] == [1, 1]


def test_what_takes_too_long_is_stopped_and_not_tried_again() -> None:
    stop, tries = threading.Event(), []

    def work() -> None:
        tries.append(1)
        assert stop.wait(10)
        raise EngineFailed(engine="some", reason="it was stopped")

    limit = measure.Limit(0.01, stop.set)
    figure = measure.measure_in_turns({"long": (measure.nothing, work)}, runs=3, warm=1, limit=limit)["long"]
    assert figure.median == math.inf
    assert ms(figure.median) == "too long"
    assert len(tries) == 1


def test_failures_are_not_taken_for_slowness() -> None:
    def work() -> None:
        raise EngineFailed(engine="some", reason="it is broken")

    with pytest.raises(EngineFailed):
        measure.Limit(60, lambda: None).timed(work)


def test_memory_is_known() -> None:
    assert "GiB" in measure.memory() or "not known" in measure.memory()
