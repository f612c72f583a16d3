"""Statements with slots for keys."""

from __future__ import annotations

from tests.unit.schema import only_term
from tidings.engine.sql.statement import KeyList, KeySlots, KeyTest, PreparedStatement
from tidings.ir.relation import Restrict
from tidings.ir.traverse import walk


def restriction(query: str) -> Restrict:
    (node,) = (n for n in walk(only_term(query, "t").plan) if isinstance(n, Restrict))
    return node


def test_slots_are_filled_and_so_are_the_ends_of_the_batch() -> None:
    keys = KeyList("__keys_0__", (("t", "a"),), "int")
    tests = (KeyTest("u.a", keys.slot), KeyTest("u.b", keys.slot, ranges=True))
    statement = PreparedStatement(f"{tests[0].text} AND {tests[1].text} AND t < __UNTIL()", (keys,), True, tests)
    filled = statement.filled(lambda keys, test: f"{test.tested}{'~' if test.ranges else '='}1", until="9")
    assert filled == "u.a=1 AND u.b~1 AND t < 9"


def test_a_restriction_is_tested_by_a_list_where_its_delta_is_listed() -> None:
    node = restriction("SELECT t.b FROM t JOIN u ON t.a = u.a")
    slots = KeySlots(frozenset({"t"}), frozenset())
    assert slots.are_listed(node)
    assert slots.list_test(node, "u.a") == "u.a IN (__keys_0__)"
    assert slots.list_test(node, "u.a") == "u.a IN (__keys_0__)"
    assert [k.columns for k in slots.key_lists.values()] == [(("t", "a"),)]
    assert list(slots.tests) == [KeyTest("u.a", "__keys_0__")]


def test_a_larger_delta_gives_ranges_only() -> None:
    slots = KeySlots(frozenset(), frozenset({"t"}))
    node = restriction("SELECT t.b FROM t JOIN u ON t.a = u.a")
    assert slots.list_test(node, "u.a") is None
    assert slots.range_test(node, "u.a") == "u.a WITHIN (__keys_0__)"


def test_a_null_safe_restriction_lets_nulls_through() -> None:
    slots = KeySlots(frozenset({"t"}), frozenset())
    node = restriction("SELECT t.b FROM t JOIN u ON t.a <=> u.a")
    assert slots.list_test(node, "u.a") == "(u.a IN (__keys_0__) OR u.a IS NULL)"
