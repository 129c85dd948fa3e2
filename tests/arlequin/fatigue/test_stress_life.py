"""S–N curves, corrections for the mean stress and Miner's sum against closed forms and printed values."""

import numpy as np
import pytest
import xarray
from scipy.optimize import brentq

import arlequin as aq
from arlequin.fatigue import SNCurve
from arlequin.models.errors import ModelWarning, UserError

CORRECTIONS = [
    aq.fatigue.Goodman(600e6),
    aq.fatigue.Gerber(600e6),
    aq.fatigue.Soderberg(400e6),
    aq.fatigue.Morrow(900e6),
    aq.fatigue.SmithWatsonTopper(),
    aq.fatigue.Walker(0.65),
]
LINE = SNCurve.basquin(amplitude=100e6, cycles=1e6, slope=5)


@pytest.mark.parametrize(
    ("category", "knee", "cut_off"), [(160, 117.9, 64.8), (112, 82.5, 45.3), (71, 52.3, 28.7), (36, 26.5, 14.6)]
)
def test_the_curves_of_eurocode_3(category, knee, cut_off):
    """Constant amplitude limit 0.737 and cut-off 0.549 · 0.737 of the category, EN 1993-1-9, figure 7.1, MPa."""
    curve = SNCurve.eurocode(1e6 * category)
    assert float(curve.lives(1e6 * category)) == pytest.approx(2e6)
    assert float(curve.stress(5e6)) / 1e6 == pytest.approx(knee, abs=0.06)
    assert curve.endurance / 1e6 == pytest.approx(cut_off, abs=0.06)
    assert float(curve.lives(2e6 * category)) == pytest.approx(2e6 / 8.0)
    assert float(curve.lives(curve.endurance * 1.001)) == pytest.approx(1e8, rel=0.006)
    assert curve.lives([0.999 * curve.endurance, 0.0]).tolist() == [np.inf, np.inf]


def test_a_knee_has_two_slopes_or_an_endurance():
    two = SNCurve.basquin(amplitude=100e6, cycles=1e6, slope=5, knee=1e7, slope_after=9)
    at = 200e6 * 10.0 ** (-1.0 / 5.0)
    np.testing.assert_allclose(two.lives([400e6, at, 0.5 * at]), [1e6 / 2**5, 1e7, 1e7 * 2**9], rtol=1e-12)
    flat = SNCurve.basquin(amplitude=100e6, cycles=1e6, slope=5, knee=1e7)
    np.testing.assert_allclose(flat.lives([400e6, 1.001 * at]), [1e6 / 2**5, 1e7 * 1.001**-5.0], rtol=1e-12)
    assert float(flat.lives(0.999 * at)) == np.inf


def test_stress_is_the_inverse_of_lives():
    curve = SNCurve([500e6, 300e6, 120e6], [1e3, 2e4, 5e6], endurance=100e6)
    counts = np.geomspace(10.0, 1e8, 50)
    inside = curve.stress(counts) > 100e6
    assert 20 < inside.sum() < 50
    np.testing.assert_allclose(curve.lives(curve.stress(counts))[inside], counts[inside], rtol=1e-9)
    # linear on log–log axes between the points
    middle = curve.lives(np.sqrt(500e6 * 300e6))
    assert float(middle) == pytest.approx(np.sqrt(1e3 * 2e4))


def test_basquin_of_strain_life():
    """σ_a = σ'_f (2N)^b."""
    curve = SNCurve.basquin(amplitude=900e6, cycles=0.5, slope=1.0 / 0.09)
    assert float(curve.stress(1e5)) / 2.0 == pytest.approx(900e6 * 2e5**-0.09)


