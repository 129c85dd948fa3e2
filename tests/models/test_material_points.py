"""Material points: objectivity, tangents, closed forms, work, and the rate equations solved by SciPy."""

from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm, logm
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from arlequin.models.errors import UserError
from arlequin.models.materials import _point_kernels as kernels
from arlequin.models.materials.hyperelastic import NeoHooke
from arlequin.models.materials.plastic import J2, AdiabaticHeat, JohnsonCook, LinearHardening, Voce

pytestmark = pytest.mark.kernels

# units of order one: the shear modulus is 1
YOUNG, POISSON = 2.5, 0.25
HEAT = AdiabaticHeat(melting=1800.0, capacity=1e-4, reference=300.0, exponent=1.1)
HARDENINGS = {
    "perfect": (),
    "linear": LinearHardening(0.2),
    "voce": Voce(0.1, 5.0),
    "power": JohnsonCook(0.2, 0.3),
    "sum": (LinearHardening(0.1), Voce(0.1, 5.0), HEAT),
    "johnson-cook": JohnsonCook(0.2, 0.3, 0.05, 0.1, HEAT),
}
METALS = {name: J2(YOUNG, POISSON, 1.0, 0.1, hardening) for name, hardening in HARDENINGS.items()}
RUBBER = NeoHooke(YOUNG, POISSON)
KINDS = [("neo-hooke", RUBBER, RUBBER.kind)]
KINDS += [(f"finite {name}", metal, metal.kind) for name, metal in METALS.items()]
KINDS += [(f"small {name}", metal, metal.small_kind) for name, metal in METALS.items()]
ALL = pytest.mark.parametrize(("material", "kind"), [k[1:] for k in KINDS], ids=[k[0].replace(" ", "-") for k in KINDS])
LARGE = pytest.mark.parametrize(
    ("material", "kind"),
    [k[1:] for k in KINDS if "small" not in k[0]],
    ids=[k[0] for k in KINDS if "small" not in k[0]],
)
METAL = pytest.mark.parametrize("metal", list(METALS.values()), ids=list(METALS))
AXES = pytest.mark.parametrize("axes", [2, 3])
STEP = 0.1
TRIES = 200 if numba.config.DISABLE_JIT else 20_000
EYE = np.eye(3)


def respond(material, kind, H, before=None, axes=3, step=STEP):
    """(τ_dev, memory of the end, ψ_iso)."""
    before = np.zeros(9) if before is None else before
    kept, tau, after = before.copy(), np.full((3, 3), np.nan), np.full(9, np.nan)
    energy = kernels.respond(kind, axes, np.ascontiguousarray(H), before, step, material.coefficients, tau, after)
    assert (before == kept).all()
    return tau, after, energy


def follow(material, kind, path, axes=3, step=STEP):
    """The answer at the end of a path of gradients H, from rest."""
    before, tau, energy = np.zeros(9), np.zeros((3, 3)), 0.0
    for H in path:
        tau, before, energy = respond(material, kind, H, before, axes, step)
    return tau, before, energy


def gradients(axes, size, count, seed=0):
    H = size * np.random.default_rng(seed).uniform(-1, 1, (count, 3, 3))
    if axes == 2:
        H[:, :2, 2] = H[:, 2, :2] = 0.0
    return H


