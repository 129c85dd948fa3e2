"""The interface laws against 60-digit arithmetic, quadrature and their own definitions."""

import sys
from decimal import Decimal, getcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from arlequin.models.errors import UserError
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.laws._kernels import mean_power, power, power_law
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.base import RegularLaw, SetValuedLaw
from arlequin.multilevel.laws.friction import Coulomb
from arlequin.multilevel.laws.penalty import Penalty, VelocityPenalty
from arlequin.multilevel.laws.unilateral import Unilateral
from arlequin.multilevel.obstacles.base import RigidPlane

pytestmark = pytest.mark.kernels

EXPONENTS = st.sampled_from([0.0, 1.0, 1.5, 2.0, 3.0])
# m; depths whose powers underflow are not meant
CRUSH = st.one_of(st.floats(1e-30, 1e-3), st.floats(-1e-3, -1e-30), st.just(0.0))
GAPS = st.floats(-2e-4, 8e-4)


def exact_mean(start: float, end: float, m: float) -> tuple[float, float]:
    """Mean of ⟨s⟩^m between the ends and its derivative by the end, in 60 digits."""
    getcontext().prec = 60
    s, e, d = (Decimal(x) for x in (start, end, m))
    if s == e:
        if s <= 0:
            return 0.0, 0.0
        return float(s**d), float(d * s ** (d - 1) / 2)

    def primitive(x: Decimal) -> Decimal:
        return x ** (d + 1) / (d + 1) if x > 0 else Decimal(0)

    mean = (primitive(e) - primitive(s)) / (e - s)
    edge = e**d if e > 0 else Decimal(0)
    return float(mean), float((edge - mean) / (e - s))


@given(CRUSH, CRUSH, EXPONENTS)
def test_mean_power_is_the_mean(start: float, end: float, m: float) -> None:
    mean, slope = mean_power(start, end, m)
    exact, exact_slope = exact_mean(start, end, m)
    assert mean == pytest.approx(exact, rel=4e-15, abs=1e-100)
    if start > 0.0 and end > 0.0:
        assert slope == pytest.approx(exact_slope, rel=1e-10, abs=2e-11 * exact / max(start, end))


