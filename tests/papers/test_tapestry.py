"""The queries of "Continuous Queries over Append-Only Databases" (Terry, Goldberg, Nichols, Oki), as it prints them.

``t`` is written ``GetDate()``.  The paper's time is dense and its rows appear just after their time stamp; here time is
counted in microseconds and a row is there at its own instant.  So ``ts < t`` is ``ts <= t``, and where a query begins
to hold after an instant, what is looked up there is looked up one microsecond later.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

import tidings
from tidings import Database

WEEK = timedelta(weeks=1)
START = datetime(1992, 6, 1)

SCHEMA = """
CREATE TABLE msgs (
    msgid STRING PRIMARY KEY, `from` STRING, subject STRING, date TIMESTAMP, newsgroup STRING, inreplyto STRING,
    expires TIMESTAMP, ts TIMESTAMP
) WITH (append_only, time = ts);
CREATE TABLE tbl (id INT PRIMARY KEY, field TIMESTAMP, field1 STRING, field2 INT, field3 INT, string STRING,
    ts TIMESTAMP) WITH (append_only, time = ts);
CREATE TABLE reminders (id INT PRIMARY KEY, whenToRemind TIMESTAMP, ts TIMESTAMP) WITH (append_only, time = ts);
"""


@pytest.fixture
def clock() -> tidings.ManualClock:
    return tidings.ManualClock(micros(START - WEEK))


@pytest.fixture
def db(clock: tidings.ManualClock) -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=clock) as database:
        database.sql(SCHEMA)
        yield database


def micros(moment: datetime) -> int:
    return int((moment - datetime(1970, 1, 1)) / timedelta(microseconds=1))


class Explained:
    """What EXPLAIN CONTINUOUS says, each step on one line; every text of it can be run."""

    def __init__(self, db: Database, query: str) -> None:
        result = db.sql(f"EXPLAIN CONTINUOUS {query}")
        assert result is not None
        self.steps = [(row["step"], row["text"]) for row in result.rows()]
        for step, text in self.steps:
            if step.endswith(("form", "query")):
                db.query(text)
        db.query(query)

    def __getitem__(self, step: str) -> str:
        (text,) = (text for name, text in self.steps if name == step)
        return " ".join(text.split()).replace("CAST('1970-01-01 00:00:00.000000' AS TIMESTAMP)", "tau")

    @property
    def standard(self) -> str:
        return self["standard form"]

    @property
    def bounding(self) -> str:
        return self["minimum bounding monotone query"]

    @property
    def incremental(self) -> str:
        return self["incremental query"]

    @property
    def reasons(self) -> list[str]:
        return [text for step, text in self.steps if step == "not monotone"]


def message(db: Database, clock: tidings.ManualClock, at: datetime, msgid: str, **values: Any) -> None:
    """Let a message arrive at an instant."""
    clock.set(micros(at))
    with db.transaction() as tx:
        tx.insert("msgs", [{"msgid": msgid, "ts": at, **values}])
    assert tx.time == micros(at)


def answers(db: Database, query: str, at: datetime | None = None) -> set[Any]:
    rows = db.query(query, as_of=None if at is None else micros(at)).rows()
    return {next(iter(row.values())) for row in rows}


def text_of(db: Database, query: str, step: str) -> str:
    return str(next(text for name, text in Explained(db, query).steps if name == step))


QM, QI = "minimum bounding monotone query", "incremental query"

NO_REPLY = "SELECT * FROM msgs m WHERE NOT EXISTS (SELECT * FROM msgs m1 WHERE m1.inreplyto = m.msgid)"


# 2.0 Continuous semantics


def test_results_that_depend_on_when_a_query_runs(db: Database, clock: tidings.ManualClock) -> None:
    """Figure 1's algorithm misses a message on the hour that it has on the half hour; the bounding query has it."""
    morning = START.replace(hour=8)
    message(db, clock, morning + timedelta(minutes=15), "question")
    message(db, clock, morning + timedelta(minutes=45), "answer", inreplyto="question")
    clock.set(micros(morning + timedelta(hours=4)))
    hours = [morning + timedelta(hours=n) for n in range(4)]
    assert set().union(*(answers(db, NO_REPLY, at) for at in hours)) == {"answer"}
    halves = [at + timedelta(minutes=30) for at in hours]
    assert set().union(*(answers(db, NO_REPLY, at) for at in halves)) == {"question", "answer"}
    bounding = text_of(db, NO_REPLY, QM)
    assert answers(db, bounding, hours[1]) == {"question", "answer"} == answers(db, bounding, halves[1])
    assert answers(db, bounding, halves[0]) == {"question"}


