"""Ensembles: many starts, loads or seeds of one system stepped together."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray

from arlequin.record import Record, as_record
from arlequin.run import Progress
from arlequin.schemes import Scheme
from arlequin.simulation import run_study
from arlequin.subject import Ensemble
from arlequin.system import System
from models.errors import UserError


def simulate_ensemble(
    systems: Sequence[System],
    scheme: Scheme,
    *,
    duration: float,
    step: float,
    record: Record | str | Path | None = None,
    fields_every: int = 1,
    attributes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> xarray.DataTree:
    """Steps many systems of the same matrices from 0 to `duration` (s); the result has the dimension `member`.

    The members i share M, D, K, C and the kinematics and laws of contact, H; their starts, loads, gravity and the
    values of imposed motions are their own (`dataclasses.replace(system, velocity=…)` makes one). Each obeys

        M v̇ᵢ + K uᵢ + D vᵢ = fᵢ(t) + Cᵀφᵢ + Hᵀrᵢ,   C vᵢ = 0,   rᵢ ∈ laws(H uᵢ, H vᵢ)

    and gets what `simulate` gives it alone, but for round-off: with Y = (y₁ … y_n) a step of the θ-scheme (`Theta`) is

        A Y = B + θ (CᵀΦ + HᵀP),   A = M + θΔt D + θ²Δt² K factored once,

    each pass over the factor serving some tens of columns; contact is solved and energy audited member by member. Small
    systems of bars, beams, masses and modes go each through the compiled loop of a run alone, to the bit. The other
    parameters are those of `simulate`. Linear parts, junctions, springs, relations and contact of fixed pairings
    without wear are stepped so; all else is refused. A member that does not converge ends the run and is named.
    """
    iterable = isinstance(systems, Iterable) and not isinstance(systems, System)
    members = tuple(systems) if iterable else ()
    if not members or not all(isinstance(system, System) for system in members):
        raise UserError.parameter("systems", systems, "simulate_ensemble takes a list of at least one System")
    own = as_record(record, fields_every)
    result = run_study(Ensemble(members), scheme, duration, step, own, attributes, progress)
    return result.map_over_datasets(_members_first)


def _members_first(dataset: xarray.Dataset) -> xarray.Dataset:
    return dataset.transpose("member", ..., missing_dims="ignore")
