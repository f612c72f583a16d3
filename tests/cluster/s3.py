"""An S3 server of its own for tests, on this machine: moto, with one bucket."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyarrow.fs import S3FileSystem

from tests.cluster.processes import free_port, running, wait_for

BUCKET = "shops"

CREDENTIALS = {"access_key": "tests", "secret_key": "not a secret"}


@contextmanager
def server() -> Iterator[str]:
    """A running server, as its endpoint; it and its rows are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tidings-s3-") as folder:
        port, log = free_port(), Path(folder, "log")
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        with running(command, log, os.environ) as process:
            wait_for(port, process, log)
            endpoint = f"http://127.0.0.1:{port}"
            S3FileSystem(**options(endpoint), allow_bucket_creation=True).create_dir(BUCKET)
            yield endpoint


def options(endpoint: str) -> dict[str, str]:
    """What Arrow has to know of a server."""
    return {"endpoint_override": endpoint, "region": "us-east-1", **CREDENTIALS}


def settings(endpoint: str) -> dict[str, str]:
    """What Spark has to know of a server."""
    prefix = "spark.hadoop.fs.s3a"
    return {
        f"{prefix}.endpoint": endpoint,
        f"{prefix}.endpoint.region": "us-east-1",
        f"{prefix}.path.style.access": "true",
        f"{prefix}.connection.ssl.enabled": "false",
        f"{prefix}.access.key": CREDENTIALS["access_key"],
        f"{prefix}.secret.key": CREDENTIALS["secret_key"],
    }
