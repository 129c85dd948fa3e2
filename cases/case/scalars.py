"""The numbers that a run is boiled down to, as a sweep collects them: what any result has, and what its case adds.

Of any result (`common`), as far as it has the groups:

    energy_KIND          last value of each kind of energy, J
    balance              largest energy balance of the run, relative
    plastic_strain       the largest at the end, mean over a cell
    wall_time_per_step   s
    peak_force           largest contact force of a step (norm of the resultant), N; final_force: of the last step
    peak_pressure        largest pressure at a point, Pa; of the frames kept, but of all steps where there is one point
    least_gap            m, negative where surfaces penetrate
    impulse              norm of the total, N s
    contact_duration     time with a point under pressure, s; first_contact: when it begins, s, nan where it never does
    wear_power           mean of F_n ‖v_t‖ over the run, W; wear_work: its integral, J
    friction_energy      what friction takes at the interface, J
    worn_volume, worn_mass, worn_depth   at the end, m3, kg and m (the greatest depth)

Those of an interface stand alone where the result has one interface; where it has several, each carries its interface's
name in front: `springs_peak_force`. In statics time is the parameter of a load and forces are those at the ends of
steps: impulse, contact_duration, first_contact, wear_power and friction_energy are left out. Where cycles are skipped,
works are those of the cycles that are stepped.

A case adds its own by a function `scalars(result, parameters)`, which wins where names are the same (the force of a
whole ball, of which a quarter is computed). Names that mean the same in every case that has them:

    rebound_velocity     of the centre of mass, away from what was hit (of a bar, from the other bar), at the end, m/s;
                         nan before the contact is over
    restitution          the same over the velocity of the approach (of a rocking block: √(E₂/E₁) of its first impact)
    contact_span         from the start of the first contact to the end of the last, s; nan without contact
    contact_pressure     mean over area and time in contact, Pa
    force_variation      total variation of the contact force over that of one rise and fall: 1 without oscillation
    energy_loss          share of the kinetic, strain and asperity energy of the start that is gone at the end
    energy_drift         largest relative change of the kinetic and strain energy
    impacts              how many
    reflected_energy     share of a wave's energy that comes back
    final_pressure       mean over the interface at the end, Pa; final_gap, m
    contact_radius       half-width or radius of a contact, m
    tip_displacement     at the end, m; peak_tip_displacement: the largest
    contact_ratio        share of the time under contact
    stuck_share          share of the time that is spent sticking
    friction_power       what friction takes, mean, W
    drag_force           that pushes or drags through, N; force_ratio: horizontal over normal force
    scar_width           width of what is worn, m

What a run has not (no impact, a drop time that is not reached) is nan. Nothing here computes a reference, but `errors`.
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
    """The scalars of a case's result: common ones and its own."""
    found = common(result)
    if not case.has("scalars"):
        return found
    own = case.call("scalars", result, parameters)
    if not isinstance(own, Mapping):
        raise UserError(f"{case.name}: `scalars` gives {type(own).__name__}, must give a mapping of names to Scalar")
    for name, scalar in own.items():
        if not (isinstance(name, str) and name.isidentifier()):
            raise UserError(f"{case.name}: `scalars` gives the name {name!r}, must be an identifier")
        if not isinstance(scalar, Scalar):
            raise UserError(f"{case.name}: `scalars` gives {type(scalar).__name__} for {name}, must give an aq.Scalar")
    return {**found, **own}


