"""Linear elasticity with mean dilatation: against the kernels of small plastic strains, Lamé's tube of nearly
incompressible material, and eigenvalues."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
import scipy.linalg

import arlequin as aq
from arlequin.models.materials.plastic import MEMORY
from arlequin.models.part import Weighting

RUBBER: dict[str, Any] = {"young": 2e7, "poisson": 0.494, "density": 1100.0}
NEVER = 1e30  # yield stress, Pa


def distorted(shape: str) -> Any:
    """A mesh of cells without right angles."""
    rng = np.random.default_rng(3)
    if shape == "hex":
        mesh = aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(3, 2, 2))
    else:
        mesh = aq.mesh.rectangle((0.5, 1.5), (0.0, 1.0), cells=(4, 3))
    return replace(mesh, doflocs=mesh.p + 0.04 * rng.uniform(-1.0, 1.0, mesh.p.shape))


SHAPES: dict[str, dict[str, Any]] = {
    "hex": {}, "strain": {"plane": "strain", "thickness": 0.3}, "axisymmetric": {"plane": "axisymmetric"}
}  # fmt: skip


def pair(shape: str, **options: Any) -> tuple[aq.Solid, aq.Solid]:
    """A linear solid, and one of a metal that does not yield."""
    mesh = distorted(shape)
    laws = aq.LinearElastic(**RUBBER), aq.J2(**RUBBER, yield_stress=NEVER)
    first, second = (aq.Solid("a", mesh, law, volumetric="mean", **SHAPES[shape], **options) for law in laws)
    return first, second


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_law_of_a_metal_that_does_not_yield(shape: str) -> None:
    """Force, energy, stiffness and stress; under weights that are uniform in each cell (the mean is then the same)."""
    linear, metal = pair(shape)
    u = 1e-3 * np.random.default_rng(1).standard_normal(linear.dof_count)
    share = np.linspace(0.1, 1.0, linear.mesh.nelements)[:, None] + 0.0 * linear.cells.dx
    share[1] = 0.0
    first, second = (part.assemble(Weighting(share, share, share)) for part in (linear, metal))
    force, energy = first.internal(u)
    exact, exact_energy = second.internal(u)
    size = np.abs(exact).max()
    np.testing.assert_allclose(force, exact, rtol=0.0, atol=1e-13 * size)
    assert energy == pytest.approx(exact_energy, rel=1e-13)
    np.testing.assert_allclose(first.stiffness @ u, force, rtol=0.0, atol=1e-12 * size)
    each = np.zeros((2, u.size))
    energies = first.internal_each(np.stack([u, 2.0 * u]), each)  # type: ignore[attr-defined]
    np.testing.assert_allclose(each, np.stack([force, 2.0 * force]), rtol=0.0, atol=1e-13 * size)
    np.testing.assert_allclose(energies, [energy, 4.0 * energy], rtol=1e-13)
    stress = metal.stress(u, np.zeros((*metal.cells.dx.shape, MEMORY)))
    np.testing.assert_allclose(linear.stress(u), stress, rtol=0.0, atol=1e-13 * np.abs(stress).max())


@pytest.mark.parametrize("shape", ["hex", "strain"])
def test_no_force_in_a_translation_and_a_uniform_stress(shape: str) -> None:
    linear, _ = pair(shape)
    points = aq.Solid("b", linear.mesh, linear.material, **SHAPES[shape])
    slope = 1e-3 * np.random.default_rng(2).standard_normal((linear.components, linear.components))
    u = (linear.positions @ slope.T).ravel()
    force, exact = linear.assemble().internal(u)[0], points.assemble().internal(u)[0]
    np.testing.assert_allclose(force, exact, rtol=0.0, atol=1e-12 * np.abs(exact).max())
    assert not linear.assemble().internal(np.full(u.size, 0.7))[0].any()


def test_bound_of_the_frequency() -> None:
    """Above the largest of the part, and equal to that of a single cell."""
    for cells, most in ((3, 1.5), (1, 1.0 + 1e-6)):
        mesh = aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(cells, 1, 1))
        mesh = replace(mesh, doflocs=mesh.p + 0.1 * np.random.default_rng(3).uniform(-1.0, 1.0, mesh.p.shape))
        part = aq.Solid("block", mesh, aq.LinearElastic(**RUBBER), volumetric="mean", mass="lumped").assemble()
        largest = scipy.linalg.eigvalsh(part.stiffness.toarray(), part.mass.toarray())[-1] ** 0.5
        assert (1.0 - 1e-9) * largest <= part.highest_frequency() <= most * largest


def tube_error(volumetric: Literal["mean", "points"]) -> float:
    """Error of the inner radius's displacement of a tube of nearly incompressible rubber under internal pressure."""
    inner, outer, pressure = 1.0, 2.0, 1e4
    mesh = aq.mesh.rectangle((inner, outer), (0.0, 0.5 * np.pi), cells=(4, 8))
    r, angle = mesh.p
    names = mesh.boundaries
    mesh = replace(mesh, doflocs=np.stack([r * np.cos(angle), r * np.sin(angle)])).with_boundaries(names)
    tube = aq.Solid(
        "tube", mesh, aq.LinearElastic(**RUBBER), plane="strain", volumetric=volumetric,
        imposed={"bottom": {"y": 0.0}, "top": {"x": 0.0}},
        tractions={"left": lambda x, t: pressure * t * x / np.hypot(*x)},
    )  # fmt: skip
    result = aq.simulate(aq.System([tube]), aq.Static(), duration=1.0, step=1.0)
    node = int(np.argmin(np.linalg.norm(tube.positions - [inner, 0.0], axis=1)))
    computed = float(result["part/tube"].dataset["displacement"][-1, node, 0])
    young, nu = RUBBER["young"], RUBBER["poisson"]
    scale = pressure * inner**2 * (1 + nu) / (young * (outer**2 - inner**2))
    return abs(computed / (scale * ((1 - 2 * nu) * inner + outer**2 / inner)) - 1.0)  # Lamé, plane strain


