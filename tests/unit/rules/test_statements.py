"""Rules are made, replaced, switched, activated and dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidings
from tests.unit.rules.test_agenda import LOW, NOW, fired, rows
from tidings import Database, ManualClock
from tidings.errors import (
    AmbiguousColumn,
    CascadeTooLong,
    CheckViolated,
    DuplicateRule,
    InvalidRule,
    InvalidSyntax,
    RuleRaised,
    TidingsError,
    UnknownColumn,
    UnknownGroup,
    UnknownRelation,
    UnknownRule,
    UnsupportedStatement,
)

SEEN = f"DO INSERT INTO log SELECT 'seen', item FROM condition {NOW}"


def test_from_its_creation_on(db: Database) -> None:
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    db.sql(f"CREATE RULE late {LOW} {SEEN}")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 2")
    assert rows(db, "log") == [("seen", 2)]


def test_initial_takes_what_holds(db: Database) -> None:
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    db.sql(f"CREATE RULE late {LOW} {SEEN.replace('WITH (', 'WITH (initial, ')}")
    assert rows(db, "log") == [("seen", 1)]
    db.sql(f"CREATE RULE later {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition WITH (initial = true)")
    db.advance()
    assert rows(db, "orders") == [(1, 1)]


FAILING = {
    "raises": (f"{LOW} DO RAISE 'bad' WITH (initial)", RuleRaised),
    "calls nobody": (f"{LOW} DO CALL nobody() WITH (initial, action = 'deferred')", TidingsError),
    "breaks a check": (
        f"{LOW} DO INSERT INTO part SELECT item, 2000 FROM condition WITH (initial, action = 'deferred')",
        CheckViolated,
    ),
    "is refused by another": (
        f"{LOW} DO INSERT INTO part SELECT item, 13 FROM condition WITH (initial, action = 'deferred')",
        RuleRaised,
    ),
    "triggers itself": (
        "WHEN SELECT id, size FROM part DO UPDATE part SET size = size + 10 WITH (initial, action = 'deferred')",
        CascadeTooLong,
    ),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_rule_whose_initial_firing_fails_is_not_created(db: Database, case: str) -> None:
    rest, error = FAILING[case]
    db.sql(f"""
        UPDATE stock SET qty = 5 WHERE item = 1;
        CREATE TABLE part (id INT PRIMARY KEY, size INT CHECK (size < 1000));
        INSERT INTO part VALUES (7, 7);
        CREATE RULE unlucky WHEN SELECT id FROM part WHERE size = 13 DO RAISE 'thirteen';
        CREATE RULE b (i INT) WHEN SELECT item FROM stock WHERE item = i AND qty < 5 {SEEN};
        ACTIVATE RULE b(1)
    """)
    rules = "SELECT name, text, created, activations, error FROM tidings.rules ORDER BY name"
    before, at = db.query(rules).rows(), db.time
    for text in (f"CREATE RULE a {rest}", f"CREATE OR REPLACE RULE b {rest}"):
        with pytest.raises(error):
            db.sql(text)
        assert db.query(rules).rows() == before
        assert (rows(db, "part"), fired(db), db.time) == ([(7, 7)], [], at)
    db.sql("UPDATE stock SET qty = 4 WHERE item = 1")
    assert rows(db, "log") == [("seen", 1)]


def test_a_rule_and_its_initial_firing_are_kept_together(tmp_path: Path) -> None:
    rest = "WHEN SELECT a FROM t DO INSERT INTO u SELECT a FROM condition WITH (initial, action = 'deferred')"
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT); CREATE TABLE u (a INT CHECK (a < 9)); INSERT INTO t VALUES (1), (10)")
        with pytest.raises(CheckViolated):
            db.sql(f"CREATE RULE r {rest}")
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        assert db.query("SELECT name FROM tidings.rules").rows() == []
        db.sql(f"DELETE FROM t WHERE a = 10; CREATE RULE r {rest}")
    with tidings.open(tmp_path / "d", engine="duckdb") as db:
        assert db.query("SELECT name FROM tidings.rules").rows() == [{"name": "r"}]
        assert (rows(db, "u"), fired(db)) == ([(1,)], [("r", 1)])


def test_nothing_is_recorded_of_a_rule_that_is_not_created(db: Database) -> None:
    db.sql(f"""
        UPDATE stock SET qty = 5 WHERE item = 1;
        CREATE TABLE part (id INT PRIMARY KEY);
        CREATE RULE b {LOW} DO NOTIFY 'old' WITH (action = 'detached independent');
    """)
    with pytest.raises(RuleRaised):
        db.sql(f"""
            CREATE RULE no WHEN SELECT id FROM part DO RAISE 'no';
            CREATE RULE c {LOW} DO INSERT INTO part SELECT item FROM condition WITH (initial, action = 'deferred')
        """)
    assert fired(db) == []
    db.sql("DROP RULE no")
    db.sql(f"CREATE RULE c {LOW} DO INSERT INTO part SELECT item FROM condition WITH (initial, action = 'deferred')")
    assert (fired(db), rows(db, "part")) == ([("c", 1)], [(1,)])


def test_a_rule_reacts_to_what_its_initial_firing_does(db: Database) -> None:
    db.sql("""
        CREATE TABLE step (n INT); INSERT INTO step VALUES (1);
        CREATE RULE a WHEN SELECT n FROM step WHERE n < 4 DO INSERT INTO step SELECT n + 1 FROM condition
          WITH (initial, action = 'deferred')
    """)
    assert rows(db, "step") == [(1,), (2,), (3,), (4,)]


def test_a_rule_that_takes_what_holds_in_the_place_of_one_with_parameters(db: Database) -> None:
    db.sql(f"CREATE RULE a (i INT) WHEN SELECT item FROM stock WHERE item = i {SEEN}; ACTIVATE RULE a(1)")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    db.sql(f"CREATE OR REPLACE RULE a {LOW} {SEEN.replace('WITH (', 'WITH (initial, ')}")
    assert rows(db, "log") == [("seen", 1)]
    with pytest.raises(UnknownRelation):
        db.query("SELECT * FROM activations_of_a")


def test_replace_and_drop(db: Database) -> None:
    db.sql(f"CREATE RULE a {LOW} {SEEN}")
    with pytest.raises(DuplicateRule):
        db.sql(f"CREATE RULE A {LOW} {SEEN}")
    db.sql(f"CREATE RULE IF NOT EXISTS a {LOW} {SEEN}")
    db.sql(f"CREATE OR REPLACE RULE a {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition {NOW}")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    assert (rows(db, "log"), rows(db, "orders")) == ([], [(1, 1)])
    db.sql("DROP RULE a; DROP RULE IF EXISTS a")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 2")
    assert len(fired(db)) == 1
    with pytest.raises(UnknownRule):
        db.sql("DROP RULE a")


def test_switches_and_groups(db: Database) -> None:
    for name in ("a", "b"):
        db.sql(f"CREATE RULE {name} {LOW} {SEEN.replace('WITH (', 'WITH (group = night, ')}")
    db.sql("DISABLE GROUP night; UPDATE stock SET qty = 5 WHERE item = 1; ENABLE RULE b")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 2")
    assert fired(db) == [("b", 1)]
    with pytest.raises(UnknownGroup):
        db.sql("ENABLE GROUP day")


def test_effective_and_expires(db: Database, clock: ManualClock) -> None:
    times = "effective = '1970-01-01 00:00:10', expires = '1970-01-01 00:00:20'"
    db.sql(f"CREATE RULE a {LOW} {SEEN.replace('WITH (', f'WITH ({times}, ')}")
    for item, second in ((3, 5), (4, 15), (5, 25)):
        clock.set(second * 1_000_000)
        db.sql(f"INSERT INTO lim VALUES ({item}, 10); INSERT INTO stock VALUES ({item}, 1)")
    assert rows(db, "log") == [("seen", 4)]


def test_activations_are_rows(db: Database) -> None:
    db.sql(f"CREATE RULE watch (i INT, least INT) WHEN SELECT item FROM stock WHERE item = i AND qty < least {SEEN}")
    db.sql("UPDATE stock SET qty = 50")
    assert fired(db) == []
    db.sql("ACTIVATE RULE watch(1, 60); ACTIVATE RULE watch(2, 20); ACTIVATE RULE watch(2, 20)")
    assert fired(db) == []
    assert rows(db, "activations_of_watch") == [(1, 60), (2, 20)]
    assert db.query("SELECT activations FROM tidings.rules").rows() == [{"activations": 2}]
    db.sql("UPDATE stock SET qty = 10")
    assert rows(db, "log") == [("seen", 2)]
    db.sql("DEACTIVATE RULE watch(2, 20); UPDATE stock SET qty = 100; UPDATE stock SET qty = 10")
    assert rows(db, "log") == [("seen", 1), ("seen", 2)]
    db.sql("DROP RULE watch")
    with pytest.raises(UnknownRelation):
        db.query("SELECT * FROM activations_of_watch")


def test_activations_that_take_what_holds(db: Database) -> None:
    with_initial = SEEN.replace("WITH (", "WITH (initial, ")
    db.sql(
        f"CREATE RULE watch (i INT) WHEN SELECT item FROM stock WHERE item = i {with_initial}; ACTIVATE RULE watch(2)"
    )
    assert rows(db, "log") == [("seen", 2)]


def test_one_query_for_all_activations(db: Database) -> None:
    db.sql(f"CREATE RULE watch (i INT) WHEN SELECT item FROM stock WHERE item = i AND qty < 50 {SEEN}")
    with db.transaction() as tx:
        tx.insert("activations_of_watch", [(n,) for n in range(1000)])
    db.sql("UPDATE stock SET qty = 5")
    assert fired(db) == [("watch", 2)]


def test_a_rule_says_which_activation_it_fires_for(db: Database) -> None:
    db.sql(f"""
        CREATE RULE watch (least INT) WHEN SELECT item FROM stock WHERE qty < least
          DO INSERT INTO orders SELECT item, least FROM condition {NOW};
        ACTIVATE RULE watch(10); ACTIVATE RULE watch(20); UPDATE stock SET qty = 5 WHERE item = 1
    """)
    assert rows(db, "orders") == [(1, 10), (1, 20)]


@pytest.mark.parametrize(
    ("text", "error", "shown"),
    [
        ("CREATE RULE a WHEN SELECT colour FROM stock DO RAISE 'x'", UnknownColumn, "colour"),
        ("CREATE RULE a WHEN SELECT item FROM nothing DO RAISE 'x'", UnknownRelation, "nothing"),
        ("CREATE RULE a (item INT) WHEN SELECT qty FROM stock WHERE item = 3 DO RAISE 'x'", AmbiguousColumn, "item"),
        ("CREATE RULE a (i INT) WHEN SELECT count(*) AS n FROM stock WHERE item = i DO RAISE 'x'", InvalidRule, None),
        ("CREATE RULE a WHEN SELECT item FROM stock DO INSERT INTO nothing SELECT 1", UnknownRelation, None),
        ("CREATE RULE a WHEN SELECT item FROM stock DO CALL p(colour)", UnknownColumn, "colour"),
        ("CREATE RULE a WHEN SELECT old.colour FROM CHANGES(stock) DO RAISE 'x'", UnknownColumn, "old.colour"),
        ("CREATE RULE a WHEN SELECT old.item FROM CHANGES(nothing) DO RAISE 'x'", UnknownRelation, "nothing"),
        ("CREATE RULE a WHEN SELECT old.item FROM CHANGES(low, colour) DO RAISE 'x'", UnknownColumn, "colour"),
        ("CREATE RULE a WHEN SELECT item FROM stock DO RAISE 'x' WITH (key = colour)", UnknownColumn, "a"),
        ("CREATE RULE a WHEN SELECT id FROM tidings.firings DO RAISE 'x'", InvalidRule, "a"),
        ("CREATE VIEW v AS SELECT id FROM tidings.firings", UnsupportedStatement, None),
        ("CREATE RULE a WHEN SELECT item FROM stock WHERE DO RAISE 'x'", InvalidSyntax, None),
        ("CREATE RULE a WHEN SELECT item FROM stock", InvalidSyntax, None),
        ("CREATE RULE a WHEN SELECT item FROM stock DO SELECT 1", InvalidSyntax, "SELECT"),
        ("CREATE RULE a ON UPDATE stock WHEN SELECT item FROM stock DO RAISE 'x'", InvalidSyntax, "UPDATE"),
        ("CREATE RULE a WHEN SELECT item FROM stock DO RAISE 'x' AND MORE", InvalidSyntax, "AND"),
    ],
)
def test_what_is_refused_and_where(db: Database, text: str, error: type[Exception], shown: str | None) -> None:
    before = "CREATE VIEW before AS SELECT item FROM stock;\n  "
    with pytest.raises(error) as refused:
        db.sql(before + text)
    if shown is not None:
        at = refused.value.place  # type: ignore[attr-defined]
        assert at is not None
        assert at.text[at.start : at.end] == shown
        assert at.text == before + text
    assert db.query("SELECT name FROM tidings.rules").rows() == []