@pytest.mark.slow
@given(st.floats(1e-6, 1e-3), st.floats(-12, -0.5), st.booleans(), st.sampled_from([1.0, 1.5, 2.0, 3.0, 10.0, 100.0]))
def test_mean_power_at_close_ends(start: float, logarithm: float, down: bool, m: float) -> None:
    end = start * (1.0 + (-1.0 if down else 1.0) * 10.0**logarithm)
    mean, slope = mean_power(start, end, m)
    exact, exact_slope = exact_mean(start, end, m)
    smallest = sys.float_info.min  # below it numbers have fewer digits
    assert mean == pytest.approx(exact, rel=1e-14 * (1.0 + m), abs=smallest)
    assert slope == pytest.approx(exact_slope, rel=1e-8, abs=smallest)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("m", [0.0, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize(("start", "end"), [(-1e-4, 3e-4), (3e-4, -1e-4), (0.0, 2e-4), (2e-4, 0.0), (1e-4, 4e-4)])
def test_mean_power_by_quadrature(start: float, end: float, m: float) -> None:
    """The same by adaptive quadrature, the layer entered or left within the step."""
    inside = [0.0] if start * end < 0.0 else None
    integral, _ = quad(lambda s: s**m if s > 0.0 else 0.0, start, end, points=inside, epsabs=1e-25, epsrel=1e-12)
    assert mean_power(start, end, m)[0] == pytest.approx(integral / (end - start), rel=1e-9)


@pytest.mark.parametrize("m", [0.0, 1.0, 1.5, 2.0, 3.0])
def test_mean_power_limits(m: float) -> None:
    assert mean_power(3e-4, 3e-4, m) == pytest.approx((3e-4**m, 0.5 * m * 3e-4 ** (m - 1.0)), rel=1e-14)
    assert mean_power(-1e-4, -1e-4, m) == (0.0, 0.0)
    assert mean_power(0.0, 0.0, m) == (0.0, 0.0)
    assert power(-1e-4, m) == (0.0, 0.0)


LAWS = st.builds(
    Asperities,
    stiffness=st.sampled_from([1e12, 5e15]),
    exponent=st.sampled_from([1.0, 1.5, 2.0, 3.0]),
    height=st.just(5e-4),
    damping=st.sampled_from([0.0, 2e4, 2e7]),
    damping_exponent=st.sampled_from([0.0, 1.0, 1.5]),
    damping_acts=st.sampled_from(["loading", "both"]),
)


def call(
    law: Asperities, before: float, gap: float, step: float = 1e-6, theta: float = 0.5
) -> tuple[tuple[float, float, float, float], float]:
    trial = np.full(1, np.nan)
    out = law.kernel()(law.coefficients(), np.array([before]), gap, step, theta, trial)
    return out, trial[0]


@given(LAWS, GAPS, GAPS, st.sampled_from([0.0, 0.5, 0.7, 1.0]))
def test_tangents_are_derivatives(law: Asperities, before: float, gap: float, theta: float) -> None:
    """Central differences of the tractions; the points where the law has a kink are stepped around."""
    change = 1e-10
    kinks = [law.height, before]
    (_, slope, loss, loss_slope), _ = call(law, before, gap, theta=theta)
    stored = call(law, before, gap, theta=theta)[0][0]
    if min(abs(gap - kink) for kink in kinks) < 1e-7 or abs(loss + stored) < 0.1 * stored:
        return
    up, down = (call(law, before, gap + d, theta=theta)[0] for d in (change, -change))
    # round-off of the tractions over the change, and the third derivative near the edge of the layer
    scale = law.stiffness * law.exponent * (7e-4) ** (law.exponent - 1.0)
    assert slope == pytest.approx((up[0] - down[0]) / (2.0 * change), rel=1e-4, abs=1e-5 * scale)
    scale += law.damping * (7e-4) ** law.damping_exponent / 1e-6
    assert loss_slope == pytest.approx((up[2] - down[2]) / (2.0 * change), rel=1e-4, abs=1e-5 * scale)


@given(LAWS, GAPS)
def test_energy_is_the_integral_of_the_pressure(law: Asperities, gap: float) -> None:
    ends = (gap, max(gap, law.height))
    integral, _ = quad(lambda g: float(law.pressure(np.array(g))), *ends, epsabs=0.0, epsrel=1e-12)
    assert float(law.energy(np.array(gap))) == pytest.approx(integral, rel=1e-9, abs=1e-20)
    crush = max(law.height - gap, 0.0)
    assert float(law.pressure(np.array(gap))) == pytest.approx(law.stiffness * crush**law.exponent, rel=1e-15)


@given(LAWS, GAPS, GAPS)
def test_discrete_gradient(law: Asperities, before: float, gap: float) -> None:
    """At θ = 1/2 the stored part works exactly minus the change of energy; the energy in 60 digits."""
    getcontext().prec = 60
    stored = Decimal(call(law, before, gap)[0][0])

    def energy(g: float) -> Decimal:
        crush = Decimal(law.height) - Decimal(g)
        m = Decimal(law.exponent)
        return Decimal(law.stiffness) * crush ** (m + 1) / (m + 1) if crush > 0 else Decimal(0)

    work = stored * (Decimal(gap) - Decimal(before))
    # a − g is rounded once: relative to the largest pressure met
    met = Decimal(law.stiffness) * max(Decimal(law.height) - Decimal(min(gap, before)), Decimal(0)) ** Decimal(
        law.exponent
    )
    assert (
        abs(work + energy(gap) - energy(before))
        <= Decimal("2e-14") * met * (abs(Decimal(gap) - Decimal(before)) + Decimal("1e-19")) + Decimal("1e-18") * met
    )


@given(LAWS, GAPS, GAPS, st.sampled_from([0.0, 0.5, 0.8, 1.0]))
def test_pure_on_a_foreign_trial(law: Asperities, before: float, gap: float, theta: float) -> None:
    """Two evaluations with a foreign trial between give the same bits, and the committed history is untouched."""
    coefficients, history, trial = law.coefficients(), np.array([before]), np.zeros(1)
    kernel = law.kernel()
    first = kernel(coefficients, history, gap, 1e-6, theta, trial)
    remembered = trial.copy()
    kernel(coefficients, history, 0.3 * gap - 1e-4, 1e-6, theta, trial)
    assert kernel(coefficients, history, gap, 1e-6, theta, trial) == first
    assert history[0] == before
    assert trial[0] == remembered[0] == gap
    assert (coefficients == law.coefficients()).all()


@given(LAWS, st.lists(GAPS, min_size=2, max_size=20), st.sampled_from([0.0, 0.5, 1.0]))
def test_damping_never_gives_energy(law: Asperities, path: list[float], theta: float) -> None:
    for before, gap in pairwise(path):
        (stored, _, loss, _), _ = call(law, before, gap, theta=theta)
        assert -loss * (gap - before) >= 0.0
        assert stored >= 0.0
        assert stored + loss >= 0.0
        if law.damping_acts == "loading":
            assert loss >= 0.0


@given(LAWS, GAPS, st.floats(-100.0, 100.0))
def test_pointwise_damping(law: Asperities, gap: float, rate: float) -> None:
    """c ⟨a − g⟩^m' ⟨−ġ⟩ in loading; both ways never a pull; the kernel tends to it for a short step."""
    g, r = np.array([gap]), np.array([rate])
    damping = law.damping_pressure(g, r)[0]
    crush = law.height - gap
    full = -law.damping * crush**law.damping_exponent * rate if crush > 0.0 else 0.0
    expected = max(full, 0.0) if law.damping_acts == "loading" else max(full, -law.pressure(g)[0])
    assert damping == pytest.approx(expected, rel=1e-14, abs=0.0)
    if abs(crush) > 1e-6 and abs(rate) > 1e-3:
        (stored, _, loss, _), _ = call(law, gap, gap + 1e-10 * rate, step=1e-10)
        assert stored == pytest.approx(law.pressure(g)[0], rel=1e-1, abs=1e-30)
        assert loss == pytest.approx(expected, rel=1e-1, abs=1e-30)


@given(st.floats(-2e-4, 4.9e-4), st.floats(-2e-4, 4.9e-4), st.floats(0.0, 1.0))
def test_theta_mix_of_a_linear_law(before: float, gap: float, theta: float) -> None:
    law = Asperities(1e12, 1.0, 5e-4)
    between = (1.0 - theta) * before + theta * gap
    assert call(law, before, gap, theta=theta)[0][0] == pytest.approx(1e12 * (5e-4 - between), rel=1e-12)


def test_theta_ends() -> None:
    """θ = 1 takes the pressure at the end of the step, θ = 0 at its beginning, whatever the exponent."""
    law = Asperities(5e15, 2.0, 5e-4)
    assert call(law, 3e-4, 1e-4, theta=1.0)[0][0] == pytest.approx(5e15 * 16e-8, rel=1e-14)
    assert call(law, 3e-4, 1e-4, theta=0.0)[0][0] == pytest.approx(5e15 * 4e-8, rel=1e-14)


@given(GAPS, GAPS)
def test_penalty_is_a_linear_layer_of_no_height(before: float, gap: float) -> None:
    law = Penalty(1e13)
    mean = quad(lambda s: 1e13 * max(-(before + s * (gap - before)), 0.0), 0.0, 1.0, points=_zero(before, gap))[0]
    assert call(law, before, gap)[0] == (
        pytest.approx(mean, rel=1e-9, abs=1e-3), call(law, before, gap)[0][1], 0.0, 0.0,
    )  # fmt: skip


def _zero(before: float, gap: float) -> list[float] | None:
    return [before / (before - gap)] if before * gap < 0.0 else None


def test_static_step_has_no_damping() -> None:
    law = Asperities(1e12, 1.0, 5e-4, damping=2e7)
    trial = np.zeros(1)
    out = power_law(law.coefficients(), np.array([3e-4]), 1e-4, np.inf, 1.0, trial)
    assert out[0] == pytest.approx(4e8)
    assert out[2] == 0.0


@given(LAWS)
def test_stiffness_bound(law: Asperities) -> None:
    gaps = np.linspace(0.0, 6e-4, 400)
    tangent = -np.diff(law.pressure(gaps)) / np.diff(gaps)
    assert tangent.max() <= law.stiffness_bound() * (1.0 + 1e-9)
    assert tangent.max() >= 0.98 * law.stiffness_bound()


def test_protocols_tell_laws_apart() -> None:
    for law in (Asperities(1e12), Penalty(1e12)):
        assert isinstance(law, RegularLaw)
        assert not isinstance(law, SetValuedLaw)
    for other in (Unilateral(), VelocityPenalty(1e9)):
        assert isinstance(other, SetValuedLaw)
        assert not isinstance(other, RegularLaw)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Asperities(-1.0), "stiffness"),
        (lambda: Asperities(1.0, 0.5), "exponent"),
        (lambda: Asperities(1.0, 1.0, -1e-4), "height"),
        (lambda: Asperities(1.0, 1.0, 1e-4, -1.0), "damping"),
        (lambda: Asperities(1.0, 1.0, 1e-4, 1.0, -0.5), "damping_exponent"),
        (lambda: Asperities(1.0, damping_acts="unloading"), "damping_acts"),  # type: ignore[arg-type]
        (lambda: Asperities(float("nan")), "stiffness"),
        (lambda: Penalty(0.0), "stiffness"),
        (lambda: VelocityPenalty(float("inf")), "viscosity"),
        (lambda: Unilateral(level="speed"), "level"),  # type: ignore[arg-type]
        (lambda: RigidPlane((0.0, 0.0), (0.0, 0.0)), "normal"),
        (lambda: RigidPlane((0.0, 0.0), 1.0), "normal"),
        (lambda: RigidPlane(float("nan"), 1.0), "point"),
    ],
)
def test_bad_constants_are_named(make, word: str) -> None:
    with pytest.raises(UserError, match=word) as error:
        make()
    assert "\n" not in str(error.value)


