"""Units: a change of them may not cost a result a bit.

It multiplies lengths, masses and times by powers of two. Every number of a run is then multiplied by a power of two,
which floating-point arithmetic does exactly, and so are all decisions that compare quantities of one unit: results
scale to the last bit. A tolerance without the unit of what it is compared with shows up here.

Where square roots of masses and stiffnesses are taken (Cholesky's factors, modes of mass 1), odd powers of two change
the last digits, as √2 is rounded: `test_odd_powers`.

    python tests/test_invariance.py [case …]     prints the table: case, change of units, largest relative difference
"""

import dataclasses
import re
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from arlequin.cases.case.execution import execute, prepare
from arlequin.cases.case.parameters import by_name
from arlequin.cases.case.registry import names

TIMINGS = ("wall_time",)  # what a clock says

UNITS = {  # exponents of length, mass and time
    "m": (1, 0, 0),
    "kg": (0, 1, 0),
    "s": (0, 0, 1),
    "N": (1, 1, -2),
    "Pa": (-1, 1, -2),
    "J": (2, 1, -2),
    "W": (2, 1, -3),
    "Hz": (0, 0, -1),
    "rad": (0, 0, 0),
    "deg": (0, 0, 0),
    "°": (0, 0, 0),
    "H": (0, 0, 0),
    "1": (0, 0, 0),
}
FACTOR = re.compile(r"([a-zA-Z°]+|1)(?:\^?\(([^)]*)\)|\^?(-?[\w.]+))?")


def exponents(unit, **powers):
    """Exponents of length, mass and time of a unit as "N s/m^2"; powers: what letters in exponents stand for."""
    total, sign = [Fraction(0)] * 3, 1
    for place, part in enumerate(unit.split("/")):
        sign = 1 if place == 0 else -1
        for factor in part.split():
            name, braces, power = FACTOR.fullmatch(factor).groups()
            power = braces or power or "1"
            value = sum((Fraction(powers[t.strip()]) if t.strip() in powers else Fraction(t)) for t in power.split("+"))
            for i, base in enumerate(UNITS[name]):
                total[i] += sign * value * base
    return tuple(total)


EXTENSIVE = ("kg", "N", "J", "W", "m^2", "m^3", "kg m/s", "N s")  # of which a plane or a bar may have those of a depth


def scaled_parameters(parameters, scale, units):
    """The parameters of a case in other units; scale: what lengths, masses and times are multiplied by; units: those
    of parameters that have one by others."""
    values = dataclasses.asdict(parameters)
    powers = {"m": values.get("asperity_exponent", 1.0), "m'": values.get("asperity_damping_exponent", 0.0)}
    for field in by_name(type(parameters)).values():
        unit = units.get(field.name, field.quantity.unit)
        if unit and field.kind is float and values[field.name] is not None:
            values[field.name] *= factor(exponents(unit, **powers), scale)
    return type(parameters)(**values)


def factor(powers, scale):
    """What a number of these exponents is multiplied by."""
    return float(np.prod([float(s) ** float(p) for s, p in zip(scale, powers, strict=True)]))


@dataclass(frozen=True)
class Small:
    """A case of small size. depth: lengths that its extensive numbers lack (1: per metre of depth, 2: per m² of
    section); constants: dimensional constants of modules, {"module.NAME": unit}; units: of parameters whose unit
    depends on others; fixed: of "LMT", what a case has in it as a number."""

    name: str
    values: dict = dataclasses.field(default_factory=dict)
    depth: int = 0
    constants: dict = dataclasses.field(default_factory=dict)
    units: dict = dataclasses.field(default_factory=dict)
    fixed: str = ""

    @property
    def label(self):
        return " ".join([self.name, *(f"{k}={v}" for k, v in self.values.items())])

    def run(self, scale=(1.0, 1.0, 1.0)):
        """Result and scalars in other units."""
        case, parameters = prepare(self.name, self.values)
        with pytest.MonkeyPatch.context() as patch:
            for name, unit in self.constants.items():
                module, _, constant = name.rpartition(".")
                value = getattr(sys.modules[f"arlequin.cases.{module}"], constant)
                many = tuple(v * factor(exponents(unit), scale) for v in np.atleast_1d(value).tolist())
                patch.setattr(f"arlequin.cases.{name}", many if isinstance(value, tuple) else many[0])
            changed = scaled_parameters(parameters, scale, self.units)
            result = execute(case, changed)
            own = case.function("scalars")(result, changed) if case.has("scalars") else {}
        return result, own

    def unit_factor(self, unit, scale, static):
        """What a recorded number of this unit is multiplied by."""
        powers = list(exponents(unit))
        if static:  # time is the parameter of the load
            by = {"s": -1, "m/s": 1, "kg m/s": 1, "rad/s": 1, "N s": -1, "W": 1, "N s/m": -1, "W/m": 1, "kg/s": 1}
            powers[2] += by.get(unit, 0)
        if unit in EXTENSIVE:
            powers[0] -= self.depth
        return factor(powers, scale)


