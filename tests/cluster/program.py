"""The shop on a Spark of its own: ``python -m tests.cluster.program JOB`` runs a job, which is given as JSON.

A process has one Spark: local, on a cluster or through Connect.  So every kind of session gets a process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from typing import Any
from unittest.mock import patch

import tidings
from tests.cluster import shop
from tidings import Database, ManualClock
from tidings.engine.spark.session import arrow_rows
from tidings.errors import EngineFailed

_MARK = "RESULT "


@dataclass(frozen=True)
class Place:
    """Where a database is; with ``worker`` that process group is killed while a wave runs."""

    path: str | None = None
    catalog: str | None = None
    storage_options: dict[str, str] | None = None
    worker: int | None = None


@dataclass(frozen=True)
class Job:
    """A session, and the databases that are opened in it one after the other."""

    settings: dict[str, str]
    places: list[Place]
    remote: str | None = None
    """The Spark Connect server; None for classic Spark."""
    environment: dict[str, str] = field(default_factory=dict)


def run(job: Job, seconds: float = 550) -> list[shop.Told]:
    """Run a job in a process of its own; what the shop told at each place."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-W", "ignore", "-m", "tests.cluster.program", json.dumps(asdict(job))]
    ran = subprocess.run(
        command, capture_output=True, text=True, env=environment | job.environment, check=False, timeout=seconds
    )
    assert ran.returncode == 0, ran.stdout[-1000:] + ran.stderr[-4000:]
    return [json.loads(line.removeprefix(_MARK)) for line in ran.stdout.splitlines() if line.startswith(_MARK)]


def main(text: str) -> None:
    job = json.loads(text)
    spark = session(job["remote"], job["settings"])
    for place in job["places"]:
        worker = place.pop("worker")
        with tidings.open(**place, spark=spark, clock=ManualClock(1000), execution="spark") as db:
            told = shop.whole(db) if worker is None else shop_losing(db, worker)
        print(_MARK + json.dumps(told), flush=True)
    spark.stop()


def session(remote: str | None, settings: dict[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    builder = builder if remote is None else builder.remote(remote)
    common = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
    }
    for key, value in (common | settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def shop_losing(db: Database, worker: int) -> shop.Told:
    """The example, and one of two workers dies in its first wave; the wave is repeated if it fails by that.

    It dies when the wave has begun and is about to start its first job: Spark learns of it when tasks do not come back.
    """
    shop.begin(db)
    killed: list[int] = []

    def losing(*arguments: Any) -> Any:
        if not killed:
            os.killpg(worker, signal.SIGKILL)
            killed.append(worker)
        return arrow_rows(*arguments)

    with patch("tidings.engine.spark.engine.arrow_rows", losing):
        try:
            db.advance()
        except EngineFailed as failure:
            print("the wave failed and is repeated:", failure, file=sys.stderr)
            db.advance()
    assert killed, "the wave started no job"
    return shop.end(db)


if __name__ == "__main__":
    main(sys.argv[1])