def test_plane_gap() -> None:
    plane = RigidPlane((0.1, 0.0), (-2.0, 0.0))
    assert plane.gap(np.array([[0.07, 5.0], [0.12, -1.0]])) == pytest.approx([0.03, -0.02])


def test_interface_errors() -> None:
    from arlequin.models import mesh
    from arlequin.models.fem.bar import Bar
    from arlequin.models.fem.solid import Solid
    from arlequin.models.materials.elastic import LinearElastic

    bar = Bar("bar", mesh.interval(0.0, 1.0, cells=2), LinearElastic(1.0))
    block = Solid("block", mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(1, 1)), LinearElastic(1.0), plane="strain")
    wall = RigidPlane(1.0, -1.0)
    end = bar.boundary("right")
    cases = [
        (lambda: Interface("i", end, wall, ()), "at least one"),
        (lambda: Interface("i", end, wall, [Unilateral(), Unilateral("gap")]), "at most one"),
        (lambda: Interface("i", end, wall, "hard"), "not a law"),  # type: ignore[arg-type]
        (lambda: Interface("i", block.boundary("right"), wall, Unilateral()), "the obstacle is 1D, part 'block' 2D"),
        (lambda: Interface("i", end, end, Unilateral()), "nodes in common"),
        (lambda: Interface("i", block.boundary("right"), block.boundary("top"), Unilateral()), "nodes in common"),
        (lambda: Interface("i", end, wall, Unilateral(), friction=0.2), "Coulomb"),  # type: ignore[arg-type]
        (lambda: Interface("i", end, wall, Unilateral(), friction=Coulomb(0.2)), "friction"),
        (lambda: Interface("i", end, wall, Unilateral(), multiplier="P3"), "P0, P1, P2"),  # type: ignore[arg-type]
        (lambda: Interface("i", end, wall, Unilateral(), sliding="far"), "large, small"),  # type: ignore[arg-type]
        (lambda: Coulomb(-0.1), "friction coefficient = -0.1"),
        (lambda: Interface("", end, wall, Unilateral()), "name"),
    ]
    for make, words in cases:
        with pytest.raises(UserError, match=words) as error:
            make()
        assert "\n" not in str(error.value)
