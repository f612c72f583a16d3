"""One text form per type, whatever words it was written in."""

from __future__ import annotations

import pytest

from tidings.ir import types


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("INT", "int"),
        ("INTEGER", "int"),
        ("LONG", "bigint"),
        ("BIGINT", "bigint"),
        ("SHORT", "smallint"),
        ("BYTE", "tinyint"),
        ("REAL", "float"),
        ("DOUBLE", "double"),
        ("STRING", "string"),
        ("BOOLEAN", "boolean"),
        ("BINARY", "binary"),
        ("DATE", "date"),
        ("TIMESTAMP", "timestamp"),
        ("TIMESTAMP_LTZ", "timestamp"),
        ("TIMESTAMP_NTZ", "timestamp_ntz"),
        ("DECIMAL", "decimal(10,0)"),
        ("DECIMAL(10, 2)", "decimal(10,2)"),
        ("NUMERIC(5)", "decimal(5,0)"),
        ("ARRAY<INT>", "array<int>"),
        ("MAP<STRING, ARRAY<LONG>>", "map<string,array<bigint>>"),
        ("STRUCT<A: INT, b: STRUCT<c: STRING>>", "struct<A:int,b:struct<c:string>>"),
    ],
)
def test_canonical(written: str, canonical: str) -> None:
    assert types.canonical(types.parse(written)) == canonical


def test_canonical_is_a_fixpoint() -> None:
    text = "map<string,array<struct<x:decimal(10,2),y:timestamp_ntz>>>"
    assert types.canonical(types.parse(text)) == text


def test_fields() -> None:
    assert types.fields("struct<a:int,b:array<struct<c:int>>>") == (("a", "int"), ("b", "array<struct<c:int>>"))
    assert types.fields("array<struct<c:int>>") == ()
    assert types.fields("int") == ()


@pytest.mark.parametrize(
    ("left", "right", "comparable"),
    [
        ("int", "int", True),
        ("tinyint", "bigint", True),
        ("string", "string", True),
        ("string", "int", False),
        ("decimal(10,2)", "decimal(10,2)", True),
        ("decimal(10,2)", "decimal(12,2)", False),
        ("int", "decimal(10,0)", False),
        ("int", "double", False),
        ("date", "timestamp", False),
        ("timestamp", "timestamp_ntz", False),
    ],
)
def test_comparable_as_keys(left: str, right: str, comparable: bool) -> None:
    assert types.comparable_as_keys(left, right) is comparable
    assert types.comparable_as_keys(right, left) is comparable
