"""Scalars of results: those of a result made by hand, closed forms, and what every case gives at a small size."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.cases.case import registry, scalars
from arlequin.cases.case.checks import Check
from arlequin.cases.case.execution import execute, prepare

# dimensionless is "1"
UNITS = {"1", "J", "N", "Pa", "m", "s", "N s", "N m", "W", "m^3", "kg", "m/s", "J/m^2", "N/m", "rad", "Hz", "1/s"}


def interface(force: Any, active: Any, gap: Any, **more: Any) -> xarray.Dataset:
    """Two points of 2 and 3 m²; frames at the start and the end."""
    timed = {"active": active, "gap_min": gap, "impulse": np.zeros(len(active)), **more}
    return xarray.Dataset(
        {
            "area": ("point", [2.0, 3.0]),
            "force": (("time", "component"), np.array(force, dtype=float)),
            "pressure": (("frame", "point"), [[0.0, 0.0], [5.0, np.nan]]),
            **{name: ("time", np.array(values, dtype=float)) for name, values in timed.items()},
        }
    )


def by_hand(*names: str, scheme: str = "Theta(0.5)", end: float = 2.0, **more: Any) -> xarray.DataTree:
    """Steps of 0.5 s: in contact in the second and the fourth of four."""
    root = xarray.Dataset(
        {
            "energy": (("time", "kind"), [[2.0, 0.0]] + 3 * [[1.0, 1.0]] + [[0.5, 1.25]]),
            "balance": ("time", [0.0, 1e-12, -3e-12, 0.0, 2e-12]),
        },
        coords={"time": [0.0, 0.5, 1.0, 1.5, end], "kind": ["kinetic", "asperity_damping"]},
        attrs={"step": 0.5, "scheme": scheme, "wall_time_per_step": 1e-3},
    )
    # the values at the start stand for no time
    force = [[9.0, 9.0], [0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [-3.0, 2.0]]
    own = interface(force, [2, 0, 2, 0, 1], [0.0, 1.0, -0.25, np.inf, 0.5], **more)
    return xarray.DataTree.from_dict({"/": root, **{f"interface/{name}": own for name in names}})


def values(found: dict[str, aq.Scalar]) -> dict[str, float]:
    return {name: one.value for name, one in found.items()}


def test_common_by_hand():
    rubs = {"wear_power": [7.0, 0.0, 8.0, 0.0, 2.0], "friction_power": [7.0, 0.0, 2.0, 0.0, 1.0]}
    found = scalars.common(by_hand("contact", **rubs, worn_volume=[0.0, 0.0, 1e-9, 1e-9, 3e-9]))
    assert values(found) == pytest.approx(
        {
            "energy_kinetic": 0.5, "energy_asperity_damping": 1.25, "balance": 3e-12, "wall_time_per_step": 1e-3,
            "peak_force": 5.0, "final_force": np.sqrt(13.0), "peak_pressure": 5.0, "least_gap": -0.25,
            "impulse": 3.0, "contact_duration": 1.0, "first_contact": 0.5,
            "wear_power": 2.5, "wear_work": 5.0, "friction_energy": 1.5, "worn_volume": 3e-9,
        }
    )  # fmt: skip
    assert found["impulse"] == aq.Scalar(3.0, "N s", "contact impulse")


def test_in_statics_time_is_no_time():
    found = scalars.common(by_hand("contact", scheme="Static()", wear_power=[0.0] * 5, friction_power=[0.0] * 5))
    assert not {"impulse", "contact_duration", "first_contact", "wear_power"} & set(found)
    assert found["peak_force"].value == 5.0 and found["wear_work"].value == 0.0


def test_interfaces_by_name_where_there_are_several():
    found = scalars.common(by_hand("left foot", "Left foot", "3 µm"))
    assert {"left_foot_impulse", "left_foot_2_impulse", "_3_mum_impulse"} <= set(found)
    assert "impulse" not in found and found["left_foot_impulse"].text == "contact impulse (left foot)"


def test_a_point_has_its_largest_pressure_between_the_frames():
    tree = by_hand("contact").isel(point=[0])
    tree["interface/contact/impulse"][2] = 6.0
    assert scalars.common(tree)["peak_pressure"].value == 6.0 / 0.5 / 2.0


def test_without_contact_and_without_steps():
    tree = by_hand("contact")
    tree["interface/contact/active"][1:] = 0
    found = values(scalars.common(tree))
    assert np.isnan(found["first_contact"]) and found["contact_duration"] == 0.0
    start = values(scalars.common(tree.isel(time=[0], frame=[0])))
    assert np.isnan(start["peak_force"]) and start["impulse"] == 0.0 and start["energy_kinetic"] == 2.0
    assert scalars.common(xarray.DataTree(xarray.Dataset(coords={"time": [0.0]}))) == {}


def test_skipped_cycles_count_no_time():
    rubs = {"wear_power": [0.0, 0.0, 8.0, 0.0, 2.0], "friction_power": [0.0] * 5}
    late, plain = (scalars.common(by_hand("contact", end=end, **rubs)) for end in (100.0, 2.0))
    assert late == plain


def case_of(**functions: Any) -> registry.Case:
    module = ModuleType("study")
    module.__dict__.update(functions)
    return registry.Case("study", module)


def test_a_case_adds_its_own_and_wins():
    own = {"peak_force": aq.Scalar(1.0, "kN", "mine"), "number": aq.Scalar(2)}
    found = scalars.of(case_of(scalars=lambda result, parameters: own), by_hand("contact"), None)
    assert found == scalars.common(by_hand("contact")) | own
    assert scalars.of(case_of(), by_hand("contact"), None) == scalars.common(by_hand("contact"))


@pytest.mark.parametrize(
    ("own", "words"),
    [([1.0], "list"), ({"peak force": aq.Scalar(1.0)}, "identifier"), ({"peak": 1.0}, "float for peak")],
)
def test_what_is_no_scalar_is_refused(own, words):
    with pytest.raises(aq.UserError, match=words):
        scalars.of(case_of(scalars=lambda result, parameters: own), by_hand("contact"), None)


def test_errors_are_those_of_the_checks():
    checks = [
        Check("force over μ p", 11.0, 10.0, 0.2, "N"),
        Check("force over μ p", 9.0, 10.0, 0.2, "N", "absolute"),
        Check("share (slip)", 0.3, 0.25, 0.0, "", "at most"),
        Check("of nothing", 1.0, 0.0, 0.2, "N"),
    ]
    found = scalars.errors(case_of(check=lambda result, parameters: checks), by_hand(), None)
    assert {name: one.unit for name, one in found.items()} == {
        "force_over_mu_p_error": "1",
        "force_over_mu_p_error_2": "N",
        "share_error": "1",
        "of_nothing_error": "1",
    }
    assert list(values(found).values()) == pytest.approx([0.1, -1.0, 0.05, np.nan], nan_ok=True)
    assert found["share_error"].text == "error of: share (slip)" and scalars.errors(case_of(), by_hand(), None) == {}


IMPEDANCE, TRANSIT = np.sqrt(2e11 * 7800.0), 0.2 / np.sqrt(2e11 / 7800.0)  # ρc, 2L/c of a steel bar of 0.1 m


@pytest.mark.parametrize("name", ["two_bars", "bar_wall"])
def test_bars_in_closed_form(name):
    """Equal bars, or a bar on a wall: ρcV for 2L/c, which turns the momentum ρLV, and all of the speed comes back."""
    speed = {"two_bars": 10.0, "bar_wall": 100.0}[name]
    options: dict[str, Any] = {"elements": 100, "courant": 0.7071}
    case, parameters = prepare(name, options)
    found = scalars.of(case, execute(case, parameters), parameters)
    came = {"two_bars": 2.0 * speed, "bar_wall": speed}[name]  # velocities of both bars are relative
    start = {"two_bars": 0.0, "bar_wall": 5e-4 / speed}[name]
    step = 0.7071 * TRANSIT / 200.0
    exact = {
        "impulse": (2.0 * 780.0 * speed, 0.01),
        "contact_pressure": (IMPEDANCE * speed, 0.02),
        "contact_duration": (TRANSIT, 4.0 * step / TRANSIT),
        "contact_span": (TRANSIT, 4.0 * step / TRANSIT),
        "rebound_velocity": (came, 0.01),
        "restitution": (1.0, 0.01),
    }
    for key, (value, near) in exact.items():
        assert found[key].value == pytest.approx(value, rel=near), key
    assert found["first_contact"].value == pytest.approx(start, abs=1.001 * step)
    # the front of the θ-scheme overshoots
    assert 1.0 <= found["peak_force"].value / (IMPEDANCE * speed) <= 1.1
    assert 0.0 < found["energy_loss"].value < 0.01 and found["peak_force"].value == found["peak_pressure"].value


def test_nothing_has_rebounded_while_the_contact_goes_on():
    case, parameters = prepare("thrown_bar", {"elements": 20, "duration": 0.8})  # it comes at 0.5 s, for 0.67 s
    found = scalars.of(case, execute(case, parameters), parameters)
    assert np.isnan(found["restitution"].value) and np.isnan(found["rebound_velocity"].value)
    case, parameters = prepare("thrown_bar", {"elements": 20, "duration": 0.4})
    found = scalars.of(case, execute(case, parameters), parameters)
    assert np.isnan(found["contact_span"].value) and np.isnan(found["restitution"].value)


SMALL: dict[str, dict[str, Any]] = {
    "two_bars": {"elements": 10},
    "bar_comparison": {"elements": 20, "penalty_stiffness": 2e13},
    "bar_wall": {"elements": 10},
    "thrown_bar": {"elements": 10},
    "bouncing_bar": {"elements": 20},
    "asperity_press": {"elements": 4, "steps": 10},
    "multiscale_bar": {"duration": 2e-6},
    "wave_junction": {"ratio": 2.0},
    "reflection_spectrum": {"ratio": 2.0, "shortest": 2.0, "longest": 2.1, "count": 2},
    "junction_cantilever": {"cells": 2, "duration": 5e-4},
    "cantilever_overlap": {"size": 0.0127, "duration": 2e-4},
    "high_frequency": {"ratio": 4.0},
    "beam_solid": {"across": 1, "solid_size": 0.4, "beam_size": 0.2},
    "beam_to_solid": {
        "switch": 0.1, "duration": 0.3, "step": 5e-3, "solid_size": 0.01, "beam_size": 0.02, "fields_every": 1,
    },
    "glued_impact_3d": {"cells": 3, "ratio": 1},
    "nested_cylinders": {"size": 0.02, "step": 2e-6, "duration": 1e-4},
    "glued_ring": {"order": 1, "ratio": 2.0},
    "hertz": {"cells": 8, "steps": 1},
    "hertz_sphere": {"cells": 8, "steps": 1},
    "cattaneo_mindlin": {"cells": 6, "steps": 2},
    "patch_test": {"lower_cells": 3, "upper_cells": 2},
    "press_fit": {"cells": 2, "duration": 2e-5},
    "friction_pad": {"cells": 4, "transits": 1.0},
    "wear_pin": {"cells": 4, "steps": 10},
    "backlash_rig": {"duration": 0.3, "step": 1e-3},
    "fretting_pad": {"cells": 4, "steps": 4, "cycles": 6},
    "grid_cell": {"refine": 0.3, "length": 0.034, "steps": 1},
    "rolling_patch": {"ratio": 2, "cylinder_size": 6e-4, "duration": 2.5e-3, "step": 5e-5, "width": 6},
    "ironing": {"steps": 8, "slider_size": 4e-4, "block_size": 6e-4},
    "sdnd100": {},
    "sdnd104": {"start": 0.2, "end": 0.6},
    "sdnd106": {"steps": 500},
    "stick_slip_belt": {"steps": 500},
    "rate_state_block": {"slides": 4.0},
    "nonlinear_mode": {"steps": 400, "points": 5},
    "rod_resonance": {"steps": 60, "points": 6, "rate": 0.5, "modes": 3, "lowest": 9.5},
    "imported_rod": {"duration": 2e-4},
    "rod_identification": {"modes": 3, "duration": 0.04, "step": 2e-4, "trials": 1},
    "rod_in_grid": {"duration": 0.02, "start": 0.004, "modes": 4, "cells": 2, "step": 4e-4, "samples": 2},
    "wear_confidence": {
        "duration": 0.01, "start": 0.002, "modes": 4, "cells": 2, "levels": 2, "samples": 4, "indices": 2,
        "accuracy": 2.0,
    },
    "cylinder_impact": {"size": 1e-3, "ratio": 2, "free": 4e-3, "overlap": 4e-3, "duration": 1e-5},
    "sphere_impact": {"geometry": "solid", "cells": 2, "growth": 1.6, "steps": 20},
    "oblique_impact": {"shape": "disc", "cells": 2, "steps": 20},
    "spinning_block": {"cells": 2, "steps": 4, "fields_every": 2},
    "sdnv105": {"step": 5e-4, "impacts": 2},
    "rod_drop": {
        "length": 0.8, "pitch": 0.2, "guides": 9, "cells": 12, "duration": 0.03, "drop": 0.25, "step": 3e-4,
    },
    "taylor_bar": {"elements": 2, "duration": 1e-6},
    "ring_impact": {"elements": 1, "around": 8, "scheme": "central-difference", "step": 2e-4, "duration": 0.02},
    "necking_bar": {"elements": 2, "elongation": 2e-3, "steps": 4},
    "cook_plastic": {"elements": 2, "steps": 2},
    "rough_press": {"loads": 4, "cells": 1},
    "rough_impact": {"elements": 20},
    "fuel_rod": {"length": 1.1, "grids": 3, "duration": 5e-4, "modes": 24, "cells": 8, "amplitude": 30.0, "loose": 3},
}  # fmt: skip

# what a short run has not: the rebound; contact of the loose grid
MISSING = {name: {"rebound_velocity", "restitution"} for name in ("multiscale_bar", "cylinder_impact", "ring_impact")}
MISSING["fuel_rod"] = {"grid3_springs_first_contact", "grid3_dimples_first_contact"}
MISSING["imported_rod"] = {"lower_first_contact", "upper_first_contact"}  # it knocks after 1.7 ms
MISSING["rod_in_grid"] = {"depth_tolerance", "time_tolerance"}  # of 59 lives

# of names that several cases share
SHARED = {
    "peak_force": "N", "final_force": "N", "drag_force": "N", "peak_pressure": "Pa", "contact_pressure": "Pa",
    "final_pressure": "Pa", "rebound_velocity": "m/s", "restitution": "1", "contact_span": "s", "energy_loss": "1",
    "energy_drift": "1", "force_variation": "1", "force_ratio": "1", "impacts": "1", "reflected_energy": "1",
    "final_gap": "m", "contact_radius": "m", "tip_displacement": "m", "wear_power": "W", "scar_width": "m",
}  # fmt: skip

# in closed form, and how near the coarse models come
MODULUS = 7e10 / (1.0 - 0.3**2)  # E* of the light alloy on a rigid plane
BALL, PLANE = 4.0 / 3.0 * np.pi * 0.02**3 * 7800.0, 2e11 / 0.91 * np.sqrt(0.02)  # of the steel ball: m, E* √R
EXACT: dict[str, dict[str, tuple[float, float]]] = {
    "bouncing_bar": {"plateau_pressure": (0.5, 0.02), "impacts": (3.0, 0.06)},
    # all of the asperities are crushed, the bar alone gives way: E (1.5 − 0.5) mm / 0.1 m
    "asperity_press": {"final_pressure": (2e9, 1e-10)},
    # F L³/(3 E I) + F L/(κ G A)
    "beam_solid": {"tip_displacement": (8e3 / (3 * 2e11 * 0.07 * 1e-3 / 12) + 2e3 / (0.85 * 2e11 / 2.6 * 7e-3), 0.01)},
    # F a b (L² − a² − b²)/(6 EI L) + F a b/(κ G A L), a = 0.119 m from the load to an end, b = 0.12 m from the gauge
    # to the other one, L = 0.249 m
    "beam_to_solid": {"largest_deflection": (3.26641e-4, 1e-3)},
    "hertz": {
        "contact_radius": (1.5e-3, 0.01),
        "peak_pressure": (0.015 * MODULUS, 0.01),
        "final_force": (0.25 * np.pi * MODULUS * 1.5e-3**2 / 0.05, 1e-3),
    },
    "hertz_sphere": {
        "contact_radius": (1.5e-3, 0.015),
        "peak_pressure": (0.06 / np.pi * MODULUS, 0.01),
        "final_force": (4.0 / 3.0 * MODULUS * 1.5e-3**3 / 0.05, 1e-3),
    },
    # Q = μP/2: c = b √½
    "cattaneo_mindlin": {"force_ratio": (0.15, 1e-8), "stick_radius": (np.sqrt(0.5) * 1e-3, 0.05)},
    "wear_pin": {"worn_volume": (1e-12 * 4e4 * 2.5, 1e-3), "worn_mass": (7800 * 1e-7, 1e-3)},
    # ω = 100/s, μg/ω² = 0.1 mm; times are of order 4 in ω Δt = 0.1
    "sdnd100": {
        "turning_points": (4.0, 0.0),
        **{f"turning_point_{n + 1}": (x, 1e-6) for n, x in enumerate((-0.65e-3, 0.45e-3, -0.25e-3, 0.05e-3))},
        **{f"turning_time_{n}": (0.01 * n * np.pi, 1e-5) for n in range(1, 5)},
    },
    # of the whole ball: Hertz's (5/4 m V²)^(3/5) (4/3 E* √R)^(2/5), 2 m V, 2.9432 (15 m V²/(16 E* √R))^(2/5)/V
    "sphere_impact": {
        "peak_force": ((1.25 * BALL * 0.03**2) ** 0.6 * (4.0 / 3.0 * PLANE) ** 0.4, 0.03),
        "impulse": (2.0 * BALL * 0.03, 0.01),
        "contact_span": (2.9432 * (15.0 * BALL * 0.03**2 / (16.0 * PLANE)) ** 0.4 / 0.03, 0.05),
        "restitution": (1.0, 0.01),
    },
    # elastic and sticking in part: a disc that vibrates keeps its energy to 1 %
    "oblique_impact": {"normal_impulse": (2.0, 0.02), "restitution": (1.0, 0.03)},
    # cos ωt = 1 − μ_s N/F = 0 with ω² = k/m
    "sdnd106": {"first_slip": (0.5 * np.pi / np.sqrt(2000.0), 1e-8)},
    # D = V/ω = 10 mm: √2 D, (2 + 3π/2)/ω; the mean force on the belt is μ_d N
    "stick_slip_belt": {
        "period": (0.2 + 0.15 * np.pi, 1e-8),
        "amplitude": (np.sqrt(2.0) * 0.01, 1e-8),
        "belt_work": (0.1 * 2.0 * (0.2 + 0.15 * np.pi), 1e-8),
    },
    # λ of the cubic m λ² + k + N a λ/V − N b λ/(λ D + V) = 0
    "rate_state_block": {"growth_rate": (0.2497377, 1e-3), "angular_frequency": (6.7033861, 1e-4)},
    # rigid block: its landing, and θ̇ after over before
    "sdnv105": {"impacts": (2.0, 0.0), "impact_time": (0.054411, 1e-4), "restitution": (0.7474, 1e-3)},
    # its free fall from 10 m/s, hardly braked
    "rod_drop": {"drop_time": ((np.sqrt(100.0 + 2 * 9.81 * 0.25) - 10.0) / 9.81, 1e-3)},
    # the free end does not know yet that the other has met the wall
    "taylor_bar": {"final_length": (32.4e-3 - 227.0 * 1e-6, 1e-6)},
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", registry.NAMES)
def test_every_case(name, monkeypatch):
    """Numbers with units and texts, without another run; what is missing is known to be."""
    case, parameters = prepare(name, SMALL[name])
    result = execute(case, parameters)
    with monkeypatch.context() as patch:
        for function in ("arlequin.run.run.Run.__init__", "arlequin.run.simulate.Study.run"):
            patch.setattr(function, lambda *_, **__: pytest.fail("a scalar costs a run"))
        found = scalars.of(case, result, parameters)
    assert {key for key, one in found.items() if not np.isfinite(one.value)} == MISSING.get(name, set())
    for key, one in found.items():
        assert key.isidentifier() and key == key.lower() and one.text, key
        assert one.unit in UNITS and one.unit == SHARED.get(key, one.unit), key
    for key, (value, near) in EXACT.get(name, {}).items():
        assert found[key].value == pytest.approx(value, rel=near), key
