"""Values of a quantity at samples, computed by the workers of a sweep and saved in a sweep store.

A sample is a point, {name: value}, and the store is that of a sweep over scattered points, which grows with each batch:
`arlequin.open_sweep` and the figures of sweeps read it. Stored samples are never recomputed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.models import checks
from arlequin.models.checks import non_negative_integer
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.types import Array
from arlequin.run.provenance import commit, version
from arlequin.sweeps.plan import Axis, Plan, Point, key, shown, value
from arlequin.sweeps.point import PointOutcome
from arlequin.sweeps.store import SweepStore, is_sweep, read_plan, read_point
from arlequin.sweeps.sweep import check_names, evaluator, function_identity
from arlequin.uncertainty.quantity import RULE, Evaluation

Report = Callable[[int], None]


class Sampler:
    """Values and costs of a quantity at points, in their order; a context manager."""

    def __init__(
        self,
        study: Any,
        quantity: Any,
        first: Point,
        *,
        store: str | Path | None = None,
        workers: int | None = None,
        scheduler: Any = None,
        overwrite: bool = False,
    ) -> None:
        """first: a sample whose input names all others share."""
        if not callable(study) or isinstance(study, type):
            raise UserTypeError.parameter("study", study, "must be a function of the inputs")
        if isinstance(quantity, type) or not (quantity is None or isinstance(quantity, str) or callable(quantity)):
            raise UserTypeError.parameter("quantity", quantity, RULE)
        if store is not None:
            checks.path("store", store)
        if workers is not None:
            non_negative_integer("workers", workers)
            if scheduler is not None:
                raise UserError("workers: give workers or scheduler, not both")
        self.evaluation = Evaluation(study, quantity)
        self.unit, self.text, self.computed = "1", self.evaluation.name, 0
        self._names = list(first)
        self._contexts = contextlib.ExitStack()
        self._how = (workers, scheduler)
        self._store, self._overwrite = store, overwrite
        # of a quantity that is a function, the store holds the values alone, so that its identity belongs to the plan
        reduced = ":".join(map(str, function_identity(quantity)[::2])) if callable(quantity) else ""
        name, fixed, source = function_identity(study)
        check_names(study, first, name, "inputs")
        self._plan = Plan(name, (), True, fixed, {"quantity": reduced} if reduced else {}, source)
        self._known: dict[str, Point] = {}
        self._kept: SweepStore | None = None
        self._compute: Any = None

    def __enter__(self) -> Sampler:
        with contextlib.ExitStack() as stack:
            # before the folder is made: a function that cannot be sent leaves nothing
            self._compute = evaluator(self.evaluation, *self._how, stack)
            self._contexts = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._contexts.close()

    def __call__(self, points: Sequence[Point], tell: Report | None = None) -> tuple[Array, Array]:
        """Values (n,) and wall times (n,), s; UserError where a sample fails. tell(k): called as k are finished."""
        values, seconds = np.full(len(points), np.nan), np.full(len(points), np.nan)
        done = 0
        for n, outcome in self._outcomes(points):
            for place in n:
                values[place], seconds[place] = self._value(points[place], outcome), outcome.seconds
            done += len(n)
            if tell is not None:
                tell(done)
        return values, seconds

    def _outcomes(self, points: Sequence[Point]) -> Iterator[tuple[list[int], PointOutcome]]:
        """The outcome of each distinct point, with its places."""
        if self._store is None:
            with contextlib.closing(self._compute(points)) as outcomes:
                for n, outcome in outcomes:
                    self.computed += 1
                    yield [n], outcome
            return
        places: dict[str, list[int]] = {}
        for n, point in enumerate(points):
            places.setdefault(key(point), []).append(n)
        store = self._opened({name: points[rows_of_point[0]] for name, rows_of_point in places.items()})
        missing, earlier = [], []
        for rows in places.values():
            outcome = read_point(self._store, points[rows[0]])
            if outcome is None or outcome.message or self.evaluation.name not in outcome.scalars:
                missing.append(rows)
                earlier.append({} if outcome is None else outcome.scalars)
            else:
                yield rows, outcome
        with contextlib.closing(self._compute([points[rows_of_point[0]] for rows_of_point in missing])) as outcomes:
            for n, outcome in outcomes:
                outcome = replace(outcome, scalars={**earlier[n], **outcome.scalars})
                store.write(points[missing[n][0]], outcome)
                self.computed += 1
                yield missing[n], outcome

    def _opened(self, points: Mapping[str, Point]) -> SweepStore:
        """The store, its plan with these points too, given by their keys."""
        assert self._store is not None
        fresh = self._kept is None
        if fresh and is_sweep(self._store) and not self._overwrite:
            self._known = {key(point): point for point in read_plan(self._store)[0].points()}
        before = len(self._known)
        if fresh and before and set(next(iter(self._known.values()))) != set(self._names):
            plan = self._plan_of(list(points.values()))  # which is refused
        else:
            self._known.update({name: point for name, point in points.items() if name not in self._known})
            plan = self._plan_of(list(self._known.values()))
        if self._kept is None:
            opened = SweepStore(self._store, plan, (version(), commit()), self._overwrite)
            self._kept = self._contexts.enter_context(contextlib.closing(opened))
        elif len(self._known) > before:
            self._kept.extend(plan)
        return self._kept

    def _plan_of(self, points: Sequence[Point]) -> Plan:
        axes = tuple(Axis(name, tuple(value(name, point[name]) for point in points)) for name in self._names)
        plan = self._plan
        return Plan(plan.name, axes, True, plan.fixed, plan.options, plan.source)

    def _value(self, point: Point, outcome: PointOutcome) -> float:
        if outcome.message:
            raise UserError(f"{outcome.message} (at {shown(point)})")
        scalar = outcome.scalars[self.evaluation.name]
        if not np.isfinite(scalar.value):
            raise UserError(f"{self.evaluation.name} = {scalar.value} (at {shown(point)}): must be a finite number")
        self.unit, self.text = scalar.unit, scalar.text or self.evaluation.name
        return scalar.value