def tensor(memory):
    xx, yy, zz, yz, xz, xy = memory[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def equivalent(tau):
    return np.sqrt(1.5 * (tau * tau).sum())


def deviator(a):
    return a - np.trace(a) / 3 * EYE


def yield_stress(metal, alpha, rate, rise):
    """The formula of the yield stress, term by term."""
    strain, faster, soft = metal.yield_stress, 1.0, 1.0
    for law in metal.hardenings:
        if isinstance(law, LinearHardening):
            strain = strain + law.modulus * alpha
        if isinstance(law, Voce):
            strain = strain + law.saturation * (1 - np.exp(-law.rate * alpha))
        if isinstance(law, JohnsonCook):
            strain = strain + law.modulus * alpha**law.exponent
            faster = 1 + law.rate * np.log(np.maximum(rate / law.reference_rate, 1.0))
        heat = law if isinstance(law, AdiabaticHeat) else getattr(law, "heat", None)
        if heat is not None:
            T = (heat.reference if heat.initial is None else heat.initial) + rise
            soft = 1 - np.clip((T - heat.reference) / (heat.melting - heat.reference), 0, 1) ** heat.exponent
    return strain * faster * soft


def heating(metal):
    """χ/(ρ c), K·m³/J."""
    for law in metal.hardenings:
        heat = law if isinstance(law, AdiabaticHeat) else getattr(law, "heat", None)
        if heat is not None:
            return heat.fraction / (metal.density * heat.capacity)
    return 0.0


@pytest.mark.sampled(7)
@AXES
@LARGE
def test_objectivity(material, kind, axes):
    """τ(QF) = Q τ Qᵀ, with the memory and the energy of F."""
    turn = Rotation.from_rotvec([0, 0, 2.1]) if axes == 2 else Rotation.random(random_state=3)
    Q = turn.as_matrix()
    for first, second in zip(gradients(axes, 0.3, 5), gradients(axes, 0.3, 5, seed=1), strict=True):
        _, before, _ = respond(material, kind, first, axes=axes)
        tau, after, energy = respond(material, kind, second, before, axes)
        turned, same, equal = respond(material, kind, Q @ (EYE + second) - EYE, before, axes)
        np.testing.assert_allclose(turned, Q @ tau @ Q.T, rtol=0, atol=1e-12 * abs(tau).max())
        np.testing.assert_allclose(same, after, rtol=1e-12, atol=1e-12)
        assert equal == pytest.approx(energy, rel=1e-12)


@pytest.mark.sampled(7)
@ALL
def test_two_axes_are_three(material, kind):
    """The law of two axes and a third is that of three."""
    for first, second in zip(gradients(2, 0.3, 5), gradients(2, 0.3, 5, seed=1), strict=True):
        flat, solid = (follow(material, kind, (first, second), axes) for axes in (2, 3))
        for a, b in zip(flat, solid, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.sampled(7)
@AXES
@ALL
def test_what_was_written_is_not_read(material, kind, axes):
    """Bit by bit the same, with a foreign state between."""
    first, second = gradients(axes, 0.3, 2)
    _, before, _ = respond(material, kind, first, axes=axes)
    once = respond(material, kind, second, before, axes)
    respond(material, kind, first, axes=axes)
    again = respond(material, kind, second, before, axes)
    assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))


SPECIAL = [
    np.zeros((3, 3)),
    0.2 * EYE,
    np.diag([0.3, -0.1, -0.1]),
    np.diag([-0.2, -0.2, 0.2]),
    np.diag([0.3, 0.1, 0.2]),
]
SPECIAL += [Rotation.from_rotvec([0, 0, 0.7]).as_matrix() @ np.diag([1.2, 1.2 + 1e-8, 0.9]) - EYE]


@pytest.mark.sampled(7)
@AXES
@ALL
def test_tangent(material, kind, axes):
    """c against central differences of τ, elastic and plastic, also where eigenvalues are equal."""
    small = kind == getattr(material, "small_kind", None)
    states = [(np.zeros(9), H) for H in SPECIAL]
    for first, second in zip(gradients(axes, 0.3, 4), gradients(axes, 0.3, 4, seed=1), strict=True):
        _, before, _ = respond(material, kind, first, axes=axes)
        unloaded = 0.9 * first
        states += [(before, second), (before, unloaded), (np.zeros(9), 1e-3 * second)]
    inside = [(i, j) for i in range(3) for j in range(3) if axes == 3 or (i == 2) == (j == 2)]
    flowing = 0
    for before, H in states:
        tau, after, c = np.empty((3, 3)), np.empty(9), np.full((3, 3, 3, 3), np.nan)
        energy = kernels.linearise(kind, axes, H, before, STEP, material.coefficients, tau, after, c)
        same = respond(material, kind, H, before, axes)
        assert np.array_equal(tau, same[0]) and np.array_equal(after, same[1]) and energy == same[2]
        flowing += after[6] > before[6]
        for k, l in inside:  # noqa: E741
            h = np.zeros((3, 3))
            h[k, l] = 1e-5
            move = h if small else h @ (EYE + H)
            up, down = (respond(material, kind, H + s * move, before, axes)[0] for s in (1, -1))
            difference = (up - down) / 2e-5
            for i, j in inside:
                assert c[i, j, k, l] == pytest.approx(difference[i, j], abs=1e-6)
    assert kind == RUBBER.kind or 0 < flowing < len(states)