def test_a_table_is_read(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text("# steel\namplitude, cycles\n100e6, 1e7\n250e6, 1e4\n\n", encoding="utf-8")
    curve = SNCurve.read(path, endurance=40e6)
    np.testing.assert_allclose(curve.lives([500e6, 200e6]), [1e4, 1e7])
    assert curve.endurance == 80e6
    for text, line in (
        ("N,S\n1,2\n", "first line must name the columns, cycles and range or amplitude, not N, S"),
        ("cycles,range\n1,x\n", "must have two numbers in each line"),
        ("cycles,range\n1e4,1e8\n1e5,2e8\n", "ranges = .*must be positive and decrease"),
        ("", "not nothing"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=line):
            SNCurve.read(path)
    with pytest.raises(UserError, match="cannot be read"):
        SNCurve.read(tmp_path / "missing.csv")


def test_corrections_of_the_mean_stress():
    """The closed form of each, of 100 MPa about 200 and −200 MPa, by hand."""
    amplitude, mean = np.array([100e6, 100e6, 0.0]), np.array([200e6, -200e6, 100e6])
    exact = {
        "Goodman": [150e6, 100e6, 0.0],
        "Gerber": [112.5e6, 100e6, 0.0],
        "Soderberg": [200e6, 100e6, 0.0],
        "Morrow": [100e6 / (1 - 2 / 9), 100e6 / (1 + 2 / 9), 0.0],
        "SmithWatsonTopper": [np.sqrt(3.0) * 100e6, 0.0, 0.0],
        "Walker": [100e6 * 3.0**0.35, 0.0, 0.0],
    }
    for correction in CORRECTIONS:
        found = correction.reversed_amplitude(amplitude, mean)
        np.testing.assert_allclose(found, exact[type(correction).__name__], rtol=1e-12, atol=1e-6)


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("ratio", [-1.0, 0.0, 0.5])
def test_curves_of_other_stress_ratios(correction, ratio):
    """The amplitude at R is that whose own correction is the reversed one."""
    target = 150e6
    slope = (1.0 + ratio) / (1.0 - ratio)
    highest = 3.9e8 / max(slope, 0.5)

    def excess(a):
        return float(correction.reversed_amplitude(np.array(a), np.array(slope * a))) - target

    exact = brentq(excess, 0.0, min(highest, 0.999 * 4e8 / max(slope, 1e-9)), xtol=1e-3)
    assert float(correction.amplitude_at_ratio(np.array(target), ratio)) == pytest.approx(exact, rel=1e-9)


def test_a_curve_of_pulsating_tests_needs_no_correction_at_its_ratio():
    """Cycles of R = 0 have the damage of a curve of R = 0, whatever the correction."""
    t = np.linspace(0.0, 20.0, 401)
    signal = 80e6 * (1.0 + np.cos(2.0 * np.pi * t))
    curve = SNCurve.basquin(amplitude=60e6, cycles=2e6, slope=6, ratio=0.0)
    for correction in (None, *CORRECTIONS):
        found = aq.fatigue.damage(signal, curve, correction, step=0.05)
        assert float(found["damage"]) == pytest.approx(20.0 / 2e6 * (80.0 / 60.0) ** 6, rel=1e-9)


def test_miner_of_two_levels_and_the_life():
    """n_1/N_1 + n_2/N_2, and the record's length over it."""
    t = np.arange(0.0, 10.0 + 1e-9, 0.01)
    signal = np.where(t <= 5.0, 200e6, 100e6) * np.cos(2.0 * np.pi * t)
    array = xarray.DataArray(signal, {"time": t}, attrs={"units": "Pa"})
    found = aq.fatigue.damage(array, LINE, miner_sum=0.5)
    # 5 cycles of 200 and 4.5 of 100 MPa, and half a cycle between 200 and −100
    exact = (5.0 * 2.0**5 + 4.5 + 0.5 * 1.5**5) / 1e6
    assert float(found["damage"]) == pytest.approx(exact, rel=1e-3)
    assert float(found["life"]) == pytest.approx(10.0 * 0.5 / float(found["damage"]))
    assert float(found["repetitions"]) == pytest.approx(0.5 / float(found["damage"]))


def test_without_damage_life_is_infinite():
    curve = SNCurve.basquin(amplitude=100e6, cycles=1e6, slope=5, knee=1e7)
    found = aq.fatigue.damage(1e6 * np.sin(np.arange(100.0)), curve, step=0.1)
    assert float(found["damage"]) == 0.0 and float(found["life"]) == np.inf


def test_points_are_independent():
    signals = np.random.default_rng(0).standard_normal((3, 2, 500)) * 50e6
    all_points = aq.fatigue.damage(signals, LINE, aq.fatigue.Goodman(600e6), step=0.1)["damage"]
    assert all_points.shape == (3, 2)
    for place in np.ndindex(3, 2):
        one = aq.fatigue.damage(signals[place], LINE, aq.fatigue.Goodman(600e6), step=0.1)
        assert float(all_points.values[place]) == pytest.approx(float(one["damage"]), rel=1e-12)


def test_an_extrapolated_curve_gives_a_warning():
    curve = SNCurve([400e6, 200e6], [1e4, 1e6])
    t = np.arange(0.0, 10.0, 0.02)
    with pytest.warns(ModelWarning, match=r"curve: 100 % of the damage is of lives beyond its 10000 to 1e\+06 cycles"):
        aq.fatigue.damage(300e6 * np.cos(2.0 * np.pi * t), curve, step=0.02)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: aq.fatigue.Goodman(0.0), r"^ultimate = 0.0: must be positive$"),
        (lambda: aq.fatigue.Walker(0.0), r"^exponent = 0.0: must lie in \]0, 1\]$"),
        (
            lambda: aq.fatigue.damage([0.0, 2e9, 0.0, 2e9], LINE, aq.fatigue.Gerber(600e6)),
            r"^mean stress: 1e\+09 Pa reaches the ultimate strength, 6e\+08 Pa: this is static failure$",
        ),
        (lambda: aq.fatigue.damage([0.0, 1.0, 0.0], 3.0), r"^curve = 3.0: must be an aq.fatigue.SNCurve$"),
        (lambda: aq.fatigue.damage([0.0, 1.0, 0.0], LINE, 3.0), r"^correction = 3.0: must be a correction"),
        (
            lambda: aq.fatigue.damage(
                xarray.Dataset({"range": ("cycle", [-1.0]), "mean": ("cycle", [0.0]), "count": ("cycle", [1.0])}), LINE
            ),
            r"^range = -1.0: must not be negative$",
        ),
        (lambda: aq.fatigue.damage(xarray.Dataset(), LINE), r"^signal: must be a variable or the table of rainflow"),
        (lambda: SNCurve([1e8, 2e8], [1e4, 1e5]), r"^ranges = .*: must be positive and decrease, one at least$"),
        (lambda: SNCurve([2e8, 1e8], [1e5, 1e4]), r"^cycles = .*: must be positive and increase$"),
        (lambda: SNCurve([2e8], [1e5]), r"^slopes: must be given"),
        (lambda: SNCurve.basquin(cycles=1e6, slope=3), r"^stress_range: give stress_range or amplitude, one of them$"),
        (lambda: SNCurve.basquin(amplitude=1e8, cycles=1e6, slope=0.0), r"^slope = 0.0: must be positive$"),
        (
            lambda: SNCurve.basquin(amplitude=1e8, cycles=1e6, slope=3, slope_after=5),
            r"^slope_after: needs the cycles of the knee",
        ),
    ],
)
def test_misuses(call, line):
    with pytest.raises(UserError, match=line):
        call()


def test_the_figure_has_the_spectrum_and_the_curve():
    cycles = aq.fatigue.rainflow(100e6 * np.random.default_rng(3).standard_normal(300))
    figure = aq.plots.load_spectrum(cycles, LINE, aq.fatigue.Goodman(900e6), repetitions=100)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "Number of cycles" and axes.get_ylabel() == "Stress range at R = -1 (MPa)"
    spectrum, curve = axes.get_lines()
    assert spectrum.get_xdata()[-1] == pytest.approx(100 * float(cycles["count"].sum()))
    lives = LINE.lives(1e6 * curve.get_ydata())
    np.testing.assert_allclose(lives, curve.get_xdata(), rtol=1e-6)
    with pytest.raises(UserError, match="choose one of dim_0 by isel"):
        aq.plots.load_spectrum(np.random.default_rng(3).standard_normal((2, 30)))