def test_every_message_has_no_reply_when_it_arrives(db: Database) -> None:
    explained = Explained(db, NO_REPLY)
    assert explained.bounding == (
        "SELECT * FROM msgs AS m WHERE NOT EXISTS ( SELECT * FROM msgs AS m1"
        " WHERE m1.inreplyto = m.msgid AND m1.ts <= m.ts)"
    )


# 4.1 The class of non-monotone queries


def test_predicates_on_columns_are_monotone(db: Database) -> None:
    query = 'SELECT * FROM tbl WHERE tbl.field1 = "Foo" AND NOT tbl.field2 < tbl.field3'
    explained = Explained(db, query)
    assert explained["monotone"] == "yes"
    assert explained.bounding == "SELECT * FROM tbl WHERE tbl.field1 = 'Foo' AND tbl.field2 >= tbl.field3"
    assert explained.incremental == f"{explained.bounding} AND tau < tbl.ts AND tbl.ts <= NOW()"


@pytest.mark.parametrize(
    ("operator", "is_monotone", "bounding"),
    [
        ("<", True, "tbl.field < NOW()"),
        ("<=", True, "tbl.field <= NOW()"),
        (">", False, "tbl.ts < tbl.field"),
        (">=", False, "tbl.ts <= tbl.field"),
        ("=", False, "tbl.ts <= tbl.field AND tbl.field <= NOW()"),
        ("≠", False, "tbl.ts < tbl.field OR tbl.field < NOW()"),
    ],
)
def test_a_column_compared_with_the_clock(db: Database, operator: str, is_monotone: bool, bounding: str) -> None:
    explained = Explained(db, f"SELECT * FROM tbl WHERE tbl.field {operator} GetDate()")
    assert explained["monotone"] == ("yes" if is_monotone else "no")
    assert explained.bounding == f"SELECT * FROM tbl WHERE {bounding}"
    assert bool(explained.reasons) is not is_monotone


def test_messages_that_have_not_expired(db: Database) -> None:
    explained = Explained(db, "SELECT * FROM msgs m WHERE m.expires > GetDate()")
    assert explained.reasons == ["NOW() < m.expires: it ceases to hold as time passes"]
    assert explained.bounding == "SELECT * FROM msgs AS m WHERE m.ts < m.expires"


def test_a_monotone_query_that_needs_the_meaning_of_like(db: Database, clock: tidings.ManualClock) -> None:
    """The rewriting keeps a comparison that only who knows LIKE can leave out; the results are those of the paper."""
    query = """SELECT * FROM tbl WHERE (tbl.field > GetDate() AND tbl.string = "base") OR
        (tbl.field ≤ GetDate() AND tbl.string LIKE "%base")"""
    explained = Explained(db, query)
    assert explained["monotone"] == "no"
    assert explained.bounding == (
        "SELECT * FROM tbl WHERE (tbl.`string` = 'base' AND tbl.ts < tbl.field)"
        " OR (tbl.`string` LIKE '%base' AND tbl.field <= NOW())"
    )
    printed = 'SELECT * FROM tbl WHERE tbl.string = "base" OR (tbl.field ≤ GetDate() AND tbl.string LIKE "%base")'
    fields = [START - WEEK, START, START + WEEK]
    rows = [
        {"id": 3 * n + m, "field": field, "string": string, "ts": START}
        for n, field in enumerate(fields)
        for m, string in enumerate(("base", "database", "basement"))
    ]
    clock.set(micros(START))
    db.load("tbl", rows)
    bounding = text_of(db, query, QM)
    for weeks in range(3):
        clock.set(micros(START + weeks * WEEK))
        assert answers(db, bounding) == answers(db, printed) == answers(db, query)


