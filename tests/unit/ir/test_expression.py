"""Bound expressions: reading, showing, substituting, taking apart."""

from __future__ import annotations

import pytest

from tidings.ir.expression import (
    aliases,
    cast,
    conjunction,
    conjuncts,
    equality,
    greatest,
    literal,
    product,
    read,
    ref,
    refs,
    show,
    substitute,
    typed_null,
)


@pytest.mark.parametrize(
    "text",
    [
        "q.x + 1",
        "q.`select`",
        "q.s.`f g`.h",
        "`odd one`.x",
        "CAST(q.x AS BIGINT)",
        "q.x IS NOT DISTINCT FROM NULL",
        "-1",
        "1.50",
        "''",
    ],
)
def test_show_is_the_inverse_of_read(text: str) -> None:
    assert read(show(read(text))) == read(text)
    assert show(read(text)) == text


def test_refs_counts_every_mention() -> None:
    assert list(refs(read("q.x + q.x * r.y"))) == [("q", "x"), ("q", "x"), ("r", "y")]
    assert aliases(read("q.x + r.y + 1")) == {"q", "r"}


def test_ref_of_a_column_only() -> None:
    assert ref(read("q.x")) == ("q", "x")
    assert ref(read("q.x + 1")) is None
    assert ref(read("q.s.x")) is None


def test_substitute_returns_the_same_object_without_a_match() -> None:
    e = read("q.x + 1")
    assert substitute(e, {("q", "y"): read("1")}) is e


def test_substitute_wraps_what_binds_weaker() -> None:
    assert show(substitute(read("q.x * 2"), {("q", "x"): read("r.a + 1")})) == "(r.a + 1) * 2"
    assert show(substitute(read("q.x * 2"), {("q", "x"): read("r.a")})) == "r.a * 2"
    assert show(substitute(read("q.x"), {("q", "x"): read("r.a + 1")})) == "r.a + 1"


def test_substitute_leaves_the_original_alone() -> None:
    e, by = read("q.x + q.x"), read("r.a")
    substitute(e, {("q", "x"): by})
    assert show(e) == "q.x + q.x"
    assert show(by) == "r.a"


def test_substitute_inside_a_field_access() -> None:
    assert show(substitute(read("q.s.x = 1"), {("q", "s"): read("r.s")})) == "r.s.x = 1"


@pytest.mark.parametrize(
    ("text", "null_safe"), [("a.x = b.y", False), ("(a.x) = (b.y)", False), ("(a.x <=> b.y)", True)]
)
def test_equality(text: str, null_safe: bool) -> None:
    found = equality(read(text))
    assert found is not None
    assert (show(found[0]), show(found[1]), found[2]) == ("a.x", "b.y", null_safe)


@pytest.mark.parametrize("text", ["a.x < b.y", "NOT a.x = b.y", "a.x = b.y OR a.x = 1", "a.x"])
def test_no_equality(text: str) -> None:
    assert equality(read(text)) is None


def test_conjuncts_keep_their_order_and_stop_at_or() -> None:
    parts = conjuncts(read("a.x = 1 AND (a.y = 2 AND (a.z = 3)) AND (a.x = 4 OR a.y = 5)"))
    assert [show(p) for p in parts] == ["a.x = 1", "a.y = 2", "(a.z = 3)", "(a.x = 4 OR a.y = 5)"]


def test_conjunction_is_the_inverse_of_conjuncts() -> None:
    parts = (read("a.x = 1"), read("a.y OR a.z"), read("a.w"))
    again = conjuncts(conjunction(parts))
    assert [show(p.unnest()) for p in again] == [show(p) for p in parts]


def test_weight_and_instant_of_a_joined_row() -> None:
    a, b = read("a.__w"), read("b.__w")
    assert show(product([a, b])) == "a.__w * b.__w"
    assert show(greatest([a, b])) == "GREATEST(a.__w, b.__w)"
    assert greatest([a]) is a


def test_casts() -> None:
    assert show(cast(read("a.x + 1"), "decimal(10,2)")) == "CAST(a.x + 1 AS DECIMAL(10, 2))"
    assert show(typed_null("array<int>")) == "CAST(NULL AS ARRAY<INT>)"
    assert show(typed_null("void")) == "NULL"
    assert cast(read("a.x"), "int") == read("CAST(a.x AS INT)")
    assert show(literal(-1)) == "-1"
