"""A standalone Spark cluster of its own for tests: a master and two workers of one core each, on this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.processes import free_port, running, wait_for


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    master: str
    """Its URL."""
    workers: list[int]
    """The process groups of its workers; each has its executors in it."""

    @property
    def settings(self) -> dict[str, str]:
        """What a session on it is started with."""
        return {
            "spark.master": self.master,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
        }


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster, which is gone afterwards."""
    import pyspark

    program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidings-cluster-")))
        environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

        def start(name: str, kind: str, *arguments: str) -> tuple[int, int]:
            """A process of the cluster: its number and its port."""
            port, log = free_port(), folder / name
            address = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
            command = [program, f"org.apache.spark.deploy.{kind}", *address, *arguments]
            process = stack.enter_context(running(command, log, environment))
            wait_for(port, process, log)
            return process.pid, port

        master = f"spark://127.0.0.1:{start('master', 'master.Master')[1]}"
        workers = []
        for name in ("worker1", "worker2"):
            resources = ["--cores", "1", "--memory", "640m", "--work-dir", str(folder / f"{name}.work")]
            workers.append(start(name, "worker.Worker", *resources, master)[0])
        yield Cluster(master, workers)
