"""What the benchmarks run on is what it is said to be."""

from __future__ import annotations

from collections import Counter

import pyarrow.compute as pc
import pytest

import tidings
from benchmarks.data import inventory
from benchmarks.data.messages import QUERIES, SCHEMA, YEAR, messages, newsgroups
from benchmarks.data.orders import TABLES, Orders
from benchmarks.data.watchers import FAMILIES, view
from benchmarks.peers.duckdb import PlainTpch
from benchmarks.tapestry import at_present


def test_one_item_in_twenty_is_low() -> None:
    with tidings.open(engine="duckdb") as db:
        inventory.load(db, 2_000)
        low = len(db.query("low_stock"))
    assert 50 < low < 150


def test_each_sale_is_a_transaction() -> None:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1)) as db:
        inventory.load(db, 50)
        since = inventory.Sales(db, 50).commit(7)
        assert db.time - since == 7
        assert len({c.time for c in db.changes("quantity", since, per_commit=True).rows()}) > 4


def test_messages_are_the_same_in_every_run() -> None:
    assert messages(300).rows.equals(messages(300).rows)
    assert not messages(300).rows.equals(messages(300, seed=7).rows)


def test_replies_answer_earlier_messages_of_their_newsgroup() -> None:
    rows = messages(30_000).rows.to_pylist()
    place = {row["msgid"]: n for n, row in enumerate(rows)}
    replies = [(n, place[row["inreplyto"]]) for n, row in enumerate(rows) if row["inreplyto"]]
    assert len(place) == len(rows)
    assert 0.4 < len(replies) / len(rows) < 0.6
    assert all(parent < n and rows[parent]["newsgroup"] == rows[n]["newsgroup"] for n, parent in replies)


def test_messages_are_in_the_order_of_their_instants() -> None:
    news = messages(1_000)
    times = [news.time(n) for n in range(1, 1_001)]
    assert times == sorted(set(times))
    assert news.part(10, 20).num_rows == 10


def test_newsgroups_are_of_unequal_size() -> None:
    counts = Counter(messages(20_000).rows.column("newsgroup").to_pylist())
    (_, most), *_ = counts.most_common(1)
    assert most > 5 * counts["comp.databases"] > 0
    assert len(newsgroups()) == len(set(newsgroups()))


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_over_messages_has_an_answer(name: str) -> None:
    news = messages(2_000)
    clock = tidings.ManualClock(news.time(2_000) + YEAR)
    with tidings.open(engine="duckdb", clock=clock, retention=None) as db:
        db.sql(SCHEMA)
        db.load("msgs", news.rows)
        told = Counter({c.row["msgid"]: 0 for c in db.changes(QUERIES[name], per_commit=True).rows()})
        for change in db.changes(QUERIES[name], per_commit=True).rows():
            told[change.row["msgid"]] += change.weight
        answer = Counter(row["msgid"] for row in db.query(at_present(name, clock.now())).rows())
    assert answer
    assert +told == answer


def test_both_sides_see_the_same_orders() -> None:
    plain = PlainTpch(0.01)
    orders = Orders(plain)
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1)) as db:
        orders.load(db)
        assert orders.change(db, 0.01) > 500
        for table in TABLES:
            held, wanted = db.query(table).to_arrow(), plain.run(f"SELECT * FROM {table}")
            columns = [(name, "ascending") for name in wanted.column_names[:4]]
            assert held.sort_by(columns).cast(wanted.schema).equals(wanted.sort_by(columns)), table
        prices = db.query("SELECT p_size FROM part").to_arrow().column("p_size")
        assert pc.max(prices).as_py() <= 50


def test_views_that_are_watched_differ() -> None:
    assert len({view(n) for n in range(200)}) == 200
    assert len({view(n) for n in range(len(FAMILIES))}) == len(FAMILIES)
