"""Lines become text with their indentation; parts stand on one line as long as they fit."""

from __future__ import annotations

from tidings.engine.sql.layout import WIDTH, after, connected, enclosed, listed, text, with_named


def test_a_piece_stands_at_any_depth() -> None:
    inner = ("SELECT", listed(["a", "b"]), "FROM t")
    once = after("FROM ", enclosed("", inner, " AS x"))
    assert text(once) == "FROM (\n  SELECT\n    a,\n    b\n  FROM t\n) AS x"
    twice = after("FROM ", enclosed("", ("SELECT", ("c",), *once), " AS y"))
    assert "\n      SELECT\n        a,\n        b\n" not in text(once)
    assert "\n    SELECT\n      a,\n      b\n" in text(twice)


def test_lines_inside_a_literal_stay_as_they_are() -> None:
    assert text(("SELECT", ("'one\ntwo'",))) == "SELECT\n  'one\ntwo'"


def test_short_parts_stand_on_one_line() -> None:
    assert connected([("a = 1",), ("b = 2",)], "AND") == ("a = 1 AND b = 2",)


def test_long_parts_stand_below_each_other() -> None:
    long = "x" * (WIDTH // 2)
    assert connected([(long,), (long,)], "AND") == (long, f"AND {long}")


def test_a_part_of_several_lines_stays_apart() -> None:
    assert connected([("a = 1",), enclosed("EXISTS", ("b",))], "AND") == ("a = 1", "AND EXISTS(", ("b",), ")")


def test_nothing_named_changes_nothing() -> None:
    assert with_named({}, ("SELECT 1",)) == ("SELECT 1",)