def test_the_tangent_of_small_strains_is_symmetric():
    (H,) = gradients(3, 0.3, 1)
    c, metal = np.empty((3, 3, 3, 3)), METALS["johnson-cook"]
    kernels.linearise(metal.small_kind, 3, H, np.zeros(9), STEP, metal.coefficients, np.empty((3, 3)), np.empty(9), c)
    np.testing.assert_allclose(c, c.transpose(2, 3, 0, 1), atol=1e-15)
    np.testing.assert_allclose(c, c.transpose(1, 0, 2, 3), atol=1e-15)


def test_neo_hooke():
    """Closed forms: isochoric tension, simple shear, and tension with a change of volume; small strains exactly."""
    mu, stretch, shear = RUBBER.shear, 1.7, 0.8
    tau, _, energy = respond(RUBBER, RUBBER.kind, np.diag([stretch, stretch**-0.5, stretch**-0.5]) - EYE)
    assert tau[0, 0] == pytest.approx(2 / 3 * mu * (stretch**2 - 1 / stretch), rel=1e-14)
    assert energy == pytest.approx(mu / 2 * (stretch**2 + 2 / stretch - 3), rel=1e-14)
    H = np.zeros((3, 3))
    H[0, 1] = shear
    tau, _, energy = respond(RUBBER, RUBBER.kind, H)
    assert tau[0, 1] == pytest.approx(mu * shear, rel=1e-14)
    assert tau[0, 0] - tau[1, 1] == pytest.approx(mu * shear**2, rel=1e-14)
    assert energy == pytest.approx(mu / 2 * shear**2, rel=1e-14)
    tau, _, energy = respond(RUBBER, RUBBER.kind, np.diag([stretch - 1, 0, 0]))
    assert tau[0, 0] == pytest.approx(2 / 3 * mu * stretch ** (-2 / 3) * (stretch**2 - 1), rel=1e-14)
    assert energy == pytest.approx(mu / 2 * (stretch ** (-2 / 3) * (stretch**2 + 2) - 3), rel=1e-14)
    (H,) = gradients(3, 1e-9, 1)
    strain = deviator(H + H.T) / 2
    tau, _, energy = respond(RUBBER, RUBBER.kind, H)
    np.testing.assert_allclose(tau, 2 * mu * strain, atol=2e-17)
    assert energy == pytest.approx(mu * (strain**2).sum(), rel=1e-7)


@LARGE
def test_stress_is_the_derivative_of_the_energy(material, kind):
    """∂ψ/∂F:(h F) = τ:h of an elastic answer, after flow; Hencky's energy and stress by the logarithm of SciPy."""
    for first, h in zip(gradients(3, 0.3, 4), gradients(3, 1.0, 4, seed=1), strict=True):
        _, before, _ = respond(material, kind, first)
        at = 0.93 * first
        tau, after, energy = respond(material, kind, at, before)
        assert after[6] == before[6]
        up, down = (respond(material, kind, at + s * h @ (EYE + at), before)[2] for s in (1e-5, -1e-5))
        assert (up - down) / 2e-5 == pytest.approx((tau * h).sum(), abs=1e-9)
        if kind != RUBBER.kind:
            strain = deviator(logm((EYE + at) @ (EYE + tensor(before)) @ (EYE + at).T)) / 2
            np.testing.assert_allclose(tau, 2 * material.shear * strain, atol=1e-14)
            assert energy == pytest.approx(material.shear * (strain**2).sum(), rel=1e-12)