def test_a_query_with_not_exists_is_not_monotone(db: Database) -> None:
    assert Explained(db, NO_REPLY).reasons == [
        "NOT EXISTS ( SELECT * FROM msgs AS m1 WHERE m1.inreplyto = m.msgid): it ceases to hold when such a row comes"
    ]


# 4.2 The basic rewriting rules


def test_a_row_is_there_from_its_time_stamp_on(db: Database) -> None:
    explained = Explained(db, 'SELECT * FROM tbl WHERE tbl.field1 = "joe"')
    assert explained.bounding == explained.standard == "SELECT * FROM tbl WHERE tbl.field1 = 'joe'"


def test_messages_whose_date_is_in_the_future(db: Database) -> None:
    explained = Explained(db, "SELECT m.msgid FROM msgs m WHERE GetDate() < m.date")
    assert explained.bounding == "SELECT m.msgid FROM msgs AS m WHERE m.ts < m.`date`"


def test_messages_between_two_and_three_weeks_old(db: Database, clock: tidings.ManualClock) -> None:
    query = "SELECT * FROM msgs m WHERE m.ts + 2 weeks < GetDate() AND GetDate() < m.ts + 3 weeks"
    explained = Explained(db, query)
    assert explained.bounding == "SELECT * FROM msgs AS m WHERE m.ts + INTERVAL '2' WEEKS < NOW()"
    assert explained.incremental == (
        "SELECT * FROM msgs AS m WHERE tau <= m.ts + INTERVAL '2' WEEKS AND m.ts + INTERVAL '2' WEEKS < NOW()"
    )
    message(db, clock, START, "one")
    clock.set(micros(START + 5 * WEEK))
    bounding = text_of(db, query, QM)
    ages = [0, 1, 2, 2.5, 3, 4]
    assert [len(answers(db, query, START + age * WEEK)) for age in ages] == [0, 0, 0, 1, 0, 0]
    assert [len(answers(db, bounding, START + age * WEEK)) for age in ages] == [0, 0, 0, 1, 1, 1]


def test_several_bounds_strict_and_not(db: Database) -> None:
    explained = Explained(
        db,
        "SELECT m.msgid FROM msgs m WHERE m.date < GetDate() AND m.expires <= GetDate()"
        " AND GetDate() < m.date + 1 week AND GetDate() <= m.expires + 1 day",
    )
    assert explained.bounding == (
        "SELECT m.msgid FROM msgs AS m WHERE m.ts < m.`date` + INTERVAL '1' WEEK"
        " AND m.ts <= m.expires + INTERVAL '1' DAY"
        " AND m.`date` < m.expires + INTERVAL '1' DAY"
        " AND m.expires < m.`date` + INTERVAL '1' WEEK"
        " AND m.`date` < NOW() AND m.expires <= NOW()"
    )


# 4.3 NOT EXISTS


UNANSWERED = """SELECT * FROM msgs m WHERE m.ts + 2 weeks < GetDate() AND NOT EXISTS(
    SELECT * FROM msgs m1 WHERE m1.inreplyto = m.msgid)"""


def test_messages_without_a_reply_in_their_first_two_weeks(db: Database, clock: tidings.ManualClock) -> None:
    explained = Explained(db, UNANSWERED)
    assert explained.bounding == (
        "SELECT * FROM msgs AS m WHERE m.ts + INTERVAL '2' WEEKS < NOW() AND NOT EXISTS ( SELECT * FROM msgs AS m1"
        " WHERE m1.inreplyto = m.msgid AND m1.ts <= m.ts + INTERVAL '2' WEEKS + INTERVAL '1' MICROSECOND)"
    )
    message(db, clock, START, "soon")
    message(db, clock, START + timedelta(1), "late")
    message(db, clock, START + 1 * WEEK, "a", inreplyto="soon")
    message(db, clock, START + 3 * WEEK, "b", inreplyto="late")
    clock.set(micros(START + 4 * WEEK))
    bounding = text_of(db, UNANSWERED, QM)
    assert answers(db, UNANSWERED) == {"a"}
    assert answers(db, bounding) == {"late", "a"}
    assert answers(db, bounding, START + 2.5 * WEEK) == {"late"}


