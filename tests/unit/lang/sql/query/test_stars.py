"""Stars among the arguments of functions."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, types
from tidings.errors import InvalidExpression, UnknownRelation, UnsupportedConstruct
from tidings.ir.expression import show
from tidings.ir.relation import Project


def item(query: str) -> str:
    found = bound(query)
    assert isinstance(found, Project)
    return show(found.items[0].expression)


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("coalesce(*)", "COALESCE(v.c, v.e)"),
        ("coalesce(7, *)", "COALESCE(7, v.c, v.e)"),
        ("array(1, v.*)", "ARRAY(1, v.c, v.e)"),
        ("concat(* EXCEPT (c))", "CONCAT(v.e)"),
        ("1 IN (*)", "1 IN (v.c, v.e)"),
    ],
)
def test_a_star_stands_for_columns(call: str, written: str) -> None:
    assert item(f"SELECT {call} AS x FROM (SELECT c, c AS e FROM w) AS v").replace("v_2.", "v.") == written


def test_a_struct_keeps_the_names() -> None:
    assert types(bound("SELECT struct(*) AS s FROM w")) == ["struct<c:bigint,e:string>"]


def test_rows_are_counted_as_ever() -> None:
    assert types(bound("SELECT count(*) AS n, count(DISTINCT *) AS m FROM w")) == ["bigint", "bigint"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("count(w.*)", InvalidExpression),
        ("count(DISTINCT w.*)", InvalidExpression),
        ("sum(*)", UnsupportedConstruct),
        ("coalesce(z.*)", UnknownRelation),
    ],
)
def test_what_has_no_meaning_is_refused(call: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        bound(f"SELECT {call} AS x FROM w")
