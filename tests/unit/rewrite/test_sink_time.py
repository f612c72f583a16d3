"""``τ_c(A ⋈ B) = τ_c(A) ⋈ B`` where the condition reads A alone."""

from __future__ import annotations

from textwrap import dedent

from tidings.ir import text
from tidings.ir.expression import literal, read
from tidings.ir.relation import During, Item, Project, Relation, Values
from tidings.rewrite.sink_time import sink_time


def plan(lines: str) -> Relation:
    return text.parse(dedent(lines))


def check(before: str, after: str) -> None:
    assert text.show(sink_time(plan(before))) == text.show(plan(after))


def stays(before: str) -> None:
    check(before, before)


def test_through_a_projection_and_a_filter_that_stays_below() -> None:
    check(
        """
        during [p.x <= __NOW()] [p.x]
          project p [x bigint := a.x + 1]
            filter [a.k = 1]
              scan a a [k int, x bigint]
        """,
        """
        project p [x bigint := a.x + 1]
          during [(a.x + 1) <= __NOW()] [a.x + 1]
            filter [a.k = 1]
              scan a a [k int, x bigint]
        """,
    )


def test_into_a_join_with_the_filters_of_that_side() -> None:
    check(
        """
        during [b.x <= __NOW()] [b.x]
          filter [a.k > 1, b.k > 2, a.k < b.k]
            join [a.k = b.k]
              scan a a [k int]
              scan b b [k int, x bigint]
        """,
        """
        filter [a.k > 1, a.k < b.k]
          join [a.k = b.k]
            scan a a [k int]
            during [b.x <= __NOW()] [b.x]
              filter [b.k > 2]
                scan b b [k int, x bigint]
        """,
    )


def test_into_the_branches_of_a_union() -> None:
    check(
        """
        during [n.x <= __NOW()] [n.x]
          union n [x bigint]
            scan a a [x bigint]
            scan b b [y bigint]
        """,
        """
        union n [x bigint]
          during [a.x <= __NOW()] [a.x]
            scan a a [x bigint]
          during [b.y <= __NOW()] [b.y]
            scan b b [y bigint]
        """,
    )


def test_into_the_left_side_of_a_semi_join() -> None:
    check(
        """
        during [a.x <= __NOW()] [a.x]
          anti_join [a.k = b.k]
            scan a a [k int, x bigint]
            scan b b [k int]
        """,
        """
        anti_join [a.k = b.k]
          during [a.x <= __NOW()] [a.x]
            scan a a [k int, x bigint]
          scan b b [k int]
        """,
    )


def test_two_conditions_become_one() -> None:
    check(
        """
        during [a.x > __NOW() - 5 OR a.k = 1] [a.x, a.x + 5]
          during [a.x <= __NOW()] [a.x]
            scan a a [k int, x bigint]
        """,
        """
        during [a.x <= __NOW() AND (a.x > __NOW() - 5 OR a.k = 1)] [a.x, a.x + 5]
          scan a a [k int, x bigint]
        """,
    )


def test_not_into_a_join_whose_sides_it_compares() -> None:
    stays("""
        during [a.x <= __NOW() AND __NOW() < b.x] [a.x, b.x]
          filter [a.k > 1]
            join [a.k = b.k]
              scan a a [k int, x bigint]
              scan b b [k int, x bigint]
    """)


def test_not_below_what_other_rows_depend_on() -> None:
    """Rows that are not there would change the greatest, the place and the padding of others."""
    stays("""
        during [g.x <= __NOW()] [g.x]
          aggregate g [k int := a.k] [x bigint := MAX(a.x)]
            scan a a [k int, x bigint]
    """)
    stays("""
        during [a.x <= __NOW()] [a.x]
          window w [n int := ROW_NUMBER() OVER (ORDER BY a.x)]
            scan a a [x bigint]
    """)
    for side in "ab":
        stays(f"""
            during [{side}.x <= __NOW()] [{side}.x]
              outer_join [a.k = b.k]
                scan a a [k int, x bigint]
                scan b b [k int, x bigint]
        """)


def test_not_below_a_projection_that_gives_the_only_column() -> None:
    one = Project(Values("one", (), ((),)), "nothing", (Item("one", "int", literal(1)),))
    timed = During(one, read("5 <= __NOW()"), (literal(5),))
    assert sink_time(timed) == timed


def test_same_object_without_time() -> None:
    filtered = plan("""
        filter [a.x > 1]
          scan a a [x bigint]
    """)
    assert sink_time(filtered) is filtered
