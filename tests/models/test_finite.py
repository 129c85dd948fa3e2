"""Finite rotations: the St. Venant–Kirchhoff solid against its energy, closed forms and the conservation laws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.sparse.linalg import splu
from scipy.spatial.transform import Rotation

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.finite_strain import FiniteAssembled
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic, Rayleigh
from arlequin.models.part import Nonlinear, Weighting

# units of order one: forces and energies are compared with numbers of order one
SOFT = LinearElastic(young=2.0, poisson=0.3, density=1.5)
LAM, MU = SOFT.lame()
DAMPED = Rayleigh(mass=0.2, stiffness=0.7)


def distorted(plain):
    x = plain.doflocs.copy()
    inner = plain.interior_nodes()
    x[:, inner] += 0.06 * np.random.default_rng(4).uniform(-1, 1, (x.shape[0], inner.size))
    return replace(plain, doflocs=x)


def parts():
    options = {"kinematics": "finite", "damping": DAMPED}
    for order in (1, 2):
        for kind in ("tri", "quad"):
            plain = distorted(mesh.rectangle((0, 1), (0, 0.8), cells=(2, 3), kind=kind))
            for plane in ("strain", "stress", "axisymmetric"):
                thick = {} if plane == "axisymmetric" else {"thickness": 0.7}
                yield Solid(f"{plane} {kind} {order}", plain, SOFT, plane=plane, order=order, **options, **thick)
        for kind in ("tet", "hex"):
            plain = distorted(mesh.box((0, 1), (0, 1), (0, 0.9), cells=(2, 2, 2 if order == 1 else 1), kind=kind))
            yield Solid(f"{kind} {order}", plain, SOFT, order=order, **options)


ALL = pytest.mark.parametrize("part", list(parts()), ids=lambda part: part.name.replace(" ", "-"))
# the kernels do not know the order: without the compiler the small elements are enough
KERNELS = pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=pytest.mark.kernels if part.order == 1 else ()) for part in parts()],
    ids=lambda part: part.name.replace(" ", "-"),
)


def fields(part, count, size=0.3, seed=1):
    """Displacements that are far from small."""
    return size * np.random.default_rng(seed).uniform(-1, 1, (count, part.dof_count))


def turned(part, x, seed=0):
    """Positions (n, axis) turned by large angles, about the origin; along the axis nothing is left to turn."""
    if part.axisymmetric:
        return x
    if part.components == 2:
        c, s = np.cos(2.2), np.sin(2.2)
        return x @ np.array([[c, -s], [s, c]]).T
    return x @ Rotation.random(random_state=seed).as_matrix().T


def random_weights(part, seed=2):
    weight = np.random.default_rng(seed).uniform(0, 1, part.cells.dx.shape)
    weight[0] = 0.0
    return weight


def weighted(part, weight):
    return part.assemble(Weighting(stiffness=weight, mass=weight, load=weight))


def strains(part, u):
    """E (c, q, 3, 3) from the basis of scikit-fem; complex u are taken. In plane stress E_zz is left out."""
    u = np.reshape(u, (-1, part.components))
    size = part.components
    F = np.zeros((*part.basis.dx.shape, 3, 3), dtype=u.dtype) + np.eye(3)
    for n, function in enumerate(part.basis.basis):
        at = u[part.basis.element_dofs[n]]
        F[..., :size, :size] += np.einsum("ci,jcq->cqij", at, function[0].grad)
        if part.axisymmetric:
            r = part.basis.global_coordinates()[0]
            F[..., 2, 2] += at[:, None, 0] * np.asarray(function[0]) / np.asarray(r)
    return (np.einsum("cqki,cqkj->cqij", F, F) - np.eye(3)) / 2


def energy_by_hand(part, u, weight=1.0):
    """∫ ½λ(tr E)² + μ E:E over the part."""
    E = strains(part, u)
    lam = 2 * LAM * MU / (LAM + 2 * MU) if part.plane == "stress" else LAM
    density = lam / 2 * np.einsum("cqii->cq", E) ** 2 + MU * np.einsum("cqij,cqij->cq", E, E)
    return (density * weight * part.cells.dx).sum()


def derivative(function, x, w):
    """dfunction(x + s w)/ds at s = 0: exact, whatever the step, for polynomials of degree 4 at most."""
    near = function(x + w) - function(x - w)
    far = function(x + 2 * w) - function(x - 2 * w)
    return (8 * near - far) / 12


@pytest.mark.sampled(7)
@KERNELS
def test_energy_and_force(part):
    """The energy by hand, and the force as its derivative by complex steps, under weights that vary in the cells."""
    weight = random_weights(part)
    (u,) = fields(part, 1)
    force, energy = weighted(part, weight).internal(u)
    assert energy == pytest.approx(energy_by_hand(part, u, weight), rel=1e-13)
    for d in np.linspace(0, part.dof_count - 1, 12).astype(int):
        complex_u = u.astype(complex)
        complex_u[d] += 1e-30j
        assert force[d] == pytest.approx(energy_by_hand(part, complex_u, weight).imag / 1e-30, rel=1e-12, abs=1e-13)


@pytest.mark.sampled(7)
@KERNELS
def test_rigid_motions_make_no_force(part):
    """Turned by more than a right angle, far away too."""
    assembled = part.assemble()
    x = part.positions
    u = (turned(part, x) - x).ravel()
    force, energy = assembled.internal(u)
    assert np.abs(force).max() <= 1e-14 and energy <= 1e-28
    away = np.zeros_like(x)
    away[:, 1] = 64.0  # a power of two, which rounds nothing here
    force, energy = assembled.internal(away.ravel())
    assert not force.any() and energy == 0.0
    # nor in a step between two of them, though F_½ is no rotation
    assert np.abs(assembled.mean_internal(np.zeros_like(u), u)).max() <= 1e-14
    assert np.abs(assembled.mean_viscous(np.zeros_like(u), u, DAMPED.stiffness)).max() <= 1e-14


@pytest.mark.sampled(7)
@ALL
def test_forces_turn_with_the_part(part):
    if part.axisymmetric:
        return
    (u,) = fields(part, 1)
    force, energy = part.assemble().internal(u)
    x = part.positions
    moved = turned(part, x + u.reshape(x.shape)) + 3.0
    other, same = part.assemble().internal((moved - x).ravel())
    assert same == pytest.approx(energy, rel=1e-12)
    assert np.abs(other - turned(part, force.reshape(x.shape)).ravel()).max() <= 1e-13 * np.abs(force).max()


@pytest.mark.sampled(7)
@KERNELS
def test_tangent(part):
    """The derivative of the force (a cubic: the five-point rule is exact), symmetric, on the pattern of K."""
    assembled = weighted(part, random_weights(part))
    u, w = fields(part, 2)
    K = assembled.tangent(u)
    expected = derivative(lambda v: assembled.internal(v)[0], u, w)
    assert np.abs(K @ w - expected).max() <= 1e-13 * max(1.0, np.abs(expected).max())
    assert abs(K - K.T).max() <= 1e-15 * abs(K).max() * 4
    assert np.array_equal(K.indices, assembled.stiffness.indices)
    assert np.array_equal(K.indptr, assembled.stiffness.indptr)
    at_rest = assembled.tangent(np.zeros_like(u))
    assert abs(at_rest - assembled.stiffness).max() <= 1e-14 * abs(at_rest).max()


@pytest.mark.sampled(7)
@KERNELS
def test_mean_force(part):
    """It does the work of the change of energy exactly, and tends to the force of equal ends."""
    assembled = weighted(part, random_weights(part))
    u0, u1 = fields(part, 2)
    force = assembled.mean_internal(u0, u1)
    e0, e1 = (assembled.internal(u)[1] for u in (u0, u1))
    assert abs(force @ (u1 - u0) - (e1 - e0)) <= 1e-14 * max(e0, e1)
    assert np.array_equal(assembled.mean_internal(u0, u0), assembled.internal(u0)[0])
    viscous = assembled.mean_viscous(u0, u1, 0.1)
    change = strains(part, u1) - strains(part, u0)
    lam = part.lame[0]
    rate = lam * np.einsum("cqii->cq", change) ** 2 + 2 * MU * np.einsum("cqij,cqij->cq", change, change)
    dissipated = DAMPED.stiffness / 0.1 * (rate * random_weights(part) * part.cells.dx).sum()
    assert viscous @ (u1 - u0) == pytest.approx(dissipated, rel=1e-12) and dissipated > 0


@pytest.mark.sampled(7)
@KERNELS
def test_volumes(part):
    """det F by hand at every point, and below zero where the part is turned inside out."""
    (u,) = fields(part, 1, size=0.01)
    E = strains(part, u)[..., : part.components, : part.components]
    ratio = np.sqrt(np.linalg.det(2 * E + np.eye(part.components)))
    if part.axisymmetric:
        ratio = ratio * np.sqrt(1 + 2 * strains(part, u)[..., 2, 2])
    assembled = part.assemble()
    assert assembled.least_volume(u)[0] == pytest.approx(ratio.min(), rel=1e-12)
    flipped = part.positions * ([0.0] * (part.components - 1) + [-1.5])
    assert assembled.least_volume(flipped.ravel())[0] == pytest.approx(-0.5, rel=1e-12)
    # mean forces of other θ take more
    u0, u1 = fields(part, 2)
    more = (assembled.mean_internal(u0, u1, 0.8) - assembled.mean_internal(u0, u1)) @ (u1 - u0)
    change = strains(part, u1) - strains(part, u0)
    rate = part.lame[0] * np.einsum("cqii->cq", change) ** 2 + 2 * MU * np.einsum("cqij,cqij->cq", change, change)
    assert more == pytest.approx(0.3 * (rate * part.cells.dx).sum(), rel=1e-11)


@pytest.mark.sampled(7)
@ALL
def test_momenta_of_the_mean_forces(part):
    """No resultant, and no moment about the mean positions; on an axis only along it."""
    assembled = weighted(part, random_weights(part))
    u0, u1 = fields(part, 2)
    x = part.positions + ((u0 + u1) / 2).reshape(part.positions.shape)
    for force in (assembled.mean_internal(u0, u1), assembled.mean_viscous(u0, u1, 1.0)):
        f = force.reshape(x.shape)
        size = np.abs(f).max()
        assert np.abs(f.sum(axis=0)[1 if part.axisymmetric else 0 :]).max() <= 1e-14 * size
        if not part.axisymmetric:
            moment = np.einsum("ni,nj->ij", x, f)
            assert np.abs(moment - moment.T).max() <= 2e-14 * size


@pytest.mark.sampled(7)
@KERNELS
def test_mean_tangent(part):
    """The derivative of both mean forces by the end of the step (a cubic too), and its symmetric approximation."""
    assembled = weighted(part, random_weights(part))
    u0, u1, w = fields(part, 3)
    step = 0.3
    elastic = derivative(lambda v: assembled.mean_internal(u0, v), u1, w)
    viscous = derivative(lambda v: assembled.mean_viscous(u0, v, step), u1, w)
    exact = assembled.mean_tangent(u0, u1)
    assert np.abs(exact @ w - elastic).max() <= 1e-13 * max(1.0, np.abs(elastic).max())
    both = assembled.mean_tangent(u0, u1, step)
    assert np.abs(both @ w - elastic - viscous).max() <= 1e-13 * max(1.0, np.abs(elastic + viscous).max())
    assert np.array_equal(both.indices, assembled.stiffness.indices)
    # not symmetric, the approximation is, and they meet where the step has no strain and no rotation
    near = assembled.mean_tangent(u0, u1, symmetric=True)
    assert abs(exact - exact.T).max() > 1e-3
    assert abs(near - near.T).max() <= 1e-14 * abs(near).max()
    same = assembled.mean_tangent(u0, u0, symmetric=True)
    assert abs(same - assembled.tangent(u0) / 2).max() <= 1e-14 * abs(same).max()
    assert abs(same - assembled.mean_tangent(u0, u0)).max() <= 1e-14 * abs(same).max()


@pytest.mark.sampled(7)
@ALL
def test_small_strains(part):
    """Force, energy and stress are the linear ones to first order; the viscous force is b K v."""
    finite, linear = part.assemble(), replace(part, kinematics="small").assemble()
    (w,) = fields(part, 1, size=1.0)
    errors = []
    for size in (1e-4, 1e-5):
        (force, energy), (expected, stored) = finite.internal(size * w), linear.internal(size * w)
        viscous = finite.mean_viscous(np.zeros_like(w), size * w, 0.5)
        rayleigh = DAMPED.stiffness * (linear.stiffness @ (size * w / 0.5))
        stress = replace(part, kinematics="small").stress(size * w)
        pairs = [(force, expected), (viscous, rayleigh), (part.stress(size * w), stress), (energy, stored)]
        errors.append([np.abs(a - b).max() / np.abs(b).max() for a, b in pairs])
    ratio = np.array(errors[0]) / errors[1]
    assert np.array(errors[1]).max() < 1e-3 and np.all((ratio > 9) & (ratio < 11))
    for name in ("mass", "stiffness"):
        assert abs(getattr(finite, name) - getattr(linear, name)).max() == 0
    assert abs(finite.damping - DAMPED.mass * finite.mass).max() == 0
    assert replace(part, damping=None).assemble().damping is None
    assert np.array_equal(finite.load(0.0), linear.load(0.0))
    assert finite.highest_frequency() == linear.highest_frequency()


@pytest.mark.sampled(7)
@ALL
def test_weights_of_a_junction(part):
    """Shares that sum to one sum to the whole part, in force, energy and tangents."""
    weight = random_weights(part)
    u0, u1 = fields(part, 2)
    whole = part.assemble()
    shares = [weighted(part, w) for w in (weight, 1 - weight)]
    quantities = [
        lambda a: a.internal(u1)[0],
        lambda a: a.internal(u1)[1],
        lambda a: a.mean_internal(u0, u1),
        lambda a: a.mean_viscous(u0, u1, 0.2),
        lambda a: a.tangent(u1).data,
        lambda a: a.mean_tangent(u0, u1, 0.2).data,
    ]
    for quantity in quantities:
        expected = quantity(whole)
        assert np.abs(sum(quantity(a) for a in shares) - expected).max() <= 1e-14 * np.abs(expected).max() * 2


def homogeneous(part, stretch):
    """The displacement of a stretch, (x or r, y or z, z)."""
    return (part.positions * (np.array(stretch[: part.components]) - 1)).ravel()


@pytest.mark.sampled(7)
@ALL
def test_uniaxial_stretch(part):
    """Pulled along its last axis and free across: S = E_Y·½(s² − 1), P = s S, σ = s S/s⊥², s⊥² = 1 − ν(s² − 1)."""
    last = part.components - 1
    for s in (1.6, 0.8):
        green, nu = (s**2 - 1) / 2, SOFT.poisson
        if part.plane == "strain":
            nu = nu / (1 - nu)
        across = np.sqrt(1 - 2 * nu * green)
        young = SOFT.young / (1 - SOFT.poisson**2) if part.plane == "strain" else SOFT.young
        u = homogeneous(part, [across] * last + [s])
        force, energy = part.assemble().internal(u)
        assert energy == pytest.approx(young * green**2 / 2 * part.cells.dx.sum(), rel=1e-12)
        top = part.boundary("top" if last == 1 else "front")
        f = force.reshape(-1, part.components)
        assert f[top.nodes, last].sum() == pytest.approx(s * young * green * top.areas.sum(), rel=1e-12)
        assert np.abs(f[top.nodes, last] - s * young * green * top.areas).max() <= 1e-13
        assert np.abs(np.delete(f, last, axis=1)).max() <= 1e-13
        names = part.stress_components
        area = across if part.plane == "strain" else across**2
        expected = dict.fromkeys(names, 0.0) | {names[last]: s * young * green / area}
        if part.plane == "strain":
            expected["zz"] = SOFT.poisson * young * green / (across * s)  # S_zz = ν S
        sigma = part.stress(u)
        assert np.abs(sigma - [expected[name] for name in names]).max() <= 1e-13
        if not part.axisymmetric:  # the Cauchy stress turns with the part: traces and their squares stay
            x = part.positions
            again = part.stress((turned(part, x + u.reshape(x.shape)) - x).ravel())
            normal = [k for k, name in enumerate(names) if name[0] == name[1]]
            shear = [k for k, name in enumerate(names) if name[0] != name[1]]
            for stress in (sigma, again):
                stress[..., shear] *= np.sqrt(2)
            assert np.abs(again[..., normal].sum(-1) - sigma[..., normal].sum(-1)).max() <= 1e-13
            squares = (sigma**2).sum(-1)
            assert np.abs((again**2).sum(-1) - squares).max() <= 1e-13 * squares.max()


@pytest.mark.sampled(7)
@ALL
def test_newton_finds_the_stretched_bar(part):
    """Ends given, sides free: quadratic convergence to the homogeneous solution of the test above."""
    last, s = part.components - 1, 1.4
    nu = SOFT.poisson / (1 - SOFT.poisson) if part.plane == "strain" else SOFT.poisson
    exact = homogeneous(part, [np.sqrt(1 - nu * (s**2 - 1))] * last + [s])
    ends = [part.boundary(name) for name in (("bottom", "top") if last == 1 else ("back", "front"))]
    x = part.positions
    held = {dof for end in ends for dof in end.dofs[:, last]}
    # and what holds the part across: the axis, or the node at the origin and a second one on the side at x = 0
    held |= {dof for dof in range(part.dof_count) if x.flat[dof] == 0.0}
    held = np.array(sorted(held))
    free = np.setdiff1d(np.arange(part.dof_count), held)
    assembled = part.assemble()
    u = homogeneous(part, [1.0] * last + [s])
    residuals = []
    for _ in range(8):
        force, _ = assembled.internal(u)
        residuals.append(np.abs(force[free]).max())
        u[free] -= splu(assembled.tangent(u)[free][:, free].tocsc()).solve(force[free])
    assert np.abs(u - exact).max() <= 1e-12
    assert residuals[-1] <= 1e-14 and residuals[4] <= 1e-6


def elastica(load):
    """Shortening and deflection of the tip of a cantilever of unit length and EI under a transverse force."""

    def bent(s, y):  # θ, κ, ∫cos θ, ∫sin θ
        return np.array([y[1], -load * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])])

    s = np.linspace(0, 1, 40)
    found = solve_bvp(bent, lambda a, b: np.array([a[0], b[1], a[2], a[3]]), s, np.stack([s, 1 - s, s, s]), tol=1e-8)
    return 1 - found.y[2, -1], found.y[3, -1]


def test_a_cantilever_bent_over_is_the_elastica():
    """A slender cantilever that turns by 1.43 rad at its tip, to the (h/L)² of its strains (h/L = 1/200)."""
    thin = 1 / 200
    young = 12 / thin**3
    plate = mesh.rectangle((0, 1), (0, thin), cells=(120, 1))
    part = Solid("plate", plate, LinearElastic(young, 0.0), plane="stress", order=2, kinematics="finite")
    a, u = part.assemble(), np.zeros(part.dof_count)
    free = np.setdiff1d(np.arange(part.dof_count), part.boundary("left").dofs)
    tip = part.boundary("right")
    pull = np.zeros((part.node_count, 2))
    for load in np.linspace(0.5, 10, 20):
        pull[tip.nodes, 1] = load * tip.areas / tip.areas.sum()
        for _ in range(30):
            missing = (pull.ravel() - a.internal(u)[0])[free]
            if np.abs(missing).max() <= 1e-7 * load:
                break
            u[free] += splu(a.tangent(u)[free][:, free].tocsc()).solve(missing)
        else:
            raise AssertionError("no convergence")
    shortening, deflection = elastica(10.0)
    assert (shortening, deflection) == pytest.approx((0.55500, 0.81061), abs=1e-5)  # Mattiasson, IJNME 17, 1981
    found = u.reshape(-1, 2)[tip.nodes].mean(axis=0)
    assert found == pytest.approx([-shortening, deflection], rel=1e-4)


def spin(part, count, step, symmetric=False, tolerance=1e-13):
    """Energy–momentum steps of a free part thrown in a spin while stretched; the histories and the iterations."""
    a = part.assemble()
    x = part.positions
    size = x.shape[1]
    u = (0.2 * x * np.arange(1, size + 1) / size).ravel()
    rates = np.zeros((size, size))
    rates[0, 1], rates[1, 0] = -2.0, 2.0
    v = ((x + u.reshape(x.shape)) @ rates.T + 0.3).ravel()
    M = a.mass
    rows, iterations = [], 0
    dissipated = 0.0
    for n in range(count + 1):
        p = (M @ v).reshape(x.shape)
        moment = (x + u.reshape(x.shape)).T @ p
        energy = 0.5 * v @ (M @ v) + a.internal(u)[1]
        rows.append([energy + dissipated, *p.sum(axis=0), *(moment - moment.T)[np.triu_indices(size, 1)]])
        if n == count:
            break
        end = u + step * v
        for _ in range(60):
            viscous = a.mean_viscous(u, end, step)
            force = M @ (2 / step * ((end - u) / step - v)) + a.mean_internal(u, end) + viscous
            if np.abs(force).max() <= tolerance:
                break
            K = a.mean_tangent(u, end, step, symmetric=symmetric)
            end = end - splu((2 / step**2 * M + K).tocsc()).solve(force)
            iterations += 1
        else:
            raise AssertionError("no convergence")
        dissipated += viscous @ (end - u)
        u, v = end, 2 * (end - u) / step - v
    return np.array(rows), iterations / count, dissipated


@pytest.mark.sampled(4)
@pytest.mark.parametrize("damping", [None, Rayleigh(stiffness=0.05)], ids=["elastic", "viscous"])
@pytest.mark.parametrize("name", ["strain quad 1", "stress tri 2", "hex 1"])
def test_energy_and_momenta_of_a_spinning_part(name, damping):
    """The steps built on the mean forces keep energy (and what the viscosity takes) and both momenta."""
    part = replace(next(p for p in parts() if p.name == name), damping=damping)
    rows, iterations, dissipated = spin(part, count=20, step=0.25)
    assert np.abs(rows - rows[0]).max() <= 1e-12 and iterations <= 6
    assert dissipated == 0.0 if damping is None else dissipated > 1e-3
    # the symmetric tangent finds the same steps, with more iterations: a step turns it by half a radian
    again, more, _ = spin(part, count=4, step=0.25, symmetric=True)
    assert np.abs(again - rows[:5]).max() <= 1e-12 and iterations < more <= 24


def test_the_contract_says_what_is_nonlinear():
    block = mesh.rectangle((0, 1), (0, 1), cells=(1, 1))
    finite = Solid("block", block, SOFT, plane="strain", kinematics="finite")
    assert isinstance(finite.assemble(), Nonlinear) and isinstance(finite.assemble(), FiniteAssembled)
    assert not isinstance(Solid("block", block, SOFT, plane="strain").assemble(), Nonlinear)


def test_bad_input_is_refused_in_a_line():
    block = mesh.rectangle((0, 1), (0, 1), cells=(1, 1))
    with pytest.raises(UserError, match=r"^kinematics = 'large': must be one of small, finite$"):
        Solid("block", block, SOFT, plane="strain", kinematics="large")
    part = Solid("block", block, SOFT, plane="strain", kinematics="finite")
    assembled, rest = part.assemble(), np.zeros(8)
    for call in (
        lambda u: assembled.internal(u),
        lambda u: assembled.tangent(u),
        lambda u: assembled.mean_internal(rest, u),
        lambda u: assembled.mean_viscous(u, rest, 0.1),
        lambda u: assembled.mean_tangent(rest, u),
    ):
        with pytest.raises(UserError, match=r"^displacement of shape \(7,\), expected \(8,\)$"):
            call(np.zeros(7))
    for step, rule in ((0.0, "positive"), (-1.0, "positive"), (np.nan, "finite"), (None, "a number")):
        with pytest.raises(UserError, match=rf"^step = .*: must be {rule}$"):
            assembled.mean_viscous(rest, rest, step)
    rest.setflags(write=False)  # what cannot be written can be read
    assert assembled.internal(rest)[1] == 0.0 and not assembled.mean_internal(rest, rest).any()
    with pytest.raises(UserError, match="weighting of shape"):
        part.assemble(Weighting.uniform(3, 4))
    with pytest.raises(UserError, match=r"^block: cell 0 is flat or turned inside out") as caught:
        part.stress((part.positions * [-2.0, 0.0]).ravel())
    assert caught.value.code == 1