@METAL
def test_flow_keeps_the_volume_and_the_split(metal):
    """det C_p⁻¹ = 1, and b_e = F C_p⁻¹ Fᵀ of the end bears the stress."""
    for first, second in zip(gradients(3, 0.4, 5), gradients(3, 0.4, 5, seed=1), strict=True):
        tau, after, _ = follow(metal, metal.kind, (first, second))
        inverse = EYE + tensor(after)
        assert np.linalg.det(inverse) == pytest.approx(1, abs=1e-13)
        strain = deviator(logm((EYE + second) @ inverse @ (EYE + second).T)) / 2
        np.testing.assert_allclose(tau, 2 * metal.shear * strain, atol=1e-14)


@pytest.mark.parametrize("name", ["perfect", "linear", "voce", "power"])
@pytest.mark.parametrize("count", [1, 7])
def test_isochoric_tension(name, count):
    """F = diag(eᵗ, e^(−t/2), e^(−t/2)), turned: q = 3μ (t − α) = σ_y(α), in any number of steps; ½ ln C_p⁻¹ = −α.

    The plastic work is ∫ σ_y dα.
    """
    metal, t, Q = METALS[name], 0.9, Rotation.random(random_state=5).as_matrix()
    path = [Q @ np.diag(np.exp(s * np.array([1, -0.5, -0.5]))) @ Q.T - EYE for s in t * np.arange(1, count + 1) / count]
    tau, memory, _ = follow(metal, metal.kind, path)
    alpha = brentq(lambda a: 3 * metal.shear * (t - a) - yield_stress(metal, a, 0, 0), 0, t, xtol=1e-15)
    axial = yield_stress(metal, alpha, 0, 0) * 2 / 3
    np.testing.assert_allclose(Q.T @ tau @ Q, np.diag([axial, -axial / 2, -axial / 2]), atol=1e-14)
    assert memory[6] == pytest.approx(alpha, rel=1e-13)
    plastic = np.diag(np.exp(-2 * alpha * np.array([1, -0.5, -0.5])))
    np.testing.assert_allclose(Q.T @ (EYE + tensor(memory)) @ Q, plastic, atol=2e-14)
    assert memory[8] == pytest.approx(
        quad(lambda a: yield_stress(metal, a, 0, 0), 0, alpha, epsabs=0, epsrel=1e-13)[0], rel=1e-13
    )


@pytest.mark.parametrize("finite", [False, True], ids=["small", "finite"])
def test_heat_and_rate(finite):
    """Tension at a steady rate: T = T_0 + χ/(ρ c) w, q = σ_y of the end, and order 2 to dT/dα = χ/(ρ c) σ_y(α, T)."""
    heat = AdiabaticHeat(1800.0, 5e-4, reference=300.0, exponent=0.9, initial=500.0)
    metal = J2(YOUNG, POISSON, 1.0, 0.1, JohnsonCook(0.2, 0.3, 0.05, 0.1, heat))
    rate, errors = 2.0, []
    direction = np.diag([1, -0.5, -0.5])
    for count in (8, 16, 32):
        path = [s * direction for s in np.linspace(0, 0.8, count + 1)[1:]]
        path = [expm(e) - EYE for e in path] if finite else path
        step = 0.8 / count / rate
        before = np.zeros(9)
        for H in path:
            tau, after, _ = respond(metal, metal.kind if finite else metal.small_kind, H, before, step=step)
            stress = yield_stress(metal, after[6], (after[6] - before[6]) / step, after[7])
            assert after[6] == before[6] or equivalent(tau) == pytest.approx(stress, rel=1e-12)
            assert after[7] == pytest.approx(heating(metal) * after[8], rel=1e-13)
            before = after

        # the rate of flow of each step is that of the run: the heat alone is integrated here
        flow, work, rise = np.zeros(9), 0.0, 0.0
        for H in path:
            _, after, _ = respond(metal, metal.kind if finite else metal.small_kind, H, flow, step=step)
            speed = (after[6] - flow[6]) / step
            exact = solve_ivp(
                lambda a, w, speed=speed: yield_stress(metal, a, speed, heating(metal) * w),
                (flow[6], after[6]), [work], rtol=1e-11, atol=1e-13,
            )  # fmt: skip
            work, rise, flow = exact.y[0, -1], heating(metal) * exact.y[0, -1], after
        errors.append(abs(rise - before[7]))
    assert rise > 100
    assert errors[0] / errors[1] > 3 and errors[1] / errors[2] > 3