def errors(case: Case, result: xarray.DataTree, parameters: Any) -> dict[str, Scalar]:
    """How far each number of the case's `check` is from its reference: relative, or in its unit where the check is so.

    Names are those of the checks, as identifiers, and `_error`; nan where it is relative to a reference of 0.
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
    """What any result has (module docstring)."""
    root, out = result.dataset, {}
    if "energy" in root and root.sizes["time"]:
        last = root["energy"].isel(time=-1)
        for kind, value in zip(last["kind"].values, last.values, strict=True):
            out[f"energy_{kind}"] = Scalar(value, "J", f"energy at the end: {str(kind).replace('_', ' ')}")
    if "balance" in root:
        out["balance"] = Scalar(_largest(np.abs(root["balance"].values)), "1", "largest energy balance")
    if "wall_time_per_step" in root.attrs:
        out["wall_time_per_step"] = Scalar(root.attrs["wall_time_per_step"], "s", "wall time of a step")
    strains = [_largest(own["plastic_strain"].values[-1:]) for own in _parts(result) if "plastic_strain" in own]
    if strains:
        out["plastic_strain"] = Scalar(_largest(strains), "1", "largest plastic strain at the end")
    interfaces = dict(result["interface"].children) if "interface" in result.children else {}
    prefixes = ("",) if len(interfaces) == 1 else tuple(distinct(f"{identifier(name)}_" for name in interfaces))
    for prefix, node in zip(prefixes, interfaces.values(), strict=False):
        about = f" ({node.name})" if prefix else ""
        for name, scalar in _of_interface(node.dataset, root).items():
            out[prefix + name] = Scalar(scalar.value, scalar.unit, scalar.text + about)
    return out


def _parts(result: xarray.DataTree) -> list[xarray.Dataset]:
    return [part.dataset for part in result["part"].children.values()] if "part" in result.children else []


def _of_interface(group: xarray.Dataset, root: xarray.Dataset) -> dict[str, Scalar]:
    """Of one interface; values at t_n are means over (t_{n−1}, t_n], those at the start stand for no time."""
    time = root["time"].values
    # where cycles are skipped the record goes from one step to another that is far
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
        first = time[:-1][active][0] if active.any() else np.nan
        out["impulse"] = Scalar(impulse, "N s", "contact impulse")
        out["contact_duration"] = Scalar(steps[active].sum(), "s", "time in contact")
        out["first_contact"] = Scalar(first, "s", "start of the first contact")
    if "wear_power" in group:
        work, taken = (float(steps @ group[name].values[1:]) for name in ("wear_power", "friction_power"))
        if not static:
            out["wear_power"] = Scalar(work / steps.sum() if steps.size else np.nan, "W", "mean wear power")
            out["friction_energy"] = Scalar(taken, "J", "energy taken by friction")
        out["wear_work"] = Scalar(work, "J", "wear work: normal force times slip")
    for name, unit, text in (("worn_volume", "m3", "worn volume"), ("worn_mass", "kg", "worn mass")):
        if name in group:
            out[name] = Scalar(_largest(group[name].values[-1:]), unit, text)
    if "worn_depth" in group:
        out["worn_depth"] = Scalar(_largest(group["worn_depth"].values[-1:]), "m", "greatest worn depth")
    return out


def _peak_pressure(group: xarray.Dataset, steps: Array) -> float:
    """Of one point from its force at every step, of several from the frames, Pa."""
    area = group["area"].values
    if area.size == 1:
        return _largest(group["impulse"].values[1:] / steps / area[0])
    return _largest(group["pressure"].values)


def _largest(values: ArrayLike) -> float:
    """The largest finite value; nan where there is none."""
    found = np.asarray(values, dtype=float)
    return float(found.max(initial=-np.inf, where=np.isfinite(found))) if np.isfinite(found).any() else np.nan


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else np.nan


def identifier(text: str) -> str:
    """A name of letters, digits and underscores for a text; what stands in parentheses is left out.

    >>> identifier("traction over μp, in μp0 (worst)")
    'traction_over_mup_in_mup0'
    """
    letters = "".join(map(_plain, re.sub(r"\([^)]*\)", "", unicodedata.normalize("NFKD", text))))
    name = re.sub(r"[^a-z0-9]+", "_", letters.lower()).strip("_") or "unnamed"
    return f"_{name}" if name[0].isdigit() else name


def _plain(letter: str) -> str:
    """A character in plain letters: Greek by its name, signs in words, accents gone."""
    if letter.isascii():
        return " plus " if letter == "+" else letter
    name = unicodedata.name(letter, "")
    if "GREEK" in name and "LETTER" in name:
        return name.split("LETTER ")[1].split()[0]
    if unicodedata.combining(letter) or letter == "’":
        return ""
    return " minus " if letter == "−" else " "


def distinct(names: Iterable[str]) -> Iterator[str]:
    """The names, those that come again with a number.

    >>> list(distinct(["spring_", "spring_", "dimple_"]))
    ['spring_', 'spring_2_', 'dimple_']
    """
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        if seen[name] == 1:
            yield name
        else:
            head, tail = (name[:-1], "_") if name.endswith("_") else (name, "")
            yield f"{head}_{seen[name]}{tail}"
