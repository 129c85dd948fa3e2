"""Rainflow counts against the printed examples of ASTM E1049-85 and an invariant; what is refused."""

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.models.errors import UserError

HISTORY = [-2, 1, -3, 5, -1, 3, -4, 4, -2]  # figure 6 of the standard, A to I


def counts(cycles):
    """{range: number of cycles}."""
    ranges, numbers = cycles["range"].values, cycles["count"].values
    return {float(each): float(numbers[ranges == each].sum()) for each in np.unique(ranges)}


def test_the_example_of_the_standard():
    """Figure 6 and its table: C–D and G–H make 1.0 of the range 8, B–C and E–F 1.5 of 4."""
    cycles = aq.fatigue.rainflow(HISTORY)
    assert counts(cycles) == {3.0: 0.5, 4.0: 1.5, 6.0: 0.5, 8.0: 1.0, 9.0: 0.5}
    rows = set(map(tuple, cycles[["range", "mean", "count"]].to_array().values.T.tolist()))
    assert rows == {(3, -0.5, 0.5), (4, -1, 0.5), (4, 1, 1), (8, 1, 0.5), (9, 0.5, 0.5), (8, 0, 0.5), (6, 1, 0.5)}


def test_the_example_of_a_repeating_history():
    """Figure 7: it starts at the highest peak D; cycles E–F 4, A–B 3, H–C 7, D–G 9, one of each."""
    assert counts(aq.fatigue.rainflow(HISTORY, repeating=True)) == {3.0: 1.0, 4.0: 1.0, 7.0: 1.0, 9.0: 1.0}


@pytest.mark.parametrize("seed", range(4))
def test_twice_the_ranges_are_the_path_of_the_signal(seed):
    """Each piece of the path from valley to peak belongs to one cycle: Σ 2 count range = Σ |Δx|."""
    signal = np.random.default_rng(seed).integers(-5, 6, 400).astype(float)  # with plateaus
    cycles = aq.fatigue.rainflow(signal)
    path = 2.0 * float((cycles["count"] * cycles["range"]).sum())
    assert path == pytest.approx(np.abs(np.diff(signal)).sum(), rel=1e-12)
    assert float(cycles["range"].max()) == np.ptp(signal)


@pytest.mark.parametrize("samples", [21, 401])
def test_a_sinusoid_has_its_cycles(samples):
    """10 periods of amplitude 3 about 2, from peak to peak."""
    t = np.linspace(0.0, 10.0, 10 * (samples - 1) + 1)
    cycles = aq.fatigue.rainflow(2.0 + 3.0 * np.cos(2.0 * np.pi * t))
    assert float(cycles["count"].sum()) == 10.0
    np.testing.assert_allclose(cycles["range"], 6.0, rtol=1e-12)
    np.testing.assert_allclose(cycles["mean"], 2.0, atol=1e-12)


def test_monotone_and_constant_signals():
    rising = aq.fatigue.rainflow([0.0, 1.0, 3.0])
    assert rising["range"].values.tolist() == [3.0] and rising["count"].values.tolist() == [0.5]
    assert aq.fatigue.rainflow(np.ones(5)).sizes["cycle"] == 0


def test_each_point_is_counted_by_itself():
    """Along `time`, wherever it stands; shorter rows end in cycles without count."""
    signals = np.stack([np.array(HISTORY, dtype=float), np.linspace(0.0, 1.0, 9)], axis=1)
    array = xarray.DataArray(signals, {"time": np.arange(9.0), "node": [4, 7]}, ("time", "node"), attrs={"units": "Pa"})
    cycles = aq.fatigue.rainflow(array)
    assert cycles["count"].dims == ("node", "cycle") and cycles["node"].values.tolist() == [4, 7]
    assert cycles["range"].attrs["units"] == "Pa" and cycles.attrs["duration"] == 8.0
    assert cycles["count"].sum("cycle").values.tolist() == [4.0, 0.5]
    assert np.isnan(cycles["range"].sel(node=7).values[1:]).all()


def test_a_field_of_a_result_is_counted_along_its_frames():
    """A cantilever under a force that swings slowly: twice the amplitude of the moment F L at the clamp."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    beam = aq.Beam("beam", aq.mesh.interval(0.0, 1.0, cells=2), steel, aq.Section.circle(0.02), dimension=2,
                   imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}},
                   end_loads={"right": lambda t: (0.0, 100.0 * np.sin(2.0 * np.pi * t), 0.0)})  # fmt: skip
    result = aq.simulate(aq.System([beam]), aq.Static(), duration=4.0, step=0.05, record=aq.Record(stress=True))
    moment = result["part/beam/section_moment"].sel(moment_component="Mz")
    cycles = aq.fatigue.rainflow(moment)
    assert cycles["count"].dims == ("cell", "end", "cycle") and cycles.attrs["duration"] == pytest.approx(4.0)
    assert float(cycles["range"].isel(cell=0, end=0).max()) == pytest.approx(200.0, rel=1e-9)
    curve = aq.fatigue.SNCurve.basquin(amplitude=100e6, cycles=1e6, slope=4)
    with pytest.raises(UserError, match="stress_per_unit: must be given, Pa per unit, for a signal in N m"):
        aq.fatigue.damage(moment, curve)
    modulus = np.pi / 4.0 * 0.02**3  # W of a circle of this radius, m³
    found = aq.fatigue.damage(moment, curve, stress_per_unit=1.0 / modulus)
    # half cycles from 0 up and back to 0 with half of the range, and 3.5 cycles of the whole
    exact = (3.5 + 1.0 * 0.5**4) * 1e-6 * (100.0 / modulus / 100e6) ** 4
    assert float(found["damage"].isel(cell=0, end=0)) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: aq.fatigue.rainflow([1.0, 2.0]), r"^signal: has 2 samples along time: cycles need at least 3$"),
        (
            lambda: aq.fatigue.rainflow(xarray.DataArray([0.0, np.nan, 1.0, np.inf], dims="time")),
            r"^signal: 2 of its 4 values are not finite: leave them out first$",
        ),
        (lambda: aq.fatigue.rainflow([1.0, np.nan, 2.0]), r"^signal = .*: must be finite numbers$"),
        (lambda: aq.fatigue.rainflow(3.0), r"^signal = 3.0: must be a history"),
        (lambda: aq.fatigue.rainflow("stress"), r"^signal = 'stress': must be finite numbers$"),
        (lambda: aq.fatigue.rainflow(xarray.Dataset()), r"^signal = <Dataset>: must be a variable"),
        (
            lambda: aq.fatigue.rainflow(xarray.DataArray(np.ones((3, 4)), dims=("node", "mode"))),
            r"^dim = 'time': must be a dimension of the signal: node, mode$",
        ),
        (lambda: aq.fatigue.rainflow([0.0, 1.0, 0.0], step=-1.0), r"^step = -1.0: must be positive$"),
        (
            lambda: aq.fatigue.rainflow(xarray.DataArray([0.0, 1.0, 0.0], {"time": [0.0, 2.0, 1.0]})),
            r"^signal: its coordinate time must increase$",
        ),
    ],
)  # fmt: skip
def test_what_has_no_cycles_is_refused(call, line):
    with pytest.raises(UserError, match=line):
        call()
