"""A branch of periodic motions as an xarray.Dataset."""

from typing import Any

import numpy as np
import xarray

from arlequin.models.types import Array
from arlequin.orbits.continuation import Branch, BranchPoint
from arlequin.orbits.family import Family
from arlequin.orbits.floquet import is_stable, multipliers
from arlequin.orbits.period_map import PeriodMap
from arlequin.results.conventions import described

_PHASES = 200  # approximate number of instants of an orbit in the Dataset


def branch_dataset(family: Family, branch: Branch, attributes: dict[str, Any]) -> xarray.Dataset:
    """The motions of a branch over `point`, see `arlequin.orbits.periodic.periodic`."""
    motions = branch.motions
    first = family.setting(motions[0].point.parameter).map
    stride = max(1, first.steps // _PHASES)
    numbers = np.unique(np.append(np.arange(0, first.steps, stride), first.steps))
    points = [motion.point for motion in motions]
    parameter = np.array([point.parameter for point in points])
    period = np.array([point.orbit.period for point in points])
    values = np.array([multipliers(point.monodromy) for point in points])
    maps = [family.setting(value).map for value in parameter]
    fields: dict[str, tuple[tuple[str, ...], Any, str, str]] = {
        "period": (("point",), period, "s", "period of the motion"),
        "frequency": (("point",), first.periods / period, "Hz", "frequency"),
        "energy": (
            ("point",),
            np.array([family.energy(point.z, point.orbit) for point in points]),
            "J",
            "energy at the start of the period",
        ),
        "multiplier_real": (("point", "multiplier"), values.real, "1", "real part of the Floquet multipliers"),
        "multiplier_imag": (("point", "multiplier"), values.imag, "1", "imaginary part of the Floquet multipliers"),
        "stable": (
            ("point",),
            np.array([is_stable(spectrum, family.autonomous) for spectrum in values]),
            "1",
            "stability",
        ),
        "bifurcation": (("point",), np.array([_kind(motion) for motion in motions]), "1", "bifurcation"),
        "residual": (("point",), np.array([point.residual for point in points]), "1", "Φ(x) − x over the size of x"),
    }
    if not family.autonomous and family.name != "frequency":
        fields[family.name] = (("point",), parameter, family.unit, family.long_name)
    start = {name: np.array([point.z[at] for point in points]) for name, at in first.at.items()}
    for name, unit in (("displacement", "m"), ("velocity", "m/s")):
        orbit = np.array([getattr(point.orbit, name[0] if name == "velocity" else "u")[numbers] for point in points])
        fields[name] = (("point", "phase", "dof"), orbit, unit, f"{name} of the coordinates over the period")
        fields[f"initial_{name}"] = (
            ("point", "coordinate"),
            start[name],
            unit,
            f"{name} of the free coordinates at phase 0",
        )
    for name, dim, unit, label in (
        ("traction", "spring", "Pa", "tractions of friction's springs at phase 0"),
        ("memory", "branch", "1", "internal variables of springs at phase 0: force of sliders, N, z of Bouc-Wen, m"),
        ("lead", "coordinate", "m/s^2", "accelerations at phase 0, (1/2 − β/γ) times"),
        ("force", "coordinate", "N", "averaged forces at phase 0"),
    ):
        if start[name].shape[1]:
            fields[f"initial_{name}"] = (("point", dim), start[name], unit, label)
    if first.assembly.contact_count:
        gaps = np.array([point.orbit.gaps[numbers] for point in points])
        fields["gap"] = (("point", "phase", "contact"), gaps, "m", "gap over the period")
        least = np.array(
            [period_map.smallest_gaps(point.orbit) for period_map, point in zip(maps, points, strict=True)]
        )
        fields["smallest_gap"] = (("point", "contact"), least, "m", "smallest gap of the period")
    fields |= _amplitudes(first, [point.orbit.u for point in points])
    data = {
        name: xarray.Variable(dims, value, described(unit, label, value.dtype.kind))
        for name, (dims, value, unit, label) in fields.items()
    }
    named = {"phase": numbers / first.steps, "dof": _names(first)}
    if first.assembly.contact_count:
        named["contact"] = _contacts(first)
    dataset = xarray.Dataset(data, {name: (name, value) for name, value in named.items()}, attributes)
    dataset["phase"].attrs = {"units": "1", "long_name": "share of the period"}
    return dataset.set_coords(["frequency"] if family.name in ("frequency", "mode") else [family.name])


def _kind(motion: BranchPoint) -> str:
    kind, _, number = motion.mark.partition(" ")
    return {"torus": "Neimark-Sacker"}.get(kind, kind) if not number else kind


def _names(period_map: PeriodMap) -> list[str]:
    """Names of the coordinates (d,): part and number in it."""
    return [
        f"{name}:{i}"
        for name, at in zip(period_map.assembly.system.names, period_map.assembly.places, strict=True)
        for i in range(at.stop - at.start)
    ]


def _contacts(period_map: PeriodMap) -> list[str]:
    """Names of the contact points (k,): interface and number in it."""
    contact = period_map.assembly.contact
    return [
        f"{item.name}:{i}"
        for item, count in zip(contact.items, np.diff(contact.start), strict=True)
        for i in range(count)
    ]


def _amplitudes(period_map: PeriodMap, orbits: list[Array]) -> dict[str, tuple[tuple[str, ...], Any, str, str]]:
    """Half the range of each nodal displacement of the parts over the period (point, node, component), m."""
    amplitudes: dict[str, tuple[tuple[str, ...], Any, str, str]] = {}
    assembly = period_map.assembly
    for part, model, at in zip(assembly.system.parts, assembly.parts, assembly.places, strict=True):
        displacements = [model.nodal_motion(u[:, at], u[:, at])[0] for u in orbits]
        half = np.array([0.5 * np.ptp(field.reshape(len(field), -1), axis=0) for field in displacements])
        values = half.reshape(len(orbits), part.node_count, -1)
        dims = "point", f"node_{part.name}", f"component_{part.name}"
        amplitudes[f"amplitude_{part.name}"] = (dims, values, "m", f"amplitude of the displacements of {part.name}")
    return amplitudes
