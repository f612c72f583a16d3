"""Levels and drawings of the dependency network."""

from __future__ import annotations

from tests.unit.schema import view_plans
from tidings.analysis.dependencies import draw, levels

VIEWS = view_plans(
    v="SELECT a FROM t", x="SELECT v.a FROM v JOIN u ON v.a = u.a", y="SELECT x.a FROM x JOIN v ON x.a = v.a"
)


def test_levels() -> None:
    assert levels(VIEWS, VIEWS) == {"t": 0, "u": 0, "v": 1, "x": 2, "y": 3}


def test_drawing_shows_a_shared_view_once() -> None:
    assert draw("y", VIEWS["y"], VIEWS).splitlines() == [
        "y",
        "├── v",
        "│   └── t",
        "└── x",
        "    ├── u",
        "    └── v (above)",
    ]
