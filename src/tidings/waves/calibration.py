"""The speeds of the engines on this machine: measured once per database and machine, and kept in the catalog.

They are measured when first a wave is estimated to take long (:data:`WORTH`): before that the usual speeds will do.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from tidings.delta.cost import Speeds
from tidings.engine.backend import Backend
from tidings.engine.speeds import Trial, tried
from tidings.store.storage import Storage
from tidings.waves.engines import IN_PROCESS, Engines
from tidings.waves.strategy import Estimate

WORTH = 1.0
"""Seconds that a wave must take, by the usual speeds, for these to be measured."""


@dataclass(slots=True)
class Calibration:
    """Knows how fast the engines of one database are."""

    storage: Storage
    engines: Engines
    is_fixed: bool = False
    """Whether the usual speeds are taken as they are."""
    measured: dict[str, Speeds] = field(init=False, default_factory=dict)
    """Those measured, by engine."""

    def speeds(self, execution: str) -> Speeds:
        """The speeds of an engine, as far as they are known."""
        return self.measured.get(execution) or self._backend(execution).usual.speeds

    def measure(self, estimates: Sequence[Estimate]) -> bool:
        """Measure the engines of some estimates, if all are long and not all were measured; whether any was."""
        due = {e.execution for e in estimates} - self.measured.keys()
        if self.is_fixed or not due or min(e.seconds for e in estimates) < WORTH:
            return False
        self.measured |= {execution: self._of(self._backend(execution)) for execution in due}
        return True

    def _of(self, backend: Backend) -> Speeds:
        """The speeds of an engine: by the trial that the catalog has, else by one that is made now."""
        key = f"trial of {backend.name} on {platform.node()} with {os.cpu_count()} cores"
        known = self.storage.journal.note(key)
        trial = tried(backend.fetch) if known is None else Trial(**json.loads(known))
        if known is None and not self.storage.is_reader:
            self.storage.journal.take_note(key, json.dumps(asdict(trial)))
        return backend.usual.here(trial)

    def _backend(self, execution: str) -> Backend:
        if execution == IN_PROCESS and self.engines.in_process is not None:
            return self.engines.in_process.second
        return self.engines.runner.backend
