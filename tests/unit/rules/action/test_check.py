"""Actions are checked when a rule is bound."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW
from tidings import Database
from tidings.errors import UnknownColumn, UnknownRelation
from tidings.rules.action.summary import summary


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("CALL note(item)", "call note"),
        ("DELETE FROM log WHERE item IN (SELECT item FROM condition)", "delete log"),
        ("RAISE 'too low'", "raise too low"),
        ("FILE 'out.jsonl'", "file out.jsonl"),
    ],
)
def test_what_is_accepted_and_its_summary(db: Database, action: str, words: str) -> None:
    rule = db._parts.registry.find_or_propose(f"CREATE RULE r {LOW} DO {action}")
    assert summary(rule.action) == words


@pytest.mark.parametrize(
    ("action", "error"),
    [("CALL note(item + colour)", UnknownColumn), ("INSERT INTO nothing SELECT item FROM condition", UnknownRelation)],
)
def test_what_is_refused(db: Database, action: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        db._parts.registry.find_or_propose(f"CREATE RULE r {LOW} DO {action}")
