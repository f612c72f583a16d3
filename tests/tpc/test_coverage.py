"""The page on coverage says what was measured."""

from __future__ import annotations

from tests.tpc.page import PAGE, load, render


def test_the_page_is_made_from_the_results() -> None:
    assert PAGE.read_text() == render(load()), "run `make coverage`; the page is not written by hand"


def test_the_bar() -> None:
    found = load()["tpcds"]
    accepted = [f for f in found if f.accepted]
    assert len(found) == 99
    assert len(accepted) >= 95
    assert all(f.exact for f in accepted)
