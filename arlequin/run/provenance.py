"""Attributes of a result: scheme, sizes, conditioning, and versions."""

import subprocess
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from arlequin.junctions.base import JunctionWarning
from arlequin.junctions.conditioning import dual_condition
from arlequin.junctions.weights import Linear
from arlequin.models.errors import warn_user
from arlequin.models.phases import phase
from arlequin.results.conventions import of_run
from arlequin.results.conventions import version as version
from arlequin.schemes import Scheme
from arlequin.system.assembly import Assembly

DUAL_LIMIT = 1e4
_INSTANTS = 33  # at which time-dependent gravity is averaged
_ON_AVERAGE = 0.05  # mean relative to the largest value; smaller means are of oscillating gravity


def run_attributes(assembly: Assembly, scheme: Scheme, step: float, duration: float) -> dict[str, Any]:
    """Attributes of a result known before the run."""
    from arlequin.models.linalg.factor import blas_name

    with phase("condition of the junctions"):
        conditions = _conditions(assembly)
    return {
        "scheme": describe(scheme),
        "step": step,
        "duration": duration,
        "dofs": assembly.dof_count,
        "contact_points": assembly.contact_count,
        "constraints": int(assembly.constraints.shape[0]),
        **conditions,
        **mean_gravity(assembly, None),
        "version": version(),
        "commit": commit(),
        **of_run(),
        "blas": blas_name(),
    }


def mean_gravity(assembly: Assembly, duration: float | None) -> dict[str, str]:
    """The attribute `gravity`, its mean, which defines the vertical of figures; empty if the mean is negligible.

    duration: of the completed steps, s; None before the run, when time-dependent gravity is not evaluated: a user's
    function is called at instants of the run only.
    """
    changes = callable(assembly.system.gravity)
    if changes and duration is None:
        return {}
    instants = np.linspace(0.0, duration or 0.0, _INSTANTS if changes else 1)
    values = np.array([assembly.system.acceleration(float(t)) for t in instants])
    mean, size = values.mean(axis=0), float(np.abs(values).max())
    if not np.abs(mean).max() > _ON_AVERAGE * size:
        return {}
    return {"gravity": f"{', '.join(f'{component:.6g}' for component in mean)} m/s²"}


def _conditions(assembly: Assembly) -> dict[str, float]:
    """Condition number of each junction's dual operator G⁻¹ C M⁻¹ Cᵀ; warns above 1e4, where digits are lost."""
    assembled = dict(zip(assembly.system.names, assembly.parts, strict=True))
    conditions = {}
    for junction, operator in zip(assembly.system.junctions, assembly.operators, strict=True):
        coarse, fine = assembled[junction.coarse.name], assembled[junction.fine.name]
        reduced = replace(
            operator, coarse=csr_array(operator.coarse @ coarse.shapes), fine=csr_array(operator.fine @ fine.shapes)
        )
        value = dual_condition(reduced, coarse.mass, fine.mass)
        conditions[f"dual_condition_{junction.name}"] = value
        if value > DUAL_LIMIT:
            text = f"junction '{junction.name}': its dual operator has the condition number {value:.2g}"
            warn_user(f"{text}: {_better_conditioned(junction)}", JunctionWarning)
    return conditions


def _better_conditioned(junction: Any) -> str:
    """How to reduce the condition number of a junction: other choices or, with the default ones, another zone."""
    chosen = getattr(junction, "mediator", None) == "coarse" and isinstance(getattr(junction, "weights", None), Linear)
    if not chosen:
        return "take the coarse mediator with linear weights, or a narrower zone"
    return "a part has hardly any mass in its zone: let zones end at nodes of the coarse part, and not cross others"


def describe(thing: Any) -> str:
    """A scheme as text: class name and fields."""
    if isinstance(thing, float | int):
        return f"{thing:g}"
    if isinstance(thing, str):
        return thing
    if not is_dataclass(thing):
        return type(thing).__name__
    shown = {item.name: getattr(thing, item.name) for item in fields(thing)}
    usual = {item.name: item.default for item in fields(thing)}
    # defaults of string fields are omitted
    shown = {name: value for name, value in shown.items() if not (isinstance(value, str) and value == usual[name])}
    values = ", ".join(f"{name}={describe(value)}" for name, value in shown.items())
    return f"{type(thing).__name__}({values})"


@lru_cache(maxsize=1)
def commit() -> str:
    """Git commit of a development checkout; empty for an installed package."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return ""
    try:
        completed = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return completed.stdout.strip()
