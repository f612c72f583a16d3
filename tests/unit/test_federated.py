"""Fragmented tables over databases of their own, by SQL: what one database that has everything would say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

import pytest

import tidings
from tests.laws.seeds import chunks
from tidings import AffectedRows, Database, FederatedDatabase
from tidings.errors import (
    CheckViolated,
    DuplicateKey,
    InvalidFragmentation,
    NoFragment,
    PartlyApplied,
    SeveralSites,
    TidingsError,
    UnknownRelation,
    UnsupportedStatement,
)

PAY = """
CREATE TABLE pay (id INT PRIMARY KEY, region STRING, amount INT, CHECK (amount < 100))
  FRAGMENTED BY UNION (north AT oslo WHERE region = 'n', south AT rome WHERE region = 's');
"""
STAFF = """
CREATE TABLE staff (id INT PRIMARY KEY, a INT, name STRING) FRAGMENTED BY JOIN (
  UNION (low (a) AT oslo WHERE id < 100, high (a) AT rome WHERE id >= 100), names (name) AT rome) ON id
"""


@pytest.fixture
def firm() -> Iterator[FederatedDatabase]:
    with ExitStack() as opened:
        sites = {site: opened.enter_context(tidings.open(engine="duckdb")) for site in ("oslo", "rome")}
        with tidings.federate(sites) as federated:
            federated.sql(PAY + STAFF)
            yield federated


def site(firm: FederatedDatabase, name: str) -> Database:
    return firm.databases[name]


def rows(firm: FederatedDatabase, text: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in firm.query(text).rows())


def test_statements_reach_the_sites(firm: FederatedDatabase) -> None:
    answer = firm.sql("INSERT INTO pay VALUES (1, 'n', 10)")
    assert isinstance(answer, AffectedRows)
    assert answer.inserted == 1
    firm.sql("INSERT INTO pay VALUES (2, 's', 20), (3, 'n', 30)", id="second")
    assert [len(site(firm, name).query(table)) for name, table in (("oslo", "north"), ("rome", "south"))] == [2, 1]
    firm.sql("UPDATE pay p SET amount = p.amount + 1 WHERE p.region = 'n'")
    assert rows(firm, "SELECT * FROM pay") == [(1, "n", 11), (2, "s", 20), (3, "n", 31)]
    since = firm.position
    with pytest.raises(SeveralSites):
        firm.sql("UPDATE pay SET region = 's' WHERE id = 1")
    firm.sql("UPDATE pay SET region = 's' WHERE id = 1", id="moves")
    assert site(firm, "rome").query("SELECT id FROM south WHERE amount = 11").rows() == [{"id": 1}]
    change = firm.changes("SELECT * FROM pay", since)
    assert change.delta.rows == ({(1, "n", 11)}, {(1, "s", 11)})
    assert change.sent == {"oslo": 2, "rome": 1}
    firm.sql("DELETE FROM pay WHERE amount > 15", id="gone")
    assert rows(firm, "SELECT DISTINCT id FROM pay") == [(1,)]


def test_what_one_site_can_judge_is_judged_there(firm: FederatedDatabase) -> None:
    assert (
        firm.explain("SELECT DISTINCT id FROM pay WHERE region = 'n' AND amount > 1")
        .splitlines()[0]
        .endswith("at oslo")
    )
    inter = firm.explain("SELECT DISTINCT p.id, s.name FROM pay p JOIN staff s ON p.id = s.id WHERE p.region = 'n'")
    assert inter.startswith("inter-site")
    assert "south" not in inter
    firm.sql("INSERT INTO pay VALUES (1, 'n', 10)")
    since = firm.position
    firm.sql("INSERT INTO pay VALUES (2, 's', 20)")
    assert firm.changes("SELECT DISTINCT id FROM pay WHERE region = 'n'", since).sent == {"oslo": 0, "rome": 0}


def test_checks_and_keys_hold_across_sites(firm: FederatedDatabase) -> None:
    firm.sql("INSERT INTO pay VALUES (1, 'n', 10)")
    for text, refusal in [
        ("INSERT INTO pay VALUES (1, 's', 10)", DuplicateKey),
        ("INSERT INTO pay VALUES (2, 's', 100)", CheckViolated),
        ("INSERT INTO pay VALUES (2, 'x', 10)", NoFragment),
        ("UPDATE pay SET amount = amount + 90", CheckViolated),
        ("INSERT INTO pay SELECT id, region, 0 FROM staff", UnsupportedStatement),
        ("INSERT INTO nothing VALUES (1)", UnknownRelation),
        ("CREATE VIEW v AS SELECT * FROM pay", UnsupportedStatement),
    ]:
        with pytest.raises(refusal):
            firm.sql(text, id=text)
    firm.sql("INSERT INTO pay VALUES (2, 's', 20)")
    with pytest.raises(DuplicateKey):
        firm.sql("UPDATE pay SET id = 2 WHERE id = 1")
    firm.sql("INSERT INTO pay VALUES (1, 'n', 11) ON CONFLICT (id) DO UPDATE SET amount = excluded.amount")
    assert rows(firm, "SELECT * FROM pay") == [(1, "n", 11), (2, "s", 20)]


def test_what_stops_between_two_sites_is_completed_as_it_was_meant(
    firm: FederatedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first site has its share and the shares of the others: the statement is not evaluated anew."""
    firm.sql("INSERT INTO pay VALUES (1, 'n', 10)")
    move = "UPDATE pay SET region = 's', amount = amount + 1 WHERE region = 'n'"
    rule = "CREATE RULE closed WHEN SELECT id FROM south DO RAISE 'closed'"
    site(firm, "rome").sql(rule)
    with pytest.raises(PartlyApplied):
        firm.sql(move, id="move")
    assert rows(firm, "SELECT * FROM pay") == []
    site(firm, "rome").sql("DROP RULE closed")
    for _ in range(2):
        firm.sql(move, id="move")
        assert rows(firm, "SELECT * FROM pay") == [(1, "s", 11)]