def differences(small, scale, first=None):
    """{variable: largest difference over the largest value} of a run in other units."""
    result, own = first or small.run()
    other, others = small.run(scale)
    static = "Static" in str(result.attrs.get("scheme", ""))
    found = {}
    for path, node in result.subtree_with_keys:
        points = "area" in node.dataset and np.array_equal(node.dataset["area"], other[path]["area"])  # 1, of points
        points = points and small.unit_factor("m^2", scale, static) != 1.0
        for name, array in node.dataset.data_vars.items():
            if array.dtype.kind != "f" or name in TIMINGS or (static and name == "mass"):
                continue  # statics know no density
            unit = array.attrs.get("units") or "1"
            if points:  # forces per 1 m²
                unit = {"m^2": "1", "Pa": "N", "J/m^2": "J"}.get(unit, unit)
            by = small.unit_factor(unit, scale, static)
            found[f"{path}/{name}"] = difference(array.values, other[path][name].values / by)
    for name, scalar in own.items():
        by = small.unit_factor(scalar.unit or "1", scale, False)
        found[f"scalar {name}"] = difference(scalar.value, others[name].value / by)
    return found


def difference(a, b):
    """Largest difference over the largest value, 0 where all bits are the same."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return np.inf
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    with np.errstate(all="ignore"):
        off, size = np.abs(a - b)[~same], np.abs(a[np.isfinite(a)]).max(initial=0.0)
        return float(off.max() / size) if np.isfinite(off).all() and size else np.inf


CHANGES = {
    "L+": (2.0**10, 1.0, 1.0),
    "L-": (2.0**-10, 1.0, 1.0),
    "M+": (1.0, 2.0**30, 1.0),
    "M-": (1.0, 2.0**-30, 1.0),
    "T+": (1.0, 1.0, 2.0**10),
    "T-": (1.0, 1.0, 2.0**-10),
    "all": (2.0**6, 2.0**-20, 2.0**8),
}
ODD = (2.0, 8.0, 32.0)
WAVE = {"wave_junction.YOUNG": "Pa", "wave_junction.DENSITY": "kg/m^3", "shared.waves.AMPLITUDE": "m"}
SPECTRUM = {"reflection_spectrum.YOUNG": "Pa", "reflection_spectrum.DENSITY": "kg/m^3"}
WAVES = WAVE | {"high_frequency.YOUNG": "Pa", "high_frequency.DENSITY": "kg/m^3"}
STEEL = {"shared.vocabulary.STEEL": "kg/m^3"}
COOK = {f"cook_plastic.{name}": "m" for name in ("WIDTH", "HEIGHT", "TIP", "THICKNESS")}
GRID = {"shared.spacer_cell._SIZE": "m", "shared.spacer_cell._OFFSET": "m", "shared.spacer_cell._COARSE": "m"}
DISC = {"size": 1e-3, "ratio": 3, "free": 4e-3, "overlap": 4e-3, "duration": 1e-5}
ROD = {"length": 1.0, "grids": 2, "duration": 0.005, "modes": 10, "cells": 8}
# in a plane a spring on all of a depth has its stiffness per metre
SPRINGS = {"spring_stiffness": "Pa", "spring_tangential": "Pa", "spring_damping": "Pa s"}
SLIDER = {"step": 1e-3, "duration": 0.2}
QUICK = (
    Small("two_bars", {"elements": 8, "dimension": 2, "gap": 1e-4, "law": "unilateral"}, 1),
    Small("bar_wall", {"elements": 12, "law": "multilevel", "asperity_exponent": 1.5, "asperity_damping": 1e6}, 2),
    Small("wave_junction", {"ratio": 3, "duration": 0.2}, 2, WAVE),
    Small("beam_solid", {"length": 1.0, "beam_length": 0.6}),
    Small("hertz_sphere", {"cells": 6, "steps": 2}),
    Small("wear_pin", {"cells": 8, "steps": 20}, 1),
    Small("friction_pad", {"cells": 6, "transits": 1.0}, 1, units={"stiffness": "Pa"}),
    Small("sdnd100", {"scheme": "theta", "events": "locate", **SLIDER}),
    Small("sdnd106", {"steps": 100}),
    Small("sphere_impact", {"cells": 4, "steps": 20}),
    Small("sdnv105", {"impacts": 2}, 1),
    Small(
        "rough_impact",
        {"elements": 20, "seeds": 1, "octaves": 2, "flat": 1, "steps": 20, "law": "greenwood-williamson"},
        2,
    ),
    Small("fuel_rod", ROD, 0, {"fuel_rod.parameters.MARGIN": "m"}, {"amplitude": "N/m"}),
    Small("beam_to_solid", {"switch": 0.1, "duration": 0.2, "step": 5e-3, "solid_size": 0.01, "beam_size": 0.02}),
)
SLOW = (
    Small("two_bars", {"elements": 12}, 2),
    *(
        Small("two_bars", {"elements": 8, "scheme": scheme, "law": "penalty", "gap": 1e-4}, 2)
        for scheme in ("newmark", "hht", "modified-mean-acceleration", "generalised-alpha", "midpoint")
    ),
    Small("two_bars", {"elements": 6, "dimension": 3, "gap": 1e-4}),
    Small("bar_comparison", {"elements": 12, "courant": 0.4}, 2),
    Small("bar_wall", {"elements": 12, "scheme": "central-difference", "mass": "lumped"}, 2),
    Small("bar_wall", {"elements": 12, "mass": "redistributed"}, 2),
    Small("thrown_bar", {"elements": 12}, 2),
    Small("bouncing_bar", {"elements": 10}, 2),
    Small("asperity_press", {"elements": 5, "steps": 10}, 2),
    Small("multiscale_bar", {"duration": 2e-6}, 1, fixed="L"),  # its mesh is a file
    Small("wave_junction", {"ratio": 3, "duration": 0.2, "coupling": "H1", "mediator": "fine"}, 2, WAVE),
    Small("wave_junction", {"ratio": 3, "duration": 0.2, "absorbing": True}, 2, WAVE),
    Small("wave_junction", {"ratio": 3, "duration": 0.2, "time_ratio": 3}, 2, WAVE),
    Small("reflection_spectrum", {"ratio": 3, "count": 2}, 2, SPECTRUM),
    Small("junction_cantilever", {"duration": 2e-5}, 1),
    Small("cantilever_overlap", {"size": 0.0127, "duration": 2e-5, "fields_every": 1}),
    Small("high_frequency", {"ratio": 3}, 2, WAVES),
    Small("hertz", {"cells": 8, "steps": 2}, 1),
    Small("hertz", {"cells": 6, "steps": 2, "partner": "block", "kind": "tri", "order": 2}, 1),
    Small("hertz", {"cells": 6, "steps": 2, "formulation": "augmented"}, 1),
    Small("hertz_sphere", {"dimension": "3d", "cells": 3, "steps": 1}),
    Small("cattaneo_mindlin", {"cells": 6, "steps": 3}, 1),
    Small("patch_test", {}, 1),
    Small("patch_test", {"cells": "tet"}),
    Small("press_fit", {"cells": 2, "duration": 4e-5}, 0, {"press_fit._VISCOSITY": "s"}),
    Small("friction_pad", {"cells": 6, "transits": 1.0, "law": "multilevel"}, 1, units={"stiffness": "Pa"}),
    Small("fretting_pad", {"cells": 5, "steps": 8, "cycles": 3}, 1),
    Small("grid_cell", {"refine": 0.3, "steps": 2}, 0, GRID),
    Small("rolling_patch", {"ratio": 2, "cylinder_size": 6e-4, "duration": 2.5e-3, "step": 5e-5, "width": 6}, 1),
    Small("ironing", {"slider_size": 1e-3, "block_size": 1.5e-3, "steps": 6}, 1),
    *(Small("sdnd100", {"model": model, **SLIDER}) for model in ("nonsmooth", "two-body", "direct")),
    Small("sdnd104", {"end": 6.0, "step": 1e-3}),
    *(Small("stick_slip_belt", {"steps": 200, "cycles": 3, "law": law}) for law in ("static-dynamic", "stribeck")),
    Small("backlash_rig", {"duration": 0.4}),
    Small("cylinder_impact", DISC, 1),
    Small("glued_impact_3d", {"cells": 6, "duration": 1.0, "friction": 0.3, "sliding": 1.0}),
    Small("glued_impact_3d", {"cells": 6, "duration": 1.0, "solver": "iterative"}),
    Small("nested_cylinders", {"size": 0.02, "step": 2e-6, "duration": 6e-5}),
    Small("nested_cylinders", {"size": 0.02, "step": 2e-6, "duration": 6e-5, "law": "linear", "velocity": 5.0}),
    Small("cylinder_impact", {"tangential": 3.0, "friction": 0.3, "absorbing": True, **DISC}, 1),
    Small("ring_impact", {"elements": 1, "around": 12, "duration": 0.004, "friction": 0.2, "angle": 30.0}, 1),
    Small("spinning_block", {"steps": 50}),
    Small("spinning_block", {"steps": 50, "scheme": "newmark", "law": "svk"}),
    Small("sdnv105", {"impacts": 3, "events": "locate"}, 1),
    Small("sdnv105", {"impacts": 2, "model": "springs"}, 1, units=SPRINGS),
    Small("rod_drop", {"length": 1.0, "cells": 8, "guides": 4, "duration": 0.01, "drop": 0.05}),
    Small("taylor_bar", {"elements": 2, "duration": 2e-6}, 0, STEEL),
    Small("necking_bar", {"elements": 2, "steps": 20}),
    Small("cook_plastic", {"elements": 4, "steps": 4}, 0, COOK),
    Small("rough_press", {"cells": 4, "seeds": 1, "loads": 5, "octaves": 2, "flat": 1}, 1),
    Small("fuel_rod", {"law": "multilevel", **ROD}, 0, {"fuel_rod.parameters.MARGIN": "m"}, {"amplitude": "N/m"}),
)


def allowed(small):
    """The changes of units that a case takes."""
    return {n: s for n, s in CHANGES.items() if not any(s["LMT".index(b)] != 1.0 for b in small.fixed)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("small", QUICK, ids=lambda small: small.label)
def test_units(small):
    found = differences(small, CHANGES["all"])
    assert len(found) > 10 and {k: d for k, d in found.items() if d > 0.0} == {}


@pytest.mark.slow
@pytest.mark.parametrize("small", QUICK + SLOW, ids=lambda small: small.label)
def test_units_of_all_cases(small):
    first = small.run()
    for name, scale in allowed(small).items():
        found = differences(small, scale, first)
        assert {k: d for k, d in found.items() if d > 0.0} == {}, name


@pytest.mark.slow
@pytest.mark.parametrize("small", [QUICK[0], QUICK[4], QUICK[6]], ids=lambda small: small.label)
def test_odd_powers(small):
    """Round-off of what has a size of its own: gaps of points that touch are nothing but round-off."""
    found = differences(small, ODD)
    motion = [d for name, d in found.items() if name.rsplit("/")[-1] in ("displacement", "velocity", "force", "energy")]
    assert len(motion) > 3 and max(motion) < 1e-9


def test_every_case_is_here():
    # statics of one length, minutes of contact, starts from eigenvectors, means over samples, noise, files of fixed
    # sizes: not scaled here
    others = {"glued_ring", "oblique_impact", "rate_state_block", "nonlinear_mode", "rod_resonance", "wear_confidence"}
    others |= {"rod_identification", "rod_in_grid", "imported_rod"}
    assert {small.name for small in QUICK + SLOW} | others == set(names())


def test_exponents():
    assert exponents("N s/m^2") == (-1, 1, -1) and exponents("Pa/m^m", m=2.5) == (-3.5, 1, -2)
    assert exponents("Pa s/m^(1+m')", **{"m'": 0.5}) == (-2.5, 1, -1) and exponents("1/m") == (-1, 0, 0)


def table(chosen=()):
    """Prints the largest relative difference of each case under each change of units."""
    print("| case | values |", " | ".join(CHANGES), "|\n|---|---:|" + "---:|" * len(CHANGES))
    for small in QUICK + SLOW:
        if chosen and small.name not in chosen:
            continue
        first, cells, count = small.run(), [], 0
        for name in CHANGES:
            found = differences(small, CHANGES[name], first) if name in allowed(small) else None
            count = count if found is None else len(found)
            cells.append("–" if found is None else f"{max(found.values()):.0e}" if max(found.values()) else "0")
        print("|", small.label, "|", count, "|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    table(sys.argv[1:])
