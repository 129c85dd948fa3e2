"""Scalars of a run, as collected by sweeps: common ones, and those of its case.

Scalars of every result (`common`), as far as it has the groups:

    energy_KIND          each kind of energy at the end, J
    balance              largest relative energy imbalance of the run
    plastic_strain       largest cell mean at the end
    wall_time_per_step   s
    peak_force           largest resultant contact force of a step (norm), N; final_force: of the last step
    peak_pressure        largest pressure at a point, Pa, over the recorded frames (all steps if there is one point)
    least_gap            smallest gap, m; negative: penetration
    impulse              norm of the total contact impulse, N s
    contact_duration     time with contact, s; first_contact: its start, s (nan without contact)
    wear_power           mean of F_n ‖v_t‖ over the run, W; wear_work: its integral, J
    friction_energy      energy dissipated by friction at the interface, J
    worn_volume, worn_mass, worn_depth   at the end, m3, kg and m (the greatest depth)

With several interfaces, scalars of an interface have its name as a prefix: `springs_peak_force`. In statics, time is a
load parameter and forces are those at the ends of steps: impulse, contact_duration, first_contact, wear_power and
friction_energy are omitted. With cycle jumps, works are those of the computed cycles.

The function `scalars(result, parameters)` of a case adds further ones and overrides common ones of the same name (for
example the force of a whole ball of which a quarter is computed). Names with one meaning in all cases:

    rebound_velocity     velocity of the centre of mass at the end, away from the obstacle or the other bar, m/s;
                         nan during contact
    restitution          rebound velocity over approach velocity (rocking block: √(E₂/E₁) of its first impact)
    contact_span         from the start of the first contact to the end of the last, s; nan without contact
    contact_pressure     mean over area and time in contact, Pa
    force_variation      total variation of the contact force over that of one rise and fall: 1 without oscillation
    energy_loss          lost fraction of the initial kinetic, strain and asperity energy
    energy_drift         largest relative change of the kinetic and strain energy
    impacts              number of impacts
    reflected_energy     reflected fraction of the energy of a wave
    final_pressure       mean over the interface at the end, Pa; final_gap, m
    contact_radius       half-width or radius of a contact, m
    tip_displacement     at the end, m; peak_tip_displacement: the largest
    contact_ratio        fraction of the time in contact
    stuck_share          fraction of the time in stick
    friction_power       mean power dissipated by friction, W
    drag_force           driving force, N; force_ratio: horizontal over normal force
    scar_width           width of the worn zone, m

Quantities that a run does not have (no impact, a drop time not reached) are nan. Only `errors` computes a reference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.results.scalar import Scalar

if TYPE_CHECKING:
    import xarray

    from arlequin.cases.case.registry import Case


def of(case: Case, result: xarray.DataTree, parameters: Any) -> dict[str, Scalar]:
    """Scalars of a result: common ones and those of its case."""
    scalars = common(result)
    if not case.has("scalars"):
        return scalars
    case_scalars = case.call("scalars", result, parameters)
    if not isinstance(case_scalars, Mapping):
        raise UserError(
            f"{case.name}: `scalars` returns {type(case_scalars).__name__}, must return a mapping of names to Scalar"
        )
    for name, scalar in case_scalars.items():
        if not (isinstance(name, str) and name.isidentifier()):
            raise UserError(f"{case.name}: `scalars` returns the name {name!r}, must be an identifier")
        if not isinstance(scalar, Scalar):
            raise UserError(
                f"{case.name}: `scalars` returns {type(scalar).__name__} for {name}, must return an aq.Scalar"
            )
    return {**scalars, **case_scalars}


def errors(case: Case, result: xarray.DataTree, parameters: Any) -> dict[str, Scalar]:
    """Error of each check of the case: relative, or in its unit for checks that are not relative.

    Names: those of the checks as identifiers with the ending `_error`; nan if relative to a reference of 0.
    """
    if not case.has("check"):
        return {}
    checks = list(case.function("check")(result, parameters))
    names = distinct(f"{identifier(check.name)}_error" for check in checks)
    return {
        name: Scalar(_finite(c.error), c.unit if c.kind != "relative" and c.unit else "1", f"error of: {c.name}")
        for name, c in zip(names, checks, strict=True)
    }


def common(result: xarray.DataTree) -> dict[str, Scalar]:
    """Scalars of every result (module docstring)."""
    root, out = result.dataset, {}
    if "energy" in root and root.sizes["time"]:
        final_energy = root["energy"].isel(time=-1)
        for kind, value in zip(final_energy["kind"].values, final_energy.values, strict=True):
            out[f"energy_{kind}"] = Scalar(value, "J", f"energy at the end: {str(kind).replace('_', ' ')}")
    if "balance" in root:
        out["balance"] = Scalar(_largest(np.abs(root["balance"].values)), "1", "largest relative energy imbalance")
    if "wall_time_per_step" in root.attrs:
        out["wall_time_per_step"] = Scalar(root.attrs["wall_time_per_step"], "s", "wall time per step")
    strains = [_largest(part["plastic_strain"].values[-1:]) for part in _parts(result) if "plastic_strain" in part]
    if strains:
        out["plastic_strain"] = Scalar(_largest(strains), "1", "largest plastic strain at the end")
    interfaces = dict(result["interface"].children) if "interface" in result.children else {}
    prefixes = ("",) if len(interfaces) == 1 else tuple(distinct(f"{identifier(name)}_" for name in interfaces))
    for prefix, node in zip(prefixes, interfaces.values(), strict=False):
        suffix = f" ({node.name})" if prefix else ""
        for name, scalar in _of_interface(node.dataset, root).items():
            out[prefix + name] = Scalar(scalar.value, scalar.unit, scalar.text + suffix)
    return out


def _parts(result: xarray.DataTree) -> list[xarray.Dataset]:
    return [part.dataset for part in result["part"].children.values()] if "part" in result.children else []


def _of_interface(group: xarray.Dataset, root: xarray.Dataset) -> dict[str, Scalar]:
    """Scalars of one interface; values at t_n are means over (t_{n−1}, t_n], the initial ones have no interval."""
    time = root["time"].values
    # with cycle jumps the recorded times are not consecutive steps
    steps = np.minimum(np.diff(time), float(root.attrs.get("step", np.inf)))
    force = np.linalg.norm(group["force"].values[1:], axis=1)
    out = {
        "peak_force": Scalar(_largest(force), "N", "largest contact force"),
        "final_force": Scalar(force[-1] if force.size else np.nan, "N", "contact force at the end"),
        "peak_pressure": Scalar(_peak_pressure(group, steps), "Pa", "largest contact pressure"),
        "least_gap": Scalar(-_largest(-group["gap_min"].values), "m", "smallest gap"),
    }
    static = str(root.attrs.get("scheme", "")).startswith("Static")
    if not static:
        impulse = float(np.linalg.norm(steps @ group["force"].values[1:]))
        active = group["active"].values[1:] > 0
        first_contact = time[:-1][active][0] if active.any() else np.nan
        out["impulse"] = Scalar(impulse, "N s", "contact impulse")
        out["contact_duration"] = Scalar(steps[active].sum(), "s", "duration of contact")
        out["first_contact"] = Scalar(first_contact, "s", "start of the first contact")
    if "wear_power" in group:
        work, dissipated = (float(steps @ group[name].values[1:]) for name in ("wear_power", "friction_power"))
        if not static:
            out["wear_power"] = Scalar(work / steps.sum() if steps.size else np.nan, "W", "mean wear power")
            out["friction_energy"] = Scalar(dissipated, "J", "energy dissipated by friction")
        out["wear_work"] = Scalar(work, "J", "wear work, ∫ F_n ‖v_t‖ dt")
    for name, unit, text in (("worn_volume", "m^3", "worn volume"), ("worn_mass", "kg", "worn mass")):
        if name in group:
            out[name] = Scalar(_largest(group[name].values[-1:]), unit, text)
    if "worn_depth" in group:
        out["worn_depth"] = Scalar(_largest(group["worn_depth"].values[-1:]), "m", "greatest worn depth")
    return out


def _peak_pressure(group: xarray.Dataset, steps: Array) -> float:
    """Largest pressure, Pa: from the force at every step for one point, else from the recorded frames."""
    area = group["area"].values
    if area.size == 1:
        return _largest(group["impulse"].values[1:] / steps / area[0])
    return _largest(group["pressure"].values)


def _largest(values: ArrayLike) -> float:
    """Largest finite value; nan if there is none."""
    array = np.asarray(values, dtype=float)
    return float(array.max(initial=-np.inf, where=np.isfinite(array))) if np.isfinite(array).any() else np.nan


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else np.nan


def identifier(text: str) -> str:
    """Identifier made from a text, without the parts in parentheses.

    >>> identifier("traction over μp, in μp0 (worst)")
    'traction_over_mup_in_mup0'
    """
    letters = "".join(map(_plain, re.sub(r"\([^)]*\)", "", unicodedata.normalize("NFKD", text))))
    name = re.sub(r"[^a-z0-9]+", "_", letters.lower()).strip("_") or "unnamed"
    return f"_{name}" if name[0].isdigit() else name


def _plain(letter: str) -> str:
    """ASCII transcription of a character: Greek letters by name, signs in words, no accents."""
    if letter.isascii():
        return " plus " if letter == "+" else letter
    name = unicodedata.name(letter, "")
    if "GREEK" in name and "LETTER" in name:
        return name.split("LETTER ")[1].split()[0]
    if unicodedata.combining(letter) or letter == "’":
        return ""
    return " minus " if letter == "−" else " "


def distinct(names: Iterable[str]) -> Iterator[str]:
    """The names, with numbers added to repeated ones.

    >>> list(distinct(["spring_", "spring_", "dimple_"]))
    ['spring_', 'spring_2_', 'dimple_']
    """
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        if counts[name] == 1:
            yield name
        else:
            head, tail = (name[:-1], "_") if name.endswith("_") else (name, "")
            yield f"{head}_{counts[name]}{tail}"
