"""A thread delivers while others commit: neither disturbs the other, wherever the catalog is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

import tidings
from tests.postgresql import schema, server
from tidings.deliver.deliveries import DeliverySettings
from tidings.store.rules.messages import MessageState

COMMITS, WRITERS = 20, 2


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


def catalog(request: pytest.FixtureRequest, kind: str) -> str | None:
    return schema(request.getfixturevalue("postgresql"), "during_writes") if kind == "postgresql" else None


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_all_is_committed_and_delivered(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    settings = DeliverySettings(files=tmp_path / "out")
    url = catalog(request, kind)
    with tidings.open(tmp_path / "d", engine="duckdb", catalog=url, deliveries=settings) as db:
        db.sql("""
            CREATE TABLE t (n INT PRIMARY KEY);
            CREATE RULE tell WHEN SELECT n FROM t DO NOTIFY 'readers';
            CREATE RULE note WHEN SELECT n FROM t DO FILE 'seen.jsonl'
        """)
        problems: list[BaseException] = []

        def write(first: int) -> None:
            try:
                for n in range(first, first + COMMITS):
                    db.sql(f"INSERT INTO t VALUES ({n})")
            except BaseException as error:
                problems.append(error)

        with db.deliveries.listen("readers") as heard:
            db.deliveries.start()
            writers = [Thread(target=write, args=(n * COMMITS,)) for n in range(WRITERS)]
            for one in writers:
                one.start()
            for one in writers:
                one.join()
            assert problems == []
            told = [heard.get(30) for _ in range(COMMITS * WRITERS)]
        assert sorted(n.payload["data"]["rows"][0]["n"] for n in told if n) == list(range(COMMITS * WRITERS))
        db.deliveries.close()
        assert db.deliveries.error is None
        db.deliveries.step()
        assert db.deliveries.outbox.counts()[MessageState.DELIVERED] == 2 * COMMITS * WRITERS
        assert {e.attempts for e in db.deliveries.entries()} == {1}
        revision = db._parts.storage.journal.contents.revision()
        db.sql("INSERT INTO t VALUES (-1)")
        assert db._parts.storage.journal.contents.revision() == revision + 1
    lines = (tmp_path / "out" / "seen.jsonl").read_text().splitlines()
    assert len(lines) == COMMITS * WRITERS
