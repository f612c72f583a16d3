"""What ``EXPLAIN RULE`` says beyond what its golden shows."""

from __future__ import annotations

import pytest

from tidings import Database
from tidings.errors import UnknownRule


def parts(db: Database, rule: str) -> dict[str, list[str]]:
    """The parts of an explanation by their titles."""
    found = {}
    for part in db.explain_rule(rule).split("\n\n"):
        title, *lines = part.splitlines()
        found[title] = [line.removeprefix("  ") for line in lines]
    return found


def rule(rest: str) -> str:
    return f"CREATE RULE r {rest}"


def test_a_rule_that_is_not_there_yet(db: Database) -> None:
    found = parts(db, rule("WHEN SELECT item FROM low DO NOTIFY 'x'"))
    assert found["Rule"] == ["r", "does: notify x"]
    assert found["Woken by"] == ["tables: lim, stock"]
    with pytest.raises(UnknownRule):
        db.explain_rule("r")


def test_passive_nodes(db: Database) -> None:
    found = parts(db, rule("ON UPDATE OF stock(qty) WHEN SELECT item FROM low DO NOTIFY 'x'"))
    assert found["Dependency network"] == [
        "r (active)",
        "└── low (active)",
        "    ├── lim (passive)",
        "    └── stock (active)",
    ]
    assert {"When lim changes", "When stock changes"} < found.keys()


@pytest.mark.parametrize(
    ("rest", "woken_by"),
    [
        (
            "WHEN SELECT item FROM stock WHERE now() > TIMESTAMP '2026-01-01' DO NOTIFY 'x'",
            ["tables: stock", "time: now() in the condition"],
        ),
        ("ON SIGNAL counted DO NOTIFY 'x'", ["signals: counted"]),
        ("WHEN SELECT item FROM counted DO NOTIFY 'x'", ["signals: counted"]),
        ("WHEN SELECT 1 AS one DO NOTIFY 'x'", ["nothing: the condition never changes"]),
    ],
)
def test_what_wakes_a_rule(db: Database, rest: str, woken_by: list[str]) -> None:
    db.sql("CREATE EVENT counted (item INT)")
    assert parts(db, rule(rest))["Woken by"] == woken_by


def test_activations_wake_a_rule_that_takes_what_holds(db: Database) -> None:
    db.sql("""
        CREATE RULE p (i INT) WHEN SELECT item FROM stock WHERE item = i DO NOTIFY 'x';
        CREATE RULE q (i INT) WHEN SELECT item FROM stock WHERE item = i DO NOTIFY 'x' WITH (initial)
    """)
    assert parts(db, "p")["Woken by"] == ["tables: stock"]
    assert "├── activations_of_p (passive)" in parts(db, "p")["Dependency network"]
    assert "When activations_of_p changes" not in parts(db, "p")
    assert parts(db, "q")["Woken by"] == ["tables: activations_of_q, stock"]
    assert "When activations_of_q changes" in parts(db, "q")


@pytest.mark.parametrize(
    ("action", "options", "couplings"),
    [
        ("NOTIFY 'x'", "action = 'detached independent'", "sent after the transaction, even one that is given up"),
        (
            "DELETE FROM orders",
            "condition = 'immediate', action = 'immediate'",
            "as soon",
        ),
        (
            "DELETE FROM orders",
            "condition = 'detached'",
            "after the commit, by advance()",
        ),
    ],
)
def test_couplings(db: Database, action: str, options: str, couplings: str) -> None:
    lines = parts(db, rule(f"WHEN SELECT item FROM low DO {action} WITH ({options})"))["Couplings"]
    assert couplings in lines[1]


def test_nervous_and_changed(db: Database) -> None:
    nervous = parts(db, rule("WHEN SELECT item FROM low DO NOTIFY 'x' WITH (semantics = 'nervous')"))["Instances"]
    assert nervous[1].startswith("nervous")
    changed = parts(db, rule("WHEN CHANGED SELECT item FROM low DO NOTIFY 'x'"))["Instances"]
    assert changed == ["by row: all its columns", "strict: fires for those that come, go or change"]


def test_what_is_judged_together(db: Database) -> None:
    for name, bound in (("a", 1), ("b", 2), ("c", 3)):
        db.sql(f"CREATE RULE {name} WHEN SELECT item FROM stock WHERE qty < {bound} DO NOTIFY 'x'")
    db.sql("CREATE RULE d WHEN SELECT item FROM stock WHERE qty < 4 DO NOTIFY 'x' WITH (condition = 'detached')")
    assert parts(db, "a")["Judged"][0] == "by one query with b, c: they differ in constants"
    assert parts(db, "d")["Judged"][0] == "by itself"
    db.sql("DISABLE RULE b; DISABLE RULE c")
    assert parts(db, "a")["Judged"][0] == "by itself"
    assert "disabled" in parts(db, "b")["Rule"]
