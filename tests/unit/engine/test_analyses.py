"""What is known of analysed queries is bounded, and of a note that is damaged nothing is taken."""

from __future__ import annotations

from tidings.engine import analyses
from tidings.engine.analyses import Analyses
from tidings.ir.relation import Column


def known(count: int) -> Analyses:
    made = Analyses("here")
    for n in range(count):
        made.add(f"SELECT {n}", (Column("n", "int"),))
    return made


def test_those_used_last_are_kept() -> None:
    made = known(analyses.KEPT)
    assert made.columns("SELECT 0")
    made.add("SELECT 'one more'", (Column("x", "string"),))
    assert made.columns("SELECT 0")
    assert made.columns("SELECT 1") is None


def test_a_damaged_note_is_not_taken() -> None:
    note = known(3).note()
    for damaged in (note.replace("int", "inu", 1), note[:-1], "", None):
        after = Analyses("here")
        after.recall(damaged)
        assert after.columns("SELECT 1") is None


def test_another_engine_has_another_key() -> None:
    assert Analyses("here").key != Analyses("there").key
    assert Analyses().key is None
