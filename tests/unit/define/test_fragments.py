"""Fragmented tables: how they are declared, shown, kept and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import (
    CheckViolated,
    DependentObjects,
    DuplicateKey,
    DuplicateRelation,
    FragmentHasOtherRows,
    InternalError,
    InvalidFragmentation,
    InvalidSyntax,
    NoFragment,
    TidingsError,
    UnknownColumn,
    UnsupportedStatement,
    WrongKind,
)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=clock) as database:
        yield database


UNION = """
    CREATE TABLE emp (id BIGINT PRIMARY KEY, region STRING, pay INT DEFAULT 7)
    FRAGMENTED BY UNION (north AT oslo WHERE region = 'n', south WHERE region = 's' OR region IS NULL)
"""
HYBRID = """
    CREATE TABLE h (k INT, a INT, b STRING, c STRING) FRAGMENTED BY JOIN (
        UNION (r11 (k, a) WHERE k < 100, r12 (k, a) WHERE k >= 100),
        JOIN (r21 (b), r22 (c)) ON k
    ) ON k
"""


def _shown(db: Database, text: str) -> list[dict[str, Any]]:
    result = db.sql(text)
    assert result is not None
    return result.rows()


def test_the_statement_makes_the_fragments(db: Database) -> None:
    db.sql(UNION)
    names = [row["name"] for row in _shown(db, "SHOW TABLES")]
    assert names == ["emp", "north", "south"]
    assert _shown(db, "SHOW VIEWS") == []
    assert db.query("SELECT name, primary_key FROM tidings.tables WHERE name = 'emp'").rows() == [
        {"name": "emp", "primary_key": "id"}
    ]
    described = {row["column"]: row for row in _shown(db, "DESCRIBE emp")}
    assert described["id"]["primary_key"]
    assert not described["id"]["nullable"]
    assert described["pay"]["default"] == "7"


@pytest.mark.parametrize("statement", [UNION, HYBRID], ids=["union", "hybrid"])
def test_what_is_shown_makes_the_same_table_again(db: Database, statement: str) -> None:
    db.sql(statement)
    name = "emp" if statement is UNION else "h"
    shown = _shown(db, f"SHOW CREATE TABLE {name}")[0]["statement"]
    db.sql(f"DROP TABLE {name}")
    assert _shown(db, "SHOW TABLES") == []
    db.sql(shown)
    assert _shown(db, f"SHOW CREATE TABLE {name}")[0]["statement"] == shown


def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    clock = ManualClock(1_000_000)
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock) as db:
        db.sql(HYBRID)
        db.sql("INSERT INTO h VALUES (1, 1, 'b', 'c'), (100, 2, 'bb', 'cc')")
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock) as db:
        db.sql("UPDATE h SET c = 'new' WHERE a = 2; DELETE FROM h WHERE k = 1")
        assert db.query("h").rows() == [{"k": 100, "a": 2, "b": "bb", "c": "new"}]
        assert db.query("r11").rows() == []
        assert db.query("r22").rows() == [{"k": 100, "c": "new"}]


def test_over_tables_that_are_there(db: Database) -> None:
    db.sql("CREATE TABLE a (x INT, y INT); CREATE TABLE b (x INT, y INT); INSERT INTO a VALUES (1, 1)")
    with pytest.raises(FragmentHasOtherRows) as refused:
        db.sql("CREATE TABLE r FRAGMENTED BY UNION (a WHERE x > 1, b WHERE x <= 1)")
    assert refused.value.parameters["table"] == "a"
    db.sql("CREATE TABLE r FRAGMENTED BY UNION (a WHERE x < 5, b WHERE x >= 5)")
    db.sql("INSERT INTO r VALUES (9, 9), (9, 9)")
    assert len(db.query("r").rows()) == 3
    with pytest.raises(CheckViolated):
        db.sql("INSERT INTO a VALUES (9, 1)")
    with pytest.raises(CheckViolated):
        db.sql("INSERT INTO a VALUES (NULL, 1)")
    expected = "CREATE TABLE r FRAGMENTED BY UNION (a WHERE x < 5, b WHERE x >= 5)"
    assert _shown(db, "SHOW CREATE TABLE r")[0]["statement"] == expected
    db.sql("DROP TABLE r")
    assert [row["name"] for row in _shown(db, "SHOW TABLES")] == ["a", "b"]


def test_tables_that_are_there_are_joined_by_their_key(db: Database) -> None:
    db.sql("CREATE TABLE a (k INT PRIMARY KEY, x INT); CREATE TABLE b (k INT PRIMARY KEY, y INT)")
    db.sql("CREATE TABLE r FRAGMENTED BY JOIN (a, b) ON k; INSERT INTO r VALUES (1, 2, 3)")
    assert db.query("b").rows() == [{"k": 1, "y": 3}]
    db.sql("CREATE TABLE c (k INT, z INT)")
    with pytest.raises(InvalidFragmentation, match="primary key of c"):
        db.sql("CREATE TABLE s FRAGMENTED BY JOIN (a, c) ON k")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("CREATE TABLE r (x INT) FRAGMENTED BY UNION (a)", InvalidFragmentation, "fewer than two"),
        ("CREATE TABLE r (x INT) FRAGMENTED BY UNION (a, a)", InvalidFragmentation, "two of its fragments"),
        ("CREATE TABLE r (x INT) FRAGMENTED BY RANGE (a, b)", InvalidSyntax, "UNION or JOIN"),
        ("CREATE TABLE r (x INT) FRAGMENTED BY UNION (a WHERE z = 1, b)", UnknownColumn, "z"),
        ("CREATE TABLE r (x INT) FRAGMENTED BY UNION (a WHERE x + 1, b)", TidingsError, "true or false"),
        ("CREATE TABLE r (x INT) FRAGMENTED BY UNION (a WHERE , b)", InvalidSyntax, "condition"),
        (
            "CREATE TABLE r (x INT, y INT) FRAGMENTED BY JOIN (a (x), b (x)) ON x",
            InvalidFragmentation,
            "has y",
        ),
        (
            "CREATE TABLE r (x INT, y INT) FRAGMENTED BY JOIN (a (y), b (y)) ON x",
            InvalidFragmentation,
            "two parts",
        ),
        (
            "CREATE TABLE r (x INT, y INT) FRAGMENTED BY JOIN (a, b (y)) ON x",
            InvalidFragmentation,
            "which columns",
        ),
        ("CREATE TABLE r (x INT, y INT) FRAGMENTED BY UNION (a (x), b)", InvalidFragmentation, "different columns"),
        (
            "CREATE TABLE r (x INT PRIMARY KEY, y INT) FRAGMENTED BY JOIN (a (x), b (x)) ON y",
            InvalidFragmentation,
            "a join is by the key",
        ),
        (
            "CREATE TABLE r (k INT, x INT, y INT, CHECK (x < y)) FRAGMENTED BY JOIN (a (x), b (y)) ON k",
            InvalidFragmentation,
            "columns of several fragments",
        ),
        ("CREATE TABLE r FRAGMENTED BY UNION (nope, nix)", TidingsError, "nope"),
        ("CREATE TABLE taken (x INT) FRAGMENTED BY UNION (a, b)", DuplicateRelation, "taken"),
        ("CREATE TABLE r (x INT) FRAGMENTED BY UNION (taken, b)", DuplicateRelation, "taken"),
    ],
)
def test_what_makes_no_sense_is_refused(db: Database, text: str, error: type[TidingsError], words: str) -> None:
    db.sql("CREATE TABLE taken (x INT)")
    with pytest.raises(error, match=words):
        db.sql(text)
    assert [row["name"] for row in _shown(db, "SHOW TABLES")] == ["taken"]


def test_definitions_that_depend_on_each_other(db: Database) -> None:
    db.sql(UNION)
    db.sql("CREATE VIEW rich AS SELECT * FROM emp WHERE pay > 100")
    for text, error in [
        ("DROP TABLE north", DependentObjects),
        ("DROP TABLE emp", DependentObjects),
        ("DROP VIEW emp", WrongKind),
        ("ALTER TABLE north ADD COLUMN x INT", DependentObjects),
        ("ALTER TABLE emp ADD COLUMN x INT", UnsupportedStatement),
        ("CREATE OR REPLACE VIEW emp AS SELECT 1 AS one", DuplicateRelation),
    ]:
        with pytest.raises(error):
            db.sql(text)
    db.sql("CREATE TABLE IF NOT EXISTS emp (x INT) FRAGMENTED BY UNION (p, q)")
    db.sql("DROP TABLE emp CASCADE")
    assert _shown(db, "SHOW TABLES") == _shown(db, "SHOW VIEWS") == []


def test_a_rule_on_a_fragment_holds_the_table(db: Database) -> None:
    db.sql(UNION)
    db.sql("CREATE RULE low WHEN SELECT id FROM north WHERE pay < 1 DO NOTIFY 'x'")
    with pytest.raises(DependentObjects, match="rule low"):
        db.sql("DROP TABLE emp")


def test_one_key_one_row_in_the_whole(db: Database) -> None:
    db.sql(UNION)
    db.sql("INSERT INTO emp VALUES (1, 'n', 1)")
    with pytest.raises(DuplicateKey) as refused:
        db.sql("INSERT INTO emp VALUES (1, 's', 1)")
    assert refused.value.parameters["table"] == "emp"
    with pytest.raises(DuplicateKey):
        db.sql("INSERT INTO south VALUES (1, 's', 1)")
    with pytest.raises(DuplicateKey), db.transaction() as tx:
        tx.insert("emp", [(2, "n", 1), (2, "s", 1)])
    with db.transaction() as tx:
        tx.sql("DELETE FROM emp WHERE id = 1")
        tx.insert("emp", [(1, None, 5)])
    assert db.query("south").rows() == [{"id": 1, "region": None, "pay": 5}]


def test_constraints_of_the_whole_are_held_by_fragments(db: Database) -> None:
    db.sql("""
        CREATE TABLE r (k INT, x INT NOT NULL, y INT DEFAULT 3, CHECK (x > 0), CHECK (y < 10))
        FRAGMENTED BY JOIN (a (x), b (y)) ON k
    """)
    db.sql("INSERT INTO r (k, x) VALUES (1, 1)")
    assert db.query("b").rows() == [{"k": 1, "y": 3}]
    for values in ["(2, NULL, 1)", "(2, 0, 1)", "(2, 1, 10)", "(NULL, 1, 1)"]:
        with pytest.raises(TidingsError):
            db.sql(f"INSERT INTO r VALUES {values}")


def test_explain_shows_fragments_and_sites(db: Database) -> None:
    db.sql(UNION)
    db.sql("CREATE TABLE bonus (id BIGINT, extra INT)")
    query = "SELECT e.id FROM emp e JOIN bonus b ON e.id = b.id WHERE e.pay > 5"
    explained = db.explain(query)
    assert "emp = north at oslo [region = 'n'] ⊎ south [region = 's' OR region IS NULL]" in explained
    assert "inter-site" in explained
    for site in ("oslo", "south", "local"):
        assert f"at {site}: " in explained
    rule = db.explain_rule("CREATE RULE low WHEN SELECT id FROM north WHERE pay < 1 DO NOTIFY 'x'")
    assert "intra-site: all of it at oslo" in rule
    both = db.explain_rule("CREATE RULE low WHEN SELECT id FROM emp WHERE pay < 1 DO NOTIFY 'x'")
    assert "inter-site" in both
    assert "Fragments" not in db.explain("SELECT * FROM bonus")


def test_what_contradicts_the_condition_of_a_fragment_leaves_it_out(db: Database) -> None:
    db.sql(UNION)
    rule = "CREATE RULE low WHEN SELECT id FROM emp WHERE region = {} AND pay < 1 DO NOTIFY 'x'"
    assert "intra-site: all of it at oslo" in db.explain_rule(rule.format("'n'"))
    assert "intra-site: all of it at south" in db.explain_rule(rule.format("'s'"))
    assert "inter-site" in db.explain_rule(rule.format("upper(region)"))
    db.sql("INSERT INTO emp VALUES (1, 'n', 0), (2, 's', 0), (3, NULL, 0)")
    db.sql(rule.format("'n'"))
    since = db.time
    db.sql("UPDATE emp SET region = 'n' WHERE id = 3; UPDATE emp SET region = 's' WHERE id = 1")
    changes = db.changes("SELECT id FROM emp WHERE region = 'n'", since).rows()
    assert sorted((row["id"], weight) for row, _, weight in changes) == [(1, -1), (3, 1)]
    (fired,) = db.query("SELECT rule, instances FROM tidings.firings").rows()
    assert fired == {"rule": "low", "instances": 1}
    assert db.query("SELECT id FROM emp WHERE region = 'x'").rows() == []


def test_tables_that_have_a_key_in_common_are_no_fragments(db: Database) -> None:
    db.sql("CREATE TABLE a (x INT PRIMARY KEY, y INT); CREATE TABLE b (x INT PRIMARY KEY, y INT)")
    db.sql("INSERT INTO a VALUES (1, 1), (2, 1); INSERT INTO b VALUES (2, 7)")
    with pytest.raises(DuplicateKey) as refused:
        db.sql("CREATE TABLE r FRAGMENTED BY UNION (a WHERE y < 5, b WHERE y >= 5)")
    assert refused.value.parameters["values"] == {"x": 2}
    db.sql("INSERT INTO a VALUES (3, 9)")  # no condition has come to it


def test_a_load_of_a_fragment_looks_at_the_keys_of_the_others(db: Database) -> None:
    db.sql(UNION)
    db.load("north", [{"id": n, "region": "n", "pay": 1} for n in range(4)])
    with pytest.raises(DuplicateKey) as refused:
        db.load("south", [{"id": n, "region": "s", "pay": 1} for n in range(3, 6)])
    assert refused.value.parameters["table"] == "emp"
    assert refused.value.parameters["values"] == {"id": 3}
    db.load("south", [{"id": n, "region": "s", "pay": 1} for n in range(4, 6)])
    assert len(db.query("emp")) == 6
    with pytest.raises(DuplicateKey):
        db.load("south", [(0, "s", 1)])


def test_conditions_and_definition_come_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stops the definition stops the conditions with it."""

    def stop(name: str) -> None:
        if name == "replace.written":
            raise InterruptedError(name)

    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql("CREATE TABLE a (x INT); CREATE TABLE b (x INT)")
        with monkeypatch.context() as patched:
            patched.setattr("tidings.store.catalog.catalog_journal.point", stop)
            with pytest.raises(InternalError, match=r"replace\.written"):
                db.sql("CREATE TABLE r FRAGMENTED BY UNION (a WHERE x < 5, b WHERE x >= 5)")
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql("INSERT INTO a VALUES (9)")
        db.sql("CREATE TABLE r FRAGMENTED BY UNION (a WHERE x > 5, b WHERE x <= 5)")
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        db.sql("INSERT INTO r VALUES (1)")
        assert db.query("b").rows() == [{"x": 1}]
        with pytest.raises(CheckViolated):
            db.sql("INSERT INTO b VALUES (9)")


def test_datalog_reads_it_and_copy_fills_it(db: Database, tmp_path: Path) -> None:
    db.sql(UNION)
    (tmp_path / "people.csv").write_text("id,region,pay\n1,n,5\n2,s,6\n3,n,7\n")
    db.sql("CREATE VIEW peers AS DATALOG $$ peers(x, y) :- emp(x, r, p), emp(y, r, q), p < q. .output peers $$")
    since = db.time
    db.sql(f"COPY emp FROM '{tmp_path / 'people.csv'}'")
    assert sorted(row["id"] for row in db.query("north")) == [1, 3]
    assert db.changes("peers", since).additions() == [{"x": 1, "y": 3}]
    since = db.time
    db.sql("UPDATE emp SET region = 'n' WHERE id = 2")
    added = {tuple(row.values()) for row in db.changes("peers", since).additions()}
    assert added == {(1, 2), (2, 3)}
    (tmp_path / "more.csv").write_text("id,region,pay\n4,n,5\n5,x,6\n")
    with pytest.raises(NoFragment):
        db.sql(f"COPY emp FROM '{tmp_path / 'more.csv'}'")
    assert len(db.query("emp")) == 3
