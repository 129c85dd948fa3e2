"""Solids of a `PointMaterial` against the compiled laws, their conservation properties and their errors."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.materials.point import CompiledLaw, PointMaterial, PointResponse

I = np.eye(3)  # noqa: E741


@dataclass(frozen=True)
class Hooke:
    """σ = λ tr ε 1 + 2μ ε, written as a point material."""

    young: float
    poisson: float
    density: float

    kinematics = ("small",)
    dissipates = False
    variables = ()
    recorded = {}  # noqa: RUF012

    @property
    def linear(self):
        return aq.LinearElastic(self.young, self.poisson, self.density)

    def respond(self, gradient, memory, step, tangent):
        lam, mu = self.linear.lame()
        strain = 0.5 * (gradient + np.swapaxes(gradient, 1, 2))
        stress = lam * np.trace(strain, axis1=1, axis2=2)[:, None, None] * I + 2 * mu * strain
        stored = 0.5 * (stress * strain).sum((1, 2))
        moduli = None
        if tangent:
            one = lam * np.einsum("ij,kl->ijkl", I, I)
            one = one + mu * (np.einsum("ik,jl->ijkl", I, I) + np.einsum("il,jk->ijkl", I, I))
            moduli = np.broadcast_to(one, (len(stress), 3, 3, 3, 3))
        return PointResponse(stress, memory, stored, np.zeros(len(stress)), moduli)


@dataclass(frozen=True)
class Rubber(Hooke):
    """ψ = ½ μ (J^(−2/3) tr b − 3) + ½ K (ln J)², from its first Piola–Kirchhoff stress, tangent by differences."""

    kinematics = ("finite",)

    def stress(self, F):
        linear = self.linear
        bulk = self.young / (3 * (1 - 2 * self.poisson))
        J = np.linalg.det(F)[:, None, None]
        inverse = np.swapaxes(np.linalg.inv(F), 1, 2)
        square = (F * F).sum((1, 2))[:, None, None]
        return linear.shear * J ** (-2 / 3) * (F - square / 3 * inverse) + bulk * np.log(J) * inverse

    def respond(self, gradient, memory, step, tangent):
        F = gradient + I
        J = np.linalg.det(F)
        bulk = self.young / (3 * (1 - 2 * self.poisson))
        stored = 0.5 * self.linear.shear * (J ** (-2 / 3) * (F * F).sum((1, 2)) - 3) + 0.5 * bulk * np.log(J) ** 2
        moduli = None
        if tangent:
            moduli = np.empty((len(F), 3, 3, 3, 3))
            for k in range(3):
                for m in range(3):
                    change = 1e-6 * np.outer(I[k], I[m])
                    moduli[..., k, m] = (self.stress(F + change) - self.stress(F - change)) / 2e-6
        return PointResponse(self.stress(F), memory, stored, np.zeros(len(F)), moduli)


SHAPES = {
    "quad": (aq.mesh.rectangle((0.2, 1.0), (0.0, 1.0), cells=(3, 2)), "strain"),
    "tri": (aq.mesh.rectangle((0.2, 1.0), (0.0, 1.0), cells=(3, 2), kind="tri"), "strain"),
    "axisymmetric": (aq.mesh.rectangle((0.2, 1.0), (0.0, 1.0), cells=(3, 2)), "axisymmetric"),
    "hex": (aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(2, 2, 2)), None),
}


def solid(shape, material, **given):
    mesh, plane = SHAPES[shape]
    return aq.Solid("block", mesh, material, plane=plane, **given)


def displaced(part, size, seed=0):
    return size * np.random.default_rng(seed).uniform(-1.0, 1.0, part.dof_count)


def test_which_protocol_a_material_has():
    laws = aq.LinearElastic(1.0), aq.NeoHooke(1.0), aq.J2(1.0, 0.3, 1.0, 1.0), Hooke(1.0, 0.3, 1.0)
    assert [isinstance(law, CompiledLaw) for law in laws] == [False, True, True, False]
    assert [isinstance(law, PointMaterial) for law in laws] == [False, False, False, True]


@pytest.mark.parametrize("shape", SHAPES)
def test_small_strains_are_those_of_linear_elasticity(shape):
    """Force, energy, tangent and stress of Hooke's law are those of the linear part."""
    values = 2e9, 0.3, 1000.0
    part, known = solid(shape, Hooke(*values)), solid(shape, aq.LinearElastic(*values))
    own, other = part.assemble(), known.assemble()
    u = displaced(part, 1e-3)
    force, energy = own.internal(u)
    expected, stored = other.internal(u)
    np.testing.assert_allclose(force, expected, atol=1e-12 * np.abs(expected).max())
    assert energy == pytest.approx(stored, rel=1e-12)
    tangent = own.tangent(u, own.fresh(), 0.0)
    assert abs(tangent - other.stiffness).max() < 1e-12 * abs(other.stiffness).max()
    np.testing.assert_allclose(part.stress(u), known.stress(u), atol=1e-12 * np.abs(known.stress(u)).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_finite_strains_are_those_of_the_compiled_law(shape):
    values = 2e9, 0.3, 1000.0
    part = solid(shape, Rubber(*values), kinematics="finite")
    known = solid(shape, aq.NeoHooke(*values), kinematics="finite", volumetric="points")
    own, other = part.assemble(), known.assemble()
    u, u0 = displaced(part, 0.05), displaced(part, 0.05, 1)
    force, energy = own.internal(u)
    expected, stored = other.internal(u)
    np.testing.assert_allclose(force, expected, atol=1e-12 * np.abs(expected).max())
    assert energy == pytest.approx(stored, rel=1e-11)
    tangents = [a.tangent(u, a.fresh(), 0.0) for a in (own, other)]
    assert abs(tangents[0] - tangents[1]).max() < 1e-7 * abs(tangents[1]).max()
    np.testing.assert_allclose(part.stress(u), known.stress(u), atol=1e-11 * np.abs(known.stress(u)).max())
    mean, inverted = own.mean_internal(u0, u, own.fresh(), 1.0, 1.0)
    assert inverted == -1
    assert not np.allclose(mean, expected)  # F_½ S₁, not F₁ S₁


@pytest.mark.parametrize("theta", [0.5, 0.8])
def test_mean_tangent_is_the_symmetric_derivative(theta):
    part = solid("hex", Rubber(2e9, 0.3, 1000.0), kinematics="finite")
    own = part.assemble()
    u0, u1, way = displaced(part, 0.03), displaced(part, 0.03, 1), displaced(part, 1.0, 2)
    other = displaced(part, 1.0, 3)
    matrix, h = own.mean_tangent(u0, u1, own.fresh(), 1.0, theta), 1e-6

    def change(direction):
        ends = [own.mean_internal(u0, u1 + s * h * direction, own.fresh(), 1.0, theta)[0] for s in (1, -1)]
        return (ends[0] - ends[1]) / (2 * h)

    expected = 0.5 * (other @ change(way) + way @ change(other))
    assert other @ (matrix @ way) == pytest.approx(expected, rel=1e-6)
    assert abs(matrix - matrix.T).max() < 1e-12 * abs(matrix).max()


def test_mean_force_has_no_resultant_and_no_moment():
    part = solid("hex", Rubber(2e9, 0.3, 1000.0), kinematics="finite")
    own = part.assemble()
    u0, u1 = displaced(part, 0.03), displaced(part, 0.03, 1)
    force = own.mean_internal(u0, u1, own.fresh(), 1.0)[0].reshape(-1, 3)
    middle = part.positions + 0.5 * (u0 + u1).reshape(-1, 3)
    size = np.abs(force).max()
    assert np.abs(force.sum(axis=0)).max() < 1e-12 * size
    assert np.abs(np.cross(middle, force).sum(axis=0)).max() < 1e-12 * size


@pytest.mark.slow
def test_a_spinning_block_keeps_its_energy_and_momentum():
    mesh = aq.mesh.rectangle((-0.5, 0.5), (-0.5, 0.5), cells=(3, 3))
    part = aq.Solid("block", mesh, Rubber(2e6, 0.3, 1000.0), plane="strain", kinematics="finite")
    spin = lambda x: 20.0 * np.stack([-x[:, 1], x[:, 0]], axis=1)  # noqa: E731
    result = aq.simulate(aq.System([part], velocity=spin), aq.Theta(0.5), duration=0.1, step=1e-3)
    mass = part.assemble().mass
    ends = result["part/block"].isel(frame=[0, -1])
    moments = []
    for u, v in zip(ends["displacement"].values, ends["velocity"].values, strict=True):
        momentum = (mass @ v.ravel()).reshape(-1, 2)
        x = part.positions + u
        moments.append((x[:, 0] * momentum[:, 1] - x[:, 1] * momentum[:, 0]).sum())
    assert moments[1] == pytest.approx(moments[0], rel=1e-10)
    assert abs(result["balance"]).max() < 1e-9
    energy = result["energy"]
    assert abs(energy.sel(kind="scheme")).max() < 1e-3 * float(energy.sel(kind="kinetic")[0])


def test_explicit_steps_are_those_of_the_linear_part():
    values = 2e9, 0.3, 1000.0
    results = []
    for law in (Hooke(*values), aq.LinearElastic(*values)):
        part = solid("quad", law, mass="lumped", tractions={"right": lambda x, t: (1e6 + 0 * x[0], 0 * x[0])})
        result = aq.simulate(aq.System([part]), aq.CentralDifference(), duration=2e-3, step=2e-5)
        results.append(result["part/block"]["displacement"].isel(frame=-1).values)
    np.testing.assert_allclose(results[0], results[1], atol=1e-10 * np.abs(results[1]).max())


@dataclass(frozen=True)
class Wrong(Hooke):
    """Returns a stress of three components."""

    def respond(self, gradient, memory, step, tangent):
        return replace(super().respond(gradient, memory, step, tangent), stress=np.zeros((len(gradient), 3)))


@dataclass(frozen=True)
class Remembering(Hooke):
    """One internal variable, which dissipates nothing but is said to."""

    dissipates = True
    variables = ("damage",)


def test_errors():
    with pytest.raises(aq.UserError, match=r"Wrong.respond: stress of shape \(24, 3\), expected \(24, 3, 3\)"):
        solid("quad", Wrong(1e9, 0.3, 1.0)).assemble().internal(np.zeros(24))
    with pytest.raises(aq.UserError, match="kinematics = 'finite': must be \"small\" with Hooke"):
        solid("quad", Hooke(1e9, 0.3, 1.0), kinematics="finite")
    with pytest.raises(
        aq.UserError, match="volumetric = 'mean': is for NeoHooke, J2 and LinearElastic of small strains"
    ):
        solid("quad", Hooke(1e9, 0.3, 1.0), volumetric="mean")
    mesh = SHAPES["quad"][0]
    with pytest.raises(aq.UserError, match="plane = 'stress': must be strain or axisymmetric with Hooke"):
        aq.Solid("block", mesh, Hooke(1e9, 0.3, 1.0), plane="stress")
    with pytest.raises(aq.UserError, match="the stress of Remembering depends on internal variables"):
        solid("quad", Remembering(1e9, 0.3, 1.0)).stress(np.zeros(24))
    part = solid("quad", Rubber(1e9, 0.3, 1.0), kinematics="finite")
    own, inside_out = part.assemble(), (-2.0 * part.positions * [1.0, 0.0]).ravel()
    assert own.respond(inside_out, own.fresh(), 0.0).inverted == 0
    assert own.mean_internal(0 * inside_out, inside_out, own.fresh(), 1.0)[1] == 0
    for call in (part.stress, lambda u: own.stress(u, own.fresh())):
        with pytest.raises(aq.UserError, match="inside out"):
            call(inside_out)
    with pytest.raises(aq.UserError, match="there is no tangent"):
        own.mean_tangent(0 * inside_out, inside_out, own.fresh(), 1.0)
