"""Procedures are called by name, with rows and perhaps the transaction."""

from __future__ import annotations

import pytest

from tidings.errors import UnknownProcedure
from tidings.rules.action.procedures import Procedure, Procedures


def test_with_all_rows_or_one_at_a_time() -> None:
    seen: list[object] = []
    rows = [{"n": 1}, {"n": 2}]
    Procedure.of(lambda given: seen.append(given), each=False)(rows, None)  # type: ignore[arg-type]
    Procedure.of(lambda row, tx: seen.append((row, tx)), each=True)(rows, "tx")  # type: ignore[arg-type]
    assert seen == [rows, ({"n": 1}, "tx"), ({"n": 2}, "tx")]


def test_names_without_regard_to_case_and_the_last_one_counts() -> None:
    procedures = Procedures()
    procedures.register("Note", print, each=False)
    procedures.register("note", repr, each=True)
    assert "NOTE" in procedures
    assert procedures["nOtE"].function is repr
    with pytest.raises(UnknownProcedure) as unknown:
        procedures["notes"]
    assert unknown.value.hint is not None