def test_it_does_not_lock() -> None:
    assert tube_error("mean") < 0.02
    assert tube_error("points") > 0.05


@pytest.mark.parametrize("scheme", ["central", "central, contact", "theta", "newmark"])
def test_all_schemes_conserve_its_energy(scheme: str) -> None:
    """A plate that is released from a stretch, for 50 steps, and one that is not stepped by the metal's kernels."""
    mesh = aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(3, 3, 3))
    law = aq.LinearElastic(**RUBBER)
    block = aq.Solid("block", mesh, law, volumetric="mean", mass="lumped")
    stretch = lambda x: 1e-3 * x[:, [1, 2, 0]]  # noqa: E731
    contact = []
    if scheme == "central, contact":
        wall = aq.RigidPlane(point=(1.5, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
        contact = [aq.Interface("contact", block.boundary("right"), wall, aq.Unilateral())]
    system = aq.System([block], interfaces=contact, displacement=stretch)
    schemes = {"theta": aq.Theta(0.5), "newmark": aq.Newmark()}
    result = aq.simulate(system, schemes.get(scheme, aq.CentralDifference()), duration=5e-3, step=1e-4)
    energies = result.dataset["energy"]
    energy = energies.sel(kind=["kinetic", "strain"]).sum("kind").values
    assert float(np.abs(energy / energy[0] - 1.0).max()) < 1e-12
    assert float(energies.sel(kind="kinetic").max()) > 0.05 * energy[0]


@pytest.mark.parametrize("options", [{"plane": "stress"}, {"plane": "strain", "mass": "dispersion"}])
def test_misuses(options: dict[str, Any]) -> None:
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(1, 1))
    with pytest.raises(aq.UserError, match=r"volumetric = 'mean': must be points"):
        aq.Solid("block", mesh, aq.LinearElastic(**RUBBER), volumetric="mean", **options)
