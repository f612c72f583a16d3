"""Pathway: a dataflow that keeps the condition's joins in memory, in a process with an environment of its own.

It cannot share one with Tidings: it wants an older pyarrow.  Its process is given the batches and says when the changes
of each have come out.  Pathway reports its use only where a licence key is set; none is, and the process runs in a
network namespace that has no way out.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Work
from benchmarks.peers.peer import LeftOut

PYTHON = Path(__file__).parents[2] / ".venv-pathway" / "bin" / "python"
"""``make peers`` creates it."""
PROGRAM = Path(__file__).parent / "pathway_program.py"
WITHOUT_NETWORK = ("unshare", "--net", "--map-root-user")


@contextmanager
def pathway(tables: Mapping[str, pa.Table]) -> Iterator[Pathway]:
    """A process with the inventory and the condition as a dataflow."""
    if not PYTHON.exists():
        raise LeftOut("Pathway is not installed: left out; `make peers` installs it")
    if (
        shutil.which("unshare") is None
        or subprocess.run([*WITHOUT_NETWORK, "true"], stderr=subprocess.DEVNULL).returncode
    ):
        raise LeftOut("Pathway is left out: this system does not let a process run without a network")
    with tempfile.TemporaryDirectory(prefix="tidings-pathway-") as folder:
        for name, rows in tables.items():
            pq.write_table(rows, Path(folder, f"{name}.parquet"))
        command = [*WITHOUT_NETWORK, str(PYTHON), "-I", str(PROGRAM), folder]
        environment = {"PATH": os.environ["PATH"], "HOME": folder}
        with subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            try:
                peer = Pathway(process, tables["quantity"].num_rows)
                peer.answer()
                yield peer
            finally:
                process.kill()


def batch_of(transactions: int) -> str:
    """The name of what is measured."""
    return f"Pathway, batch of {transactions:,}"


@dataclass(slots=True)
class Pathway:
    """Batches of changes, each committed as one: Pathway need not tell its transactions apart."""

    process: subprocess.Popen[str]
    items: int
    rng: random.Random = field(default_factory=lambda: random.Random(7))
    _batches: int = 0

    def works(self, transactions: int) -> dict[str, Work]:
        return {batch_of(transactions): (lambda: self.hand_over(transactions), self.run)}

    def hand_over(self, transactions: int) -> None:
        """Give the process a batch, which it is not to begin with yet.

        Pathway is silent about a batch that changes nothing in the condition, so the first item of each gets a quantity
        that is below every threshold and was never there before.
        """
        self._batches += 1
        batch = [(self.rng.randrange(self.items), self.rng.randrange(300)) for _ in range(transactions - 1)]
        self._say(json.dumps([(self.rng.randrange(self.items), -self._batches), *batch]))
        self.answer()

    def run(self) -> int:
        """Let the process take the batch; how many changes came out."""
        self._say("go")
        return int(self.answer())

    def answer(self) -> str:
        """What the process says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("Pathway's process ended")
        return line.strip()

    def _say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
