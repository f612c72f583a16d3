"""A stream of Spark writes into tables by ``foreachBatch``; a batch that is sent again counts once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import Database

pytestmark = pytest.mark.spark


def run(spark: Any, db: Database, folder: Path, checkpoint: str, times: int = 1) -> list[bool]:
    """Let a stream take what has come, each batch so often; which transactions were repetitions."""
    repeated: list[bool] = []

    def write(batch: Any, batch_id: int) -> None:
        for _ in range(times):
            with db.transaction(id=f"sales-{batch_id}") as tx:
                tx.insert("sale", batch)
            repeated.append(tx.repeated)

    frames = spark.readStream.schema("id BIGINT, amount INT").json(str(folder / "arriving"))
    stream = frames.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / checkpoint))
    query = stream.trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    return repeated


def test_a_batch_that_is_sent_again_counts_once(spark: Any, tmp_path: Path) -> None:
    arriving = tmp_path / "arriving"
    arriving.mkdir()
    with tidings.open(tmp_path / "shop", spark=spark) as db:
        db.sql("""CREATE TABLE sale (id BIGINT, amount INT);
                  CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(amount) AS amount FROM sale""")
        (arriving / "1.json").write_text('{"id": 1, "amount": 5}\n{"id": 2, "amount": 7}\n', encoding="utf-8")
        assert run(spark, db, tmp_path, "checkpoint", times=2) == [False, True]
        assert run(spark, db, tmp_path, "lost") == [True]
        (arriving / "2.json").write_text('{"id": 1, "amount": 5}\n', encoding="utf-8")
        assert run(spark, db, tmp_path, "checkpoint") == [False]
        db.advance()
        assert db.query("total").rows() == [{"n": 3, "amount": 17}]
