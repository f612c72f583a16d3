"""Which queries have a standard form, what it is, and why others have none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings import Database
from tidings.engine.sql.standard_text import query_text
from tidings.lang.sql import statement as sql
from tidings.read.rewritings import Rewritings
from tidings.rewrite.monotone.rewriting import NoRewriting, Rewriting

TABLES = """
CREATE TABLE a (k INT, v INT, d DATE, due TIMESTAMP, ts TIMESTAMP) WITH (append_only, time = ts);
CREATE TABLE b (k INT, s STRUCT<x: INT>, n TIMESTAMP_NTZ, day DATE) WITH (append_only, time = day);
CREATE TABLE plain (k INT);
CREATE TABLE grown (k INT) WITH (append_only);
CREATE VIEW recent (k, at) AS SELECT k, ts FROM a WHERE v = 1;
CREATE EVENT bell (k INT);
"""


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1000)) as database:
        database.sql(TABLES)
        yield database


def outcome(db: Database, text: str) -> Rewriting | NoRewriting:
    (query,) = sql.read(text)
    assert isinstance(query, sql.Query)
    return Rewritings(db._parts.plans).rewriting(query)


def standard(db: Database, text: str) -> str:
    rewriting = outcome(db, text)
    assert isinstance(rewriting, Rewriting), rewriting
    return " ".join(query_text(rewriting.standard).split())


@pytest.mark.parametrize(
    ("condition", "terms"),
    [
        ("now() - a.ts > INTERVAL 1 HOUR", "a.ts + INTERVAL '1' HOUR < NOW()"),
        ("a.due - now() > INTERVAL 1 HOUR", "NOW() < a.due - INTERVAL '1' HOUR"),
        ("a.due > now() + INTERVAL 1 DAY", "NOW() < a.due - INTERVAL '1' DAY"),
        ("NOT a.due > now()", "a.due <= NOW()"),
        ("NOT (a.due <> now())", "a.due <= NOW() AND NOW() <= a.due"),
        ("a.due <=> now()", "a.due <= NOW() AND NOW() <= a.due"),
        ("NOT a.due <=> now()", "NOW() < a.due OR a.due < NOW() OR a.due IS NULL"),
        ("now() BETWEEN a.ts AND a.due", "NOW() <= a.due"),
        ("now() NOT BETWEEN a.ts AND a.due", "NOW() < a.ts OR a.due < NOW()"),
        (
            "a.due IN (now(), TIMESTAMP '2020-01-01')",
            "(a.due <= NOW() AND NOW() <= a.due) OR a.due = CAST('2020-01-01' AS TIMESTAMP)",
        ),
        ("dateadd(day, 3, a.ts) < now()", "a.ts + INTERVAL '3' DAY < NOW()"),
        ("a.d < now()", "CAST(a.d AS TIMESTAMP) < NOW()"),
        ("a.d < current_date()", "CAST(DATE_ADD(a.d, 1) AS TIMESTAMP) <= NOW()"),
        ("a.d <= current_date()", "CAST(a.d AS TIMESTAMP) <= NOW()"),
        ("a.d > current_date() - 7", "NOW() < CAST(DATE_ADD(a.d, 7) AS TIMESTAMP)"),
        ("datediff(current_date(), a.d) >= 7", "CAST(DATE_ADD(a.d, 7) AS TIMESTAMP) <= NOW()"),
        ("datediff(a.d, current_date()) > 7", "NOW() < CAST(DATE_ADD(a.d, -7) AS TIMESTAMP)"),
        ("a.due >= current_date()", "NOW() < CAST(DATE_ADD(CAST(a.due AS DATE), 1) AS TIMESTAMP)"),
        ("(a.k = 1 OR a.v = 2) AND a.v < 9", "(a.k = 1 OR a.v = 2) AND a.v < 9"),
        ("NOT (a.k = 1 OR a.due < now())", "a.k <> 1 AND NOW() <= a.due"),
        ("NOT a.k IN (1, 2)", "NOT (a.k IN (1, 2))"),
        ("EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.s.x = 1)", None),
        ("a.k = ANY (SELECT k FROM b)", None),
    ],
)
def test_terms(db: Database, condition: str, terms: str | None) -> None:
    text = standard(db, f"SELECT a.k FROM a WHERE {condition}")
    db.query(text)
    if terms is not None:
        assert text == f"SELECT DISTINCT a.k FROM a WHERE {terms}"


@pytest.mark.parametrize(
    ("query", "form"),
    [
        (
            "SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
            "SELECT DISTINCT a.k FROM a, b WHERE b.k = a.k",
        ),
        ("SELECT a.k FROM a LEFT SEMI JOIN b ON a.k = b.k", "SELECT DISTINCT a.k FROM a, b WHERE a.k = b.k"),
        (
            "SELECT a.k FROM a LEFT ANTI JOIN b ON a.k = b.k",
            "SELECT DISTINCT a.k FROM a WHERE NOT EXISTS ( SELECT * FROM b WHERE a.k = b.k)",
        ),
        (
            "SELECT a.k FROM a LEFT ANTI JOIN (SELECT k FROM b UNION SELECT v FROM a) z ON a.k = z.k",
            "SELECT DISTINCT a.k FROM a WHERE NOT EXISTS ( SELECT * FROM b WHERE a.k = b.k)"
            " AND NOT EXISTS ( SELECT * FROM a AS a_2 WHERE a.k = a_2.v)",
        ),
        ("SELECT k FROM a WHERE k IN (SELECT k FROM b)", "SELECT DISTINCT a.k FROM a, b WHERE a.k = b.k"),
        (
            "SELECT k FROM a WHERE k > ALL (SELECT k FROM b)",
            "SELECT DISTINCT a.k FROM a WHERE NOT EXISTS ( SELECT * FROM b"
            " WHERE (a.k <= b.k OR a.k IS NULL OR b.k IS NULL))",
        ),
        ("SELECT at FROM recent WHERE at < now()", "SELECT DISTINCT a.ts AS at FROM a WHERE a.v = 1 AND a.ts < NOW()"),
        (
            "WITH w (x) AS (SELECT v FROM a WHERE k = 1) SELECT x FROM w WHERE x > 2",
            "SELECT DISTINCT a.v AS x FROM a WHERE a.k = 1 AND a.v > 2",
        ),
        (
            "SELECT z.k + 1 AS more FROM (SELECT k FROM a UNION ALL SELECT k FROM b) z WHERE z.k > 0",
            "SELECT a.k + 1 AS more FROM a WHERE a.k > 0 UNION SELECT b.k + 1 AS more FROM b WHERE b.k > 0",
        ),
        (
            "SELECT a.k FROM a WHERE NOT EXISTS (SELECT * FROM a WHERE a.k = 1)",
            "SELECT DISTINCT a.k FROM a WHERE NOT EXISTS ( SELECT * FROM a AS a_2 WHERE a_2.k = 1)",
        ),
        ("SELECT DISTINCT b.* FROM a CROSS JOIN b ORDER BY b.k", None),
        ("SELECT k, k + 1 FROM a", None),
    ],
)
def test_forms(db: Database, query: str, form: str | None) -> None:
    text = standard(db, query)
    assert form is None or text == form
    assert [c.name for c in db.query(text).to_arrow().schema] == [c.name for c in db.query(query).to_arrow().schema]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT k, count(*) FROM a GROUP BY k", "it has GROUP BY"),
        ("SELECT count(*) FROM a", "it has an aggregate: COUNT(*)"),
        ("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k", "it has a LEFT JOIN"),
        ("SELECT a.v FROM a JOIN b USING (k)", "it has a join with USING or NATURAL"),
        ("SELECT k FROM a ORDER BY k LIMIT 1", "it has LIMIT"),
        ("SELECT row_number() OVER (ORDER BY k) AS n FROM a", "what is selected depends on several rows"),
        ("SELECT k FROM plain", "plain is not append-only"),
        ("SELECT k FROM grown", "grown does not say when its rows came"),
        ("SELECT k FROM bell", "bell is an event"),
        ("SELECT k FROM a EXCEPT SELECT k FROM b", "EXCEPT is not a SELECT"),
        ("SELECT k FROM a WHERE k = (SELECT max(k) FROM b)", "a subquery that is not EXISTS or IN"),
        ("SELECT (SELECT max(k) FROM b) AS m FROM a", "a subquery in what is selected"),
        ("SELECT 1 AS one", "it reads no table"),
        ("SELECT k, v FROM a UNION BY NAME SELECT v, k FROM a", "it has UNION BY NAME"),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r",
            "it is recursive",
        ),
        ("SELECT name FROM tidings.rules", "tidings.rules shows what the database knows of itself"),
        (
            "SELECT k FROM a WHERE CASE WHEN due < now() THEN k = 1 ELSE k = 2 END",
            "the clock is not compared in",
        ),
    ],
)
def test_queries_without_a_form(db: Database, query: str, reason: str) -> None:
    found = outcome(db, query)
    assert isinstance(found, NoRewriting)
    assert found.reason.startswith(reason)


def test_too_many_alternatives(db: Database) -> None:
    terms = " AND ".join(f"(k = {n} OR due <> now())" for n in range(5))
    found = outcome(db, f"SELECT k FROM a WHERE {terms}")
    assert isinstance(found, NoRewriting)
    assert found.reason == "its condition has 81 alternatives; at most 64 are rewritten"