def test_messages_without_a_reply_for_the_last_two_weeks(db: Database, clock: tidings.ManualClock) -> None:
    """The condition of NOT EXISTS is not monotone: the query may begin to hold whenever a reply is two weeks old."""
    query = """SELECT m.msgid FROM msgs m WHERE NOT EXISTS(
        SELECT * FROM msgs m1 WHERE m1.inreplyto = m.msgid AND GetDate() < m1.ts + 2 weeks)"""
    assert Explained(db, query).bounding == (
        "SELECT m.msgid FROM msgs AS m WHERE NOT EXISTS ( SELECT * FROM msgs AS m1"
        " WHERE m1.inreplyto = m.msgid AND m1.ts <= m.ts AND m.ts < m1.ts + INTERVAL '2' WEEKS)"
        " UNION SELECT m.msgid FROM msgs AS m, msgs AS m1_2 WHERE m1_2.inreplyto = m.msgid"
        " AND m.ts <= m1_2.ts + INTERVAL '2' WEEKS AND m1_2.ts + INTERVAL '2' WEEKS <= NOW()"
        " AND NOT EXISTS ( SELECT * FROM msgs AS m1 WHERE m1.inreplyto = m.msgid"
        " AND m1.ts <= m1_2.ts + INTERVAL '2' WEEKS AND m1_2.ts + INTERVAL '2' WEEKS < m1.ts + INTERVAL '2' WEEKS)"
    )
    bounding = text_of(db, query, QM)
    message(db, clock, START, "reply", inreplyto="lost")
    message(db, clock, START + WEEK, "lost")
    clock.set(micros(START + 4 * WEEK))
    assert answers(db, bounding, START + WEEK) == {"reply"} == answers(db, query, START + WEEK)
    assert answers(db, bounding, START + 2 * WEEK) == {"reply", "lost"} == answers(db, query, START + 2 * WEEK)


# 5.0 Incremental rewrite rules


def test_messages_from_joe(db: Database) -> None:
    explained = Explained(db, 'SELECT * FROM msgs m WHERE m.from = "joe"')
    assert explained.incremental == "SELECT * FROM msgs AS m WHERE m.`from` = 'joe' AND tau < m.ts AND m.ts <= NOW()"


def test_messages_that_received_a_reply(db: Database, clock: tidings.ManualClock) -> None:
    """One guarded query per table, as section 6 breaks the join up, rather than section 5's OR of both guards."""
    query = "SELECT m1.msgid FROM msgs m1, msgs m2 WHERE m2.inreplyto = m1.msgid"
    explained = Explained(db, query)
    assert explained["monotone"] == "yes"
    assert explained.bounding == ("SELECT DISTINCT m1.msgid FROM msgs AS m1, msgs AS m2 WHERE m2.inreplyto = m1.msgid")
    assert explained.incremental == (
        "SELECT m1.msgid FROM msgs AS m1, msgs AS m2 WHERE m2.inreplyto = m1.msgid AND m2.ts <= m1.ts"
        " AND tau < m1.ts AND m1.ts <= NOW()"
        " UNION SELECT m1.msgid FROM msgs AS m1, msgs AS m2 WHERE m2.inreplyto = m1.msgid AND m1.ts <= m2.ts"
        " AND tau < m2.ts AND m2.ts <= NOW()"
    )


# 6.2 The test queries, and what is known about replies


Q3 = """SELECT m.msgid FROM msgs m, msgs m1 WHERE m1.inreplyto = m.msgid
    AND m1.newsgroup = "comp.databases" """
Q4 = """SELECT m.msgid FROM msgs m WHERE m.ts < dateadd(week, -4, getdate()) AND NOT EXISTS (
    SELECT * FROM msgs m1 WHERE m1.inreplyto = m.msgid)"""
