"""``CHANGES`` in conditions: relations of changes stand in its place, and old and new values are their columns."""

from __future__ import annotations

import pytest

from tests.unit.lang.sql.rules.test_condition import bound, columns
from tidings.analysis.influents import reads
from tidings.errors import AmbiguousColumn, InvalidRule, TidingsError, UnknownColumn, UnknownRelation
from tidings.ir.relation import Project
from tidings.lang.sql.rules.condition import BoundCondition

U = "changes of u by a"


def names(condition: BoundCondition) -> list[str]:
    return [name for name, _ in columns(condition)]


def selected(condition: BoundCondition) -> list[str]:
    """What the columns of the condition are made of."""
    assert isinstance(condition.plan, Project)
    return [item.expression.sql() for item in condition.plan.items]


def test_changes_are_a_relation_with_old_and_new_columns() -> None:
    condition = bound("WHEN SELECT old.c, new.c, old.d + 1 AS n FROM CHANGES(u) WHERE new.c > old.c")
    (of,) = condition.changes
    assert (of.name, of.relation, of.key) == ("u", U, ("a",))
    assert [c.name for c in of.side_by_side] == ["old_a", "old_c", "old_d", "new_a", "new_c", "new_d"]
    assert reads(condition.plan) == {U}
    assert columns(condition)[:2] == [("old_c", "bigint"), ("c", "bigint")]


def test_changes_of_a_query_with_a_key() -> None:
    (of,) = bound("WHEN SELECT new.n FROM CHANGES((SELECT a, count(*) AS n FROM u GROUP BY a), A)").changes
    assert (of.name, of.key) == ("query of r", ("a",))
    assert reads(of.plan) == {"u"}


def test_several_changes_are_told_apart_by_their_aliases() -> None:
    condition = bound("""
        WHEN SELECT x.new.a, y.old.b, x.old_c, Y.NEW.B AS now
          FROM CHANGES(u) x JOIN CHANGES(t) AS y ON y.new.a = x.old.a
    """)
    assert [of.relation for of in condition.changes] == [U, "changes of t"]
    assert reads(condition.plan) == {U, "changes of t"}
    assert names(condition) == ["a", "old_b", "old_c", "now"]


def test_changes_by_one_key_are_one_relation() -> None:
    condition = bound("WHEN SELECT x.new.a FROM CHANGES(u) x JOIN CHANGES(u, a) y ON y.new.a = x.old.a")
    assert [of.relation for of in condition.changes] == [U]
    condition = bound("WHEN SELECT x.new.a FROM CHANGES(u) x JOIN CHANGES(u, c) y ON y.new.a = x.old.a")
    assert [(of.relation, of.key) for of in condition.changes] == [(U, ("a",)), ("changes of u by c", ("c",))]
    query = "CHANGES((SELECT a, c FROM u), {})"
    condition = bound(f"""
        WHEN SELECT x.new.a
          FROM {query.format("a")} x, {query.format("a")} y, {query.format("c")} z, CHANGES((SELECT a FROM t)) v
    """)
    assert [of.relation for of in condition.changes] == [
        "changes of query of r by a",
        "changes of query of r by c",
        "changes of query 2 of r",
    ]


def test_old_and_new_are_of_the_nearest_select() -> None:
    condition = bound("""
        WHEN SELECT new.a FROM CHANGES(u) AS x
          WHERE EXISTS (SELECT 1 FROM CHANGES(t) WHERE new.b > 'x' AND new.a = x.new.a) AND NOT EXISTS
            (SELECT 1 FROM t WHERE t.a = old.a)
        UNION ALL SELECT old.a FROM CHANGES(t)
    """)
    assert {of.relation for of in condition.changes} == {U, "changes of t"}
    condition = bound(
        "WHEN WITH w AS (SELECT new.b FROM CHANGES(t)) SELECT new.a FROM CHANGES(u) JOIN w ON w.b <> new.c"
    )
    assert names(condition) == ["a"]
    condition = bound("WHEN SELECT new.a FROM CHANGES(u) JOIN (SELECT old.b FROM CHANGES(t)) w ON w.old_b = new.c")
    assert names(condition) == ["a"]


def test_a_relation_called_old_is_itself() -> None:
    assert selected(bound("WHEN SELECT old.b FROM t AS old JOIN CHANGES(u) x ON x.new.a = old.a")) == ['"old"."b"']


def test_all_columns_of_a_side() -> None:
    assert names(bound("WHEN SELECT new.* FROM CHANGES(u)")) == ["a", "c", "d"]
    assert names(bound("WHEN SELECT old.*, new.a FROM CHANGES(u)")) == ["old_a", "old_c", "old_d", "a"]
    assert names(bound("WHEN SELECT new.* EXCEPT (C) FROM CHANGES(u)")) == ["a", "d"]
    several = bound("WHEN SELECT x.new.*, y.old.* FROM CHANGES(u) x CROSS JOIN CHANGES(w) y")
    assert names(several) == ["a", "c", "d", "old_c", "old_e"]
    assert names(bound("(i INT) WHEN SELECT new.* FROM CHANGES(u) WHERE new.a = i", "p")) == ["a", "c", "d", "i"]


@pytest.mark.parametrize(
    ("rest", "error"),
    [
        ("WHEN SELECT 1 AS n FROM CHANGES(3)", InvalidRule),
        ("WHEN SELECT 1 AS n FROM CHANGES(u), CHANGES(t)", InvalidRule),
        ("WHEN SELECT 1 AS n FROM CHANGES((SELECT new.a FROM CHANGES(u)))", InvalidRule),
        ("WHEN SELECT count(new.*) AS n FROM CHANGES(u)", InvalidRule),
        ("WHEN SELECT new.* REPLACE (1 AS a) FROM CHANGES(u)", InvalidRule),
        ("WHEN SELECT new.* EXCEPT (nothing) FROM CHANGES(u)", UnknownColumn),
        ("WHEN SELECT 1 AS n FROM CHANGES(nothing)", UnknownRelation),
        ("WHEN SELECT 1 AS n FROM CHANGES(u, nothing)", UnknownColumn),
        ("WHEN SELECT new.nothing FROM CHANGES(u)", UnknownColumn),
        ("WHEN SELECT new.a FROM CHANGES(u) x, CHANGES(t) y", AmbiguousColumn),
        ("WHEN SELECT old.* FROM CHANGES(u) x, CHANGES(t) y", AmbiguousColumn),
        ("WHEN SELECT x.new.nothing FROM CHANGES(u) x, CHANGES(t) y", UnknownColumn),
        ("WHEN SELECT z.new.a FROM CHANGES(u) x, CHANGES(t) y", TidingsError),
        ("WHEN SELECT new.b FROM CHANGES(u) x JOIN (SELECT new.c FROM t) y", TidingsError),
    ],
)
def test_what_is_refused(rest: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        bound(rest)


def test_a_hint_says_how_to_tell_which() -> None:
    with pytest.raises(AmbiguousColumn) as refused:
        bound("WHEN SELECT new.a FROM CHANGES(u) AS x, CHANGES(t) AS y")
    assert refused.value.parameters["candidates"] == "x.new.a, y.new.a"
    assert "x.new.a" in (refused.value.hint or "")
    assert refused.value.place is not None
