"""Scalars of results: those of a result made by hand, and those that a case adds."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from cases import registry, scalars
from cases.comparison import Check


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