@METAL
def test_unloading_is_elastic(metal):
    """The stress falls by 2μ of the strain, the memory stays, bit by bit, and so does the way back."""
    H = gradients(3, 0.2, 1)[0]
    tau, memory, _ = respond(metal, metal.small_kind, H)
    back = 0.15 * deviator(H + H.T) / 2
    less, after, _ = respond(metal, metal.small_kind, H - back, memory)
    assert np.array_equal(after, memory)
    np.testing.assert_allclose(tau - less, 2 * metal.shear * back, atol=1e-16)
    tau, memory, _ = respond(metal, metal.kind, H)
    _, after, _ = respond(metal, metal.kind, (EYE - back) @ (EYE + H) - EYE, memory)
    assert np.array_equal(after, memory)


@pytest.mark.parametrize("name", ["perfect", "linear", "sum"])
@AXES
def test_small_strains_are_the_limit_of_large(name, axes):
    """Along a path whose strains and yield stress are of a size, the laws differ by its square, down to 1e-6."""

    def difference(size):
        weak = replace(METALS[name], yield_stress=0.5 * size)
        path = gradients(axes, size, 6)
        small, large = (follow(weak, kind, path, axes) for kind in (weak.small_kind, weak.kind))
        assert small[1][6] > size
        stress, plastic = abs(large[0] - small[0]).max(), abs(large[1][:6] + 2 * small[1][:6]).max()
        return np.array([stress, plastic, abs(large[1][6] - small[1][6])])

    coarse, fine, finest = (difference(size) / size**2 for size in (1e-4, 1e-5, 1e-6))
    np.testing.assert_allclose(fine, coarse, rtol=2e-2)
    np.testing.assert_allclose(finest, fine, rtol=2e-2)


def order_one(errors):
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert ((ratios > 1.8) & (ratios < 2.3)).all(), ratios


def test_rate_equations_of_small_strains():
    """A path that turns from tension to shear: α̇ = 3μ s:ė/(q (3μ + σ_y′)), ε̇_p = (3/2) α̇ s/q, by SciPy."""
    metal = J2(YOUNG, POISSON, 1.0, 0.1, (LinearHardening(0.1), Voce(0.1, 5.0)))
    mu, first = metal.shear, 0.1 / (3 * METALS["linear"].shear)
    tension, shear = np.diag([1, -0.5, -0.5]), np.array([[0, 1.0, 0], [1, 0, 0], [0, 0, 0]])

    def strain(t):
        return (first + 0.3 * np.sin(t)) * tension + 0.3 * (1 - np.cos(t)) * shear

    def rates(t, y):
        speed = 0.3 * np.cos(t) * tension + 0.3 * np.sin(t) * shear
        s, alpha = 2 * mu * (strain(t) - y[:9].reshape(3, 3)), y[9]
        q = equivalent(s)
        slope = 0.1 + 0.5 * np.exp(-5 * alpha)
        flow = 3 * mu * (s * speed).sum() / (q * (3 * mu + slope))
        return np.append(1.5 * flow * s / q, flow)

    end = np.pi / 2
    exact = solve_ivp(rates, (0, end), np.zeros(10), rtol=1e-10, atol=1e-12).y[:, -1]
    stress = 2 * mu * (strain(end) - exact[:9].reshape(3, 3))
    errors = []
    for count in (20, 40, 80, 160):
        tau, memory, _ = follow(metal, metal.small_kind, [strain(t) for t in np.linspace(0, end, count + 1)])
        errors.append(abs(tau - stress).max())
        assert memory[6] == pytest.approx(exact[9], rel=2 / count)
    order_one(errors)


