"""Silences: statements that keep rules from sending."""

from __future__ import annotations

import pytest

from tidings.errors import InvalidSyntax
from tidings.lang.sql import statement
from tidings.lang.sql.statements.silence import EndSilence, SilenceRule, UnsilenceRule


def test_all_clauses() -> None:
    (parsed,) = statement.read("SILENCE RULE low WHERE item = 3 FOR INTERVAL 2 HOURS COMMENT 'stocktaking'")
    assert isinstance(parsed, SilenceRule)
    assert parsed.condition is not None
    assert (parsed.condition.sql(), parsed.condition_text) == ("item = 3", "item = 3")
    assert (parsed.interval, parsed.comment) == (7_200_000_000, "stocktaking")


def test_a_whole_rule() -> None:
    (parsed,) = statement.read("SILENCE RULE low FOR INTERVAL 1 DAY")
    assert isinstance(parsed, SilenceRule)
    assert (parsed.condition, parsed.condition_text, parsed.comment) == (None, None, None)


def test_the_end_of_a_silence() -> None:
    by_number, by_rule, by_group = statement.read("UNSILENCE 7; UNSILENCE RULE low; UNSILENCE GROUP stock")
    assert isinstance(by_number, EndSilence)
    assert by_number.number == 7
    assert isinstance(by_rule, UnsilenceRule)
    assert isinstance(by_group, UnsilenceRule)
    assert [(s.name, s.group) for s in (by_rule, by_group)] == [("low", False), ("stock", True)]


def test_a_group() -> None:
    (parsed,) = statement.read("silence group stock where item = 3 for interval 1 day comment 'stocktaking'")
    assert isinstance(parsed, SilenceRule)
    assert (parsed.name, parsed.group, parsed.condition_text) == ("stock", True, "item = 3")


@pytest.mark.parametrize(
    "text",
    [
        "SILENCE RULE low",
        "SILENCE RULE low WHERE FOR INTERVAL 1 DAY",
        "SILENCE RULE low WHERE SELECT 1 FOR INTERVAL 1 DAY",
        "UNSILENCE 7 8",
        "SILENCE GROUP FOR INTERVAL 1 DAY",
        "SILENCE low FOR INTERVAL 1 DAY",
        "UNSILENCE GROUP",
        "UNSILENCE 1.5",
    ],
)
def test_refusals(text: str) -> None:
    with pytest.raises(InvalidSyntax):
        statement.read(text)