def test_declarations_are_made_anew(tmp_path: Path) -> None:
    for time in range(2):
        with ExitStack() as opened:
            sites = {s: opened.enter_context(tidings.open(tmp_path / s, engine="duckdb")) for s in ("oslo", "rome")}
            with tidings.federate(sites) as firm:
                firm.sql(PAY)
                firm.sql(PAY.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
                firm.sql(f"INSERT INTO pay VALUES ({time}, 'n', 10)")
                assert len(firm.query("SELECT * FROM pay")) == time + 1
            with tidings.federate(sites) as other:
                with pytest.raises(InvalidFragmentation, match="another"):
                    other.sql(PAY.replace("'n'", "'m'"))
                with pytest.raises(UnknownRelation):
                    other.sql("SELECT * FROM pay")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("CREATE TABLE r (k INT, a INT) FRAGMENTED BY UNION (x AT oslo WHERE k > 0, y AT rome WHERE k <= 0)", "key"),
        (
            "CREATE TABLE r (k INT PRIMARY KEY) FRAGMENTED BY UNION (x AT oslo WHERE k > 0, y WHERE k <= 0)",
            "there is y",
        ),
        ("CREATE TABLE r FRAGMENTED BY UNION (x, y)", "columns"),
    ],
)
def test_what_cannot_be_at_several_sites_is_refused(firm: FederatedDatabase, text: str, reason: str) -> None:
    with pytest.raises(InvalidFragmentation, match=reason):
        firm.sql(text)
    firm.sql("DROP TABLE pay")
    assert "north" not in [row["name"] for row in site(firm, "oslo").tables()]


@pytest.mark.parametrize("seeds", chunks(20, quick=2, size=2))
def test_it_says_what_one_database_says(firm: FederatedDatabase, seeds: range) -> None:
    for seed in seeds:
        random = Random(seed)
        with tidings.open(engine="duckdb") as one:
            one.sql("CREATE TABLE staff (id INT PRIMARY KEY, a INT, name STRING)")
            firm.sql("DELETE FROM staff", id=f"{seed} begins")
            for step in range(8):
                k, a = random.choice([1, 2, 101, 102]), random.choice(["NULL", "1", "2"])
                text = random.choice(
                    [
                        f"INSERT INTO staff VALUES ({k}, {a}, 'x')",
                        f"INSERT INTO staff VALUES ({k}, {a}, 'y') ON CONFLICT (id) DO UPDATE SET a = excluded.a",
                        f"UPDATE staff SET a = {a}, name = 'z' WHERE id >= {k}",
                        "UPDATE staff SET id = 203 - id WHERE a = 1",
                        f"DELETE FROM staff WHERE a = {random.choice([1, 2])} OR id = {k}",
                    ]
                )
                since = one.time, firm.position
                refused = [_refusal(one.sql, text), _refusal(partial(firm.sql, id=f"{seed} {step}"), text)]
                assert refused[0] == refused[1], (seed, step, text)
                query = "SELECT DISTINCT id, a FROM staff WHERE a > 0"
                assert rows(firm, query) == sorted(tuple(r.values()) for r in one.query(query).rows()), (seed, text)
                told, delta = one.changes(query, since[0]), firm.changes(query, since[1]).delta
                sides = [{tuple(row.values()) for row in side} for side in (told.removals(), told.additions())]
                assert [set(side) for side in delta.rows] == sides, (seed, step, text)


def _refusal(act: Callable[[str], object], text: str) -> str | None:
    try:
        act(text)
    except TidingsError as error:
        return type(error).__name__
    return None
