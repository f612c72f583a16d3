"""The key of a window is what partitions all its functions."""

from __future__ import annotations

import pytest

from tests.unit.schema import plan
from tidings.delta.differentiate.window import lift
from tidings.ir.expression import show
from tidings.ir.relation import Window


def window(*functions: str) -> Window:
    items = ", ".join(f"f{n} bigint := {f}" for n, f in enumerate(functions))
    found = plan(f"window n [{items}]\n  scan u u [a int, c bigint, d decimal(10,2)]")
    assert isinstance(found, Window)
    return found


BY_A = "COUNT(*) OVER (PARTITION BY u.a)"
BY_BOTH = "RANK() OVER (PARTITION BY u.c, u.a ORDER BY u.d)"


@pytest.mark.parametrize(
    ("functions", "key"),
    [
        ((BY_A,), ["u.a"]),
        ((BY_BOTH,), ["u.c", "u.a"]),
        ((BY_A, BY_BOTH), ["u.a"]),
        ((BY_BOTH, BY_A), ["u.a"]),
        ((BY_A, "COUNT(*) OVER (PARTITION BY u.c)"), []),
        ((BY_A, "COUNT(*) OVER ()"), []),
        (("ROW_NUMBER() OVER (ORDER BY u.a)",), []),
        (("COUNT(*) OVER (PARTITION BY u.a % 2)",), []),
    ],
)
def test_the_key_is_what_all_functions_share(functions: tuple[str, ...], key: list[str]) -> None:
    found = lift(window(*functions))
    (entry,) = found.inputs
    assert [show(e) for e in entry.key] == key
    assert len(found.key_types) == len(key)


def test_every_function_sees_one_version() -> None:
    found = lift(window(BY_A, "ROW_NUMBER() OVER (ORDER BY u.a)"))
    versioned = plan("scan u u [a int, c bigint, d decimal(10,2), __v bigint, __n bigint]")
    applied = found.apply([versioned], versioned)
    assert isinstance(applied, Window)
    assert [show(i.expression) for i in applied.items] == [
        "COUNT(*) OVER (PARTITION BY u.a, u.__v)",
        "ROW_NUMBER() OVER (PARTITION BY u.__v ORDER BY u.a)",
    ]
    assert [f.name for f in applied.fields][-4:] == ["__v", "__n", "f0", "f1"]
