"""Estimates in seconds what each way to process a batch would take, on the engine that would run it.

The work of a program (:mod:`tidings.delta.cost`) is weighed with the speeds of the engine, and with what earlier waves
of the view took (:mod:`tidings.waves.experience`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.compiled import CompiledPlans, Identity
from tidings.delta.cost import Cost, Shape, Sizes, cost, differential_shape, recompute_shape
from tidings.delta.plan import Program
from tidings.waves.calibration import Calibration
from tidings.waves.engines import Engines
from tidings.waves.experience import Experience, Way
from tidings.waves.strategy import Estimate


@dataclass(slots=True)
class Estimator:
    """Makes the estimates of one database."""

    engines: Engines
    calibration: Calibration
    compiled: CompiledPlans
    experience: Experience = field(init=False, default_factory=Experience)
    _shapes: dict[Identity[Program], Shape] = field(init=False)

    def __post_init__(self) -> None:
        self._shapes = self.compiled.section()

    def keyless(self, program: Program) -> tuple[str, ...]:
        """What a differential reads whole."""
        return self._shape(program).keyless

    def estimates(
        self, differential: Program, recompute: Program | None, sizes: Sizes, *, changes: int, times: int
    ) -> tuple[Estimate, Estimate | None]:
        """What a differential over some changed rows would take, and a recompute, if there is one, done so often."""
        works = [(self._way(differential, changes), cost(self._shape(differential), sizes))]
        if recompute is not None:
            shape = self._shape(recompute, recompute=True)
            works.append((self._way(recompute, changes, recompute=True), cost(shape, sizes).times(times)))
        estimates = [self._estimate(differential.view, way, todo) for way, todo in works]
        if self.calibration.measure(estimates):
            estimates = [self._estimate(differential.view, way, todo) for way, todo in works]
        return estimates[0], estimates[1] if recompute is not None else None

    def _way(self, program: Program, changes: int, *, recompute: bool = False) -> Way:
        return Way(recompute, self.engines.choice(program, changes, recompute=recompute).execution)

    def _shape(self, program: Program, *, recompute: bool = False) -> Shape:
        key = Identity(program)
        if key not in self._shapes:
            fanouts = self.engines.on_engine.storage.fanout_of
            self._shapes[key] = recompute_shape(program) if recompute else differential_shape(program, fanouts)
        return self._shapes[key]

    def _estimate(self, view: str, way: Way, todo: Cost) -> Estimate:
        speeds = self.calibration.speeds(way.execution)
        seconds = speeds.seconds(todo) * self.experience.factor(view, way)
        return Estimate(seconds, way.execution, todo.rows, speeds.of_rows.seconds(todo))