@pytest.mark.sampled(1)
@AXES
def test_rate_equations_of_large_strains(axes):
    """Simple shear to γ = 2, whose axes turn: F Ċ_p⁻¹ Fᵀ = −3 α̇ (s/q) b_e, α̇ = 3μ s:d/(q (3μ + σ_y′)), by SciPy."""
    metal = METALS["linear"]
    mu, slip = metal.shear, np.zeros((3, 3))
    slip[0, 1] = 1.0

    def stress(shear, inverse):
        return mu * deviator(np.real(logm((EYE + shear * slip) @ inverse @ (EYE + shear * slip).T)))

    first = brentq(lambda g: equivalent(stress(g, EYE)) - metal.yield_stress, 0, 1, xtol=1e-15)

    def rates(shear, y):
        inverse, F = y[:9].reshape(3, 3), EYE + shear * slip
        s = stress(shear, inverse)
        q = equivalent(s)
        flow = 3 * mu * (s * slip).sum() / (q * (3 * mu + 0.2))
        back = np.linalg.inv(F)
        return np.append(-3 * flow / q * back @ s @ F @ inverse, flow)

    exact = solve_ivp(rates, (first, 2), np.append(EYE.ravel(), 0.0), rtol=1e-9, atol=1e-11).y[:, -1]
    errors, strains = [], []
    for count in (25, 50, 100, 200):
        tau, memory, _ = follow(metal, metal.kind, [g * slip for g in np.linspace(first, 2, count + 1)], axes)
        errors.append(abs(tau - stress(2, exact[:9].reshape(3, 3))).max())
        strains.append(abs(memory[6] - exact[9]))
    order_one(errors)
    order_one(strains)


def test_spectral():
    """Eigenvalues and vectors of symmetric matrices of trace 0, equal and near-equal eigenvalues included."""
    random = np.random.default_rng(0)
    for turn in Rotation.random(200, random_state=1):
        a, gap = random.uniform(-1, 1), 10.0 ** random.integers(-17, 0) * random.integers(0, 2)
        values = np.array([a, a + gap, -2 * a - gap]) * 10.0 ** random.integers(-12, 6)
        for Q in (turn.as_matrix(), EYE, EYE[[2, 0, 1]]):
            A = Q @ np.diag(values) @ Q.T
            A = deviator((A + A.T) / 2)
            found, *vectors = kernels._spectral(A[0, 0], A[1, 1], A[2, 2], A[1, 2], A[0, 2], A[0, 1])
            V, size = np.array(vectors).T, abs(values).max()
            np.testing.assert_allclose(V.T @ V, EYE, atol=2e-15)
            np.testing.assert_allclose(V @ np.diag(found) @ V.T, A, rtol=0, atol=3e-15 * size)
            np.testing.assert_allclose(np.sort(found), np.sort(values), rtol=0, atol=3e-15 * size)


@pytest.mark.parametrize("size", [0.5, 1e-3, 1e-9])
def test_the_volumetric_energy(size):
    """J − 1 to round-off of the strain; U, U′ and U″ by differences of ½ K (ln J)²."""
    (H,) = gradients(3, size, 1)
    change = kernels.volume_change(H)
    exact = np.trace(H) + (np.trace(H) ** 2 - np.trace(H @ H)) / 2 + np.linalg.det(H)
    assert change == pytest.approx(exact, rel=1e-14)
    U, slope, curvature = kernels.volumetric(3.0, change)
    J = 1 + change
    assert pytest.approx(1.5 * np.log1p(change) ** 2, rel=1e-14) == U
    up, down = (1.5 * np.log(J + s) ** 2 for s in (1e-4, -1e-4))
    assert slope == pytest.approx((up - down) / 2e-4, abs=1e-6)
    assert curvature == pytest.approx((up - 2 * 1.5 * np.log(J) ** 2 + down) / 1e-8, abs=1e-5)


