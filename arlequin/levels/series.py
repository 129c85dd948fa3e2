"""Time series of a run with levels: the parts of all levels, NaN while inactive."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from arlequin.energy import KINDS, applicable
from arlequin.levels.stepper import Configurations, LevelChoice
from arlequin.models.part import Part
from arlequin.models.types import Array
from arlequin.results.history import AXES, PER_METRE, TimeSeries, per_metre
from arlequin.results.recorder import Record
from arlequin.results.variables import Key, Variable, VariableGroup
from arlequin.step.batch import StepBatch
from arlequin.system.levels import MovingPatch

Values = dict[Key, Array]


class LevelSeries:
    """Time series made of one `TimeSeries` for each choice of levels; `levels/<name>` has levels and indicators.

    Sums over the run (slip, wear work) of an interface are constant while it is inactive.
    """

    def __init__(self, configurations: Configurations, steps: int, record: Record) -> None:
        self._configurations = configurations
        self._steps, self._record = steps, record
        kinds_by_choice = [applicable(configurations.assembly(choice)) for choice in configurations.singles]
        self.kinds = tuple(
            kind for kind in KINDS if kind == "switch" or any(kind in kinds for kinds in kinds_by_choice)
        )
        self._series: dict[LevelChoice, TimeSeries] = {}
        self._active = configurations.first
        self._sums: dict[str, Any] = {}
        self.count, self.frames = 0, 0
        self._times: list[tuple[Array, Values]] = []
        self._frames: list[tuple[Array, Values]] = []
        self._variables = {(v.group, v.name): v for v in self.variables()}

    def _series_of(self, active: LevelChoice) -> TimeSeries:
        if active not in self._series:
            retained = {self._active, *self._configurations.singles}
            self._series = {choice: series for choice, series in self._series.items() if choice in retained}
            assembly = self._configurations.assembly(active)
            self._series[active] = TimeSeries(
                assembly, self._configurations.step, self._steps, self._record, False, False, kinds=self.kinds
            )
        return self._series[active]

    @cached_property
    def _moving(self) -> list[Part]:
        """Parts of moving patches, at their initial positions."""
        first = self._configurations.assembly(self._configurations.first).system
        patches = [levels for levels in self._configurations.system.levels if isinstance(levels, MovingPatch)]
        names = {part.name for patch in patches for part in patch.samples[0].parts}
        return [part for part in first.parts if part.name in names]

    @property
    def frame_count(self) -> int:
        """Number of frames of the run."""
        return self._series_of(self._active).frame_count

    def variables(self) -> list[Variable]:
        """All variables of the result, with units and names."""
        variables: dict[Key, Variable] = {}
        per = all(
            per_metre(self._configurations.assembly(choice).system.parts) for choice in self._configurations.singles
        )
        for choice in self._configurations.singles:
            for variable in self._series_of(choice).plain_variables():
                units = PER_METRE.get(variable.units, variable.units) if per else variable.units
                variables.setdefault((variable.group, variable.name), replace(variable, units=units))
        self._count_in_any(variables)
        for part in self._moving:
            axes = AXES[: part.positions.shape[1]]
            for variable in VariableGroup(f"part/{part.name}", {"axis": axes}).variables(
                ("shift", "frame axis", "m", "way of the mesh of the patch since the start: add it to `position`"),
            ):
                variables[variable.group, variable.name] = variable
        for levels in self._configurations.system.levels:
            for variable in VariableGroup(f"levels/{levels.name}", {}).variables(
                ("level", "time", "1", "active level in the step that ends, 0: the coarsest"),
                ("indicator", "time", levels.choose.units, "value by which the level was chosen, see the indicator"),
            ):
                variables[variable.group, variable.name] = variable
        return list(variables.values())

    def _count_in_any(self, variables: dict[Key, Variable]) -> None:
        """Take the largest cell weights, and the nodes that are active, over all configurations that have the part."""
        for name, union in (("weight", np.maximum), ("left_out", np.minimum)):
            for key in [key for key in variables if key[1] == name]:
                by_choice = [
                    {
                        (variable.group, variable.name): variable
                        for variable in self._series_of(choice).plain_variables()
                    }
                    for choice in self._configurations.singles
                ]
                having = [each for each in by_choice if (key[0], "position") in each]
                if all(key in each for each in having):
                    variables[key] = replace(variables[key], data=union.reduce([each[key].data for each in having]))
                else:
                    del variables[key]

    def add(self, block: StepBatch, table: Array, balance: Array) -> None:
        """Add the states of a batch of steps, their energies (b, …, kind) and balance (b, …)."""
        levels = self._configurations.system.levels
        choice = self._configurations.first if block.levels is None else tuple(block.levels[0].tolist())
        series = self._series_of(choice)
        series.load_sums(self._sums)
        series.add(block, table, balance)
        self._active, self._sums = choice, {**self._sums, **series.sums()}
        (time, rows), (frame_time, frames) = series.take()
        for i, group in enumerate(levels):
            rows[f"levels/{group.name}", "level"] = np.full(time.size, float(choice[i]))
            values = np.full(time.size, np.nan) if block.indicators is None else block.indicators[:, i]
            rows[f"levels/{group.name}", "indicator"] = np.where(np.isinf(values), np.nan, values)
        if frame_time.size:
            active_parts = {part.name: part for part in self._configurations.assembly(choice).system.parts}
            for part in self._moving:
                shift = active_parts[part.name].positions[0] - part.positions[0]
                frames[f"part/{part.name}", "shift"] = np.tile(shift, (frame_time.size, 1))
        self.count += time.size
        self.frames += frame_time.size
        self._times.append((time, rows))
        if frame_time.size:
            self._frames.append((frame_time, frames))

    def take(self) -> tuple[tuple[Array, Values], tuple[Array, Values]]:
        """Return and clear the collected blocks on `time` and on `frame`, each (instants, values)."""
        blocks = self._joined(self._times), self._joined(self._frames)
        self._times, self._frames = [], []
        return blocks

    def _joined(self, pieces: list[tuple[Array, Values]]) -> tuple[Array, Values]:
        if not pieces:
            return np.zeros(0), {}
        keys = {key for _, values in pieces for key in values}
        out = {}
        for key in keys:
            shape = self._variables[key].shape
            out[key] = np.concatenate(
                [values[key] if key in values else np.full((time.size, *shape), np.nan) for time, values in pieces]
            )
        return np.concatenate([time for time, _ in pieces]), out

    def __len__(self) -> int:
        return sum(time.size for time, _ in self._times)

    def tables(self, energies: Array) -> Array:
        """Energies (t, kind) of all kinds from those recorded; the others are 0."""
        return self._series_of(self._active).tables(energies)

    def state_dict(self) -> Any:
        """Numbers of states and frames, the active levels, and sums over the run by interface."""
        return self.count, self.frames, self._active, self._sums

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self.count, self.frames, self._active, self._sums = state