Q5 = """SELECT m.msgid FROM msgs m, msgs m1, msgs m2 WHERE m.inreplyto = "" AND m1.inreplyto = m.msgid
    AND m2.inreplyto = m1.msgid"""


@pytest.fixture
def told(clock: tidings.ManualClock) -> Iterator[Database]:
    """A database that is told that replies come after what they reply to."""
    fact = "ts TIMESTAMP,\n    CONSTRAINT replies_come_later (inreplyto) AFTER msgs (msgid) NOT ENFORCED"
    with tidings.open(engine="duckdb", clock=clock) as database:
        database.sql(SCHEMA.replace("ts TIMESTAMP", fact, 1))
        yield database


def test_query_1_and_2_read_what_is_new(db: Database) -> None:
    for condition in ('newsgroup = "comp.databases"', 'newsgroup LIKE "comp.sys.%"'):
        explained = Explained(db, f"SELECT msgid FROM msgs WHERE {condition}")
        assert explained.incremental.endswith(" AND tau < msgs.ts AND msgs.ts <= NOW()")


def test_query_3_is_broken_up_into_two(db: Database) -> None:
    joined = (
        "SELECT m.msgid FROM msgs AS m, msgs AS m1 WHERE m1.inreplyto = m.msgid AND m1.newsgroup = 'comp.databases'"
    )
    assert Explained(db, Q3).incremental == (
        f"{joined} AND m1.ts <= m.ts AND tau < m.ts AND m.ts <= NOW()"
        f" UNION {joined} AND m.ts <= m1.ts AND tau < m1.ts AND m1.ts <= NOW()"
    )


def test_query_3_with_what_is_known_about_replies(told: Database) -> None:
    assert Explained(told, Q3).incremental == (
        "SELECT DISTINCT m.msgid FROM msgs AS m, msgs AS m1 WHERE m1.inreplyto = m.msgid"
        " AND m1.newsgroup = 'comp.databases' AND tau < m1.ts AND m1.ts <= NOW()"
    )


def test_query_4_says_when_with_dateadd(db: Database) -> None:
    assert Explained(db, Q4).bounding == (
        "SELECT m.msgid FROM msgs AS m WHERE m.ts + INTERVAL '4' WEEK < NOW() AND NOT EXISTS ( SELECT * FROM msgs AS m1"
        " WHERE m1.inreplyto = m.msgid AND m1.ts <= m.ts + INTERVAL '4' WEEK + INTERVAL '1' MICROSECOND)"
    )


def test_query_5_with_what_is_known_about_replies(db: Database, told: Database) -> None:
    assert Explained(db, Q5).incremental.count("tau") == 3
    assert Explained(told, Q5).incremental == (
        "SELECT DISTINCT m.msgid FROM msgs AS m, msgs AS m1, msgs AS m2 WHERE m.inreplyto = '' AND"
        " m1.inreplyto = m.msgid AND m2.inreplyto = m1.msgid AND tau < m2.ts AND m2.ts <= NOW()"
    )


# 8.0 Reminders


def test_reminders_are_issued_at_their_instants(db: Database, clock: tidings.ManualClock) -> None:
    query = "SELECT * FROM reminders WHERE whenToRemind = GetDate()"
    assert Explained(db, query).bounding == (
        "SELECT * FROM reminders WHERE reminders.ts <= reminders.whenToRemind AND reminders.whenToRemind <= NOW()"
    )
    soon, too_late = START + timedelta(hours=1), START - timedelta(hours=1)
    clock.set(micros(START))
    db.load("reminders", [{"id": n, "whenToRemind": at, "ts": START} for n, at in enumerate((soon, too_late))])
    clock.set(micros(START + WEEK))
    bounding = text_of(db, query, QM)
    assert answers(db, bounding, soon - timedelta(microseconds=1)) == set()
    assert answers(db, bounding, soon) == {0} == answers(db, query, soon)
    assert answers(db, bounding) == {0} != answers(db, query)