# metals in SI units
STEELS = {
    "perfect": (),
    "linear": LinearHardening(2e9),
    "voce": Voce(3e8, 20.0),
    "johnson-cook": JohnsonCook(5.1e8, 0.26, 0.014, 1.0, AdiabaticHeat(1793.0, 477.0, exponent=1.03)),
    "root": JohnsonCook(1e9, 0.05, 0.3, 1e-3, AdiabaticHeat(900.0, 100.0, exponent=0.4, fraction=1.0)),
    "all": (LinearHardening(1e8), Voce(3e8, 20.0), JohnsonCook(5e8, 2.0, 0.1, 1.0, AdiabaticHeat(1300.0, 400.0))),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "tries"),
    [(name, TRIES if TRIES < 1000 else TRIES // 5) for name in STEELS]
    + [pytest.param(name, TRIES, marks=pytest.mark.slow) for name in STEELS],
)
def test_the_return_does_not_fail(name, tries):
    """Random states, far from any solution: q = σ_y to 1e-12 of it, in the bracket, with the heat of its work."""
    metal = J2(2e11, 0.3, 7800.0, 4e8, STEELS[name])
    m, random, count = metal.coefficients, np.random.default_rng(7), tries
    norm = 10 ** random.uniform(-8, 1, count)
    alpha = random.uniform(0, 10, count) * (random.uniform(0, 1, count) > 0.2)
    alpha *= 10 ** random.uniform(-6, 0, count)
    rise = random.uniform(0, 2000, count) if heating(metal) else np.zeros(count)
    step = 10 ** random.uniform(-10, 2, count)
    guess = random.uniform(0, 1, count) * (random.uniform(0, 1, count) > 0.5)
    flowing = 0
    for e, a, T, dt, g in zip(norm, alpha, rise, step, guess, strict=True):
        h, _, work = kernels._strength(m, a)
        soft = kernels._softening(m, T)[0] if heating(metal) else 1.0
        trial, stiffness = np.sqrt(6) * metal.shear * e, 3 * metal.shear
        if trial <= h * soft:
            continue
        flowing += 1
        first = h * soft + g * (trial - h * soft)
        q, x, _, after, done = kernels._flow(m, trial, stiffness, first, dt, a, work, T, soft)
        stress = yield_stress(metal, a + x, x / dt, after)
        cold = yield_stress(metal, a + x, x / dt, -300.0)
        assert abs(q - stress) <= 1e-12 * stress + 4e-16 * cold  # T* near 1 has the round-off of 1
        assert 0 <= q <= trial and q + stiffness * x == pytest.approx(trial, rel=1e-15) and done >= 0
        assert after == pytest.approx(T + heating(metal) * done, rel=1e-12)
    assert flowing > count / 3


@pytest.mark.sampled(7)
@AXES
@ALL
def test_large_random_states(material, kind, axes):
    """Strains of 1 and beyond make finite numbers."""
    for H in gradients(axes, 1.5, 300):
        if np.linalg.det(EYE + H) <= 1e-3:
            continue
        tau, after, energy = respond(material, kind, H, axes=axes)
        assert np.isfinite(tau).all() and np.isfinite(after).all() and energy >= 0


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("line", "make"),
    [
        ("young", lambda: NeoHooke(-1.0)),
        ("poisson", lambda: J2(1.0, 0.5, 1.0, 1.0)),
        ("yield_stress", lambda: J2(1.0, 0.3, 1.0, 0.0)),
        ("modulus", lambda: LinearHardening(-1.0)),
        ("saturation", lambda: Voce(-1.0, 1.0)),
        ("rate", lambda: Voce(1.0, 0.0)),
        ("exponent", lambda: JohnsonCook(1.0, 0.0)),
        ("reference_rate", lambda: JohnsonCook(1.0, 0.3, 0.1, 0.0)),
        ("heat", lambda: JohnsonCook(1.0, 0.3, 0.1, 1.0, 1793.0)),
        ("melting", lambda: AdiabaticHeat(200.0, 500.0)),
        ("fraction", lambda: AdiabaticHeat(2000.0, 500.0, fraction=1.1)),
        ("initial", lambda: AdiabaticHeat(2000.0, 500.0, initial=2000.0)),
        ("hardening", lambda: J2(1.0, 0.3, 1.0, 1.0, (Voce(1.0, 1.0), "linear"))),
        ("hardening", lambda: J2(1.0, 0.3, 1.0, 1.0, (Voce(1.0, 1.0), Voce(2.0, 1.0)))),
    ],
)
def test_bad_parameters(line, make):
    with pytest.raises(UserError, match=rf"^{line}\b"):
        make()
