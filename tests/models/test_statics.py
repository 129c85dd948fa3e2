"""Manufactured solutions in statics: order of the L2 error for every element type and kind of part."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import skfem
from scipy.sparse.linalg import spsolve

from arlequin.models import mesh
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic

MATERIAL = LinearElastic(young=3.0, poisson=0.3, density=1.0)
LAME = (3.0 * 0.3 / (1.3 * 0.4), 3.0 / 2.6)
LAME_STRESS = (3.0 * 0.3 / (1 - 0.09), 3.0 / 2.6)


@dataclass
class Wave:
    """u = A sin(k·x + 0.3), closed form of its body force −div σ and of its traction on the face x = 1."""

    lame: tuple[float, float]
    amplitude: np.ndarray
    wave: np.ndarray

    def __call__(self, x):
        return np.multiply.outer(self.amplitude, np.sin(np.tensordot(self.wave, x, 1) + 0.3))

    def body_force(self, x, t):
        lam, mu = self.lame
        a, k = self.amplitude, self.wave
        vector = (lam + mu) * k * (a @ k) + mu * (k @ k) * a
        return np.multiply.outer(vector, np.sin(np.tensordot(k, x, 1) + 0.3))

    def traction(self, x, t):
        lam, mu = self.lame
        a, k = self.amplitude, self.wave
        stress = lam * (a @ k) * np.eye(len(k)) + mu * (np.outer(a, k) + np.outer(k, a))
        return np.multiply.outer(stress[:, 0], np.cos(np.tensordot(k, x, 1) + 0.3))


class Axisymmetric:
    """u_r = a r² sin z, u_z = b r² cos z, and its body force and traction on r = 1 by hand."""

    a, b = 1.0, 0.7

    def __init__(self, lame):
        self.lame = lame

    def __call__(self, x):
        r, z = x
        return np.array([self.a * r**2 * np.sin(z), self.b * r**2 * np.cos(z)])

    def body_force(self, x, t):
        (r, z), (lam, mu), a, b = x, self.lame, self.a, self.b
        s, c = np.sin(z), np.cos(z)
        radial = lam * (3 * a * s - 2 * b * r * s) + 4 * mu * a * s - mu * (a * r**2 + 2 * b * r) * s + 2 * mu * a * s
        axial = lam * (3 * a * r - b * r**2) * c - 2 * mu * b * r**2 * c + mu * (3 * a * r + 4 * b) * c
        return np.array([-radial, -axial])

    def traction(self, x, t):
        (r, z), (lam, mu), a, b = x, self.lame, self.a, self.b
        trace = (3 * a * r - b * r**2) * np.sin(z)
        return np.array([lam * trace + 4 * mu * a * r * np.sin(z), mu * (a * r**2 + 2 * b * r) * np.cos(z)])


def distorted(plain):
    """A smooth displacement of the inner nodes, nothing on the unit box's sides."""
    x = plain.doflocs.copy()
    bump = np.prod(np.sin(np.pi * x), axis=0)
    for axis in range(x.shape[0]):
        x[axis] += (-1) ** axis * 0.08 * bump
    return replace(plain, doflocs=x)


def l2_error(part, u, exact):
    """L2 norm of u − exact with a rule of higher order than the part's own."""
    basis = skfem.CellBasis(part.mesh, part.basis.elem, intorder=8)
    x = np.asarray(basis.global_coordinates())
    square = 0.0
    for i in range(part.components):
        square += (np.asarray(basis.interpolate(np.ascontiguousarray(u[i :: part.components]))) - exact(x)[i]) ** 2
    return np.sqrt((square * basis.dx).sum())


def solve(part, exact):
    """Static solution; the exact displacement on all sides but `right`, which carries the exact traction."""
    assembled = part.assemble()
    nodes = np.unique(np.concatenate([part.boundary(b).nodes for b in part.mesh.boundaries if b != "right"]))
    dofs = (nodes[:, None] * part.components + np.arange(part.components)).ravel()
    free = np.setdiff1d(np.arange(part.dof_count), dofs)
    u = np.zeros(part.dof_count)
    u[dofs] = exact(part.positions.T).T.ravel()[dofs]
    K = assembled.stiffness
    u[free] = spsolve(K[free][:, free].tocsc(), (assembled.load(0.0) - K @ u)[free])
    return u


def order_of(build, exact, sizes):
    errors = []
    for n in sizes:
        part = build(n, {"body_force": exact.body_force, "tractions": {"right": exact.traction}})
        errors.append(l2_error(part, solve(part, exact), exact))
    return np.log(errors[0] / errors[1]) / np.log(sizes[1] / sizes[0])


def required(order):
    return 1.9 if order == 1 else 2.8


PLANE_WAVE = (np.array([1.0, -0.6]), np.array([1.7, 1.1]))


@pytest.mark.parametrize("order", [1, 2])
def test_bar(order):
    exact = Wave((0.0, 1.5), np.array([1.0]), np.array([2.0]))
    found = order_of(
        lambda n, loads: Bar("bar", mesh.interval(0, 1, cells=n), MATERIAL, order=order, section=0.3, **loads),
        exact,
        (16, 32),
    )
    assert found >= required(order)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["tri", "quad"])
@pytest.mark.parametrize("plane", ["strain", "stress", "axisymmetric"])
def test_two_dimensions(plane, kind, order):
    lame = LAME_STRESS if plane == "stress" else LAME
    exact = Axisymmetric(lame) if plane == "axisymmetric" else Wave(lame, *PLANE_WAVE)
    thickness = {} if plane == "axisymmetric" else {"thickness": 0.02}

    def build(n, loads):
        plain = distorted(mesh.rectangle((0, 1), (0, 1), cells=(n, n), kind=kind))
        return Solid("solid", plain, MATERIAL, plane=plane, order=order, **thickness, **loads)

    assert order_of(build, exact, (10, 20) if order == 1 else (6, 12)) >= required(order)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["tet", "hex"])
def test_three_dimensions(kind, order):
    exact = Wave(LAME, np.array([1.0, -0.6, 0.4]), np.array([1.2, 0.8, -0.9]))

    def build(n, loads):
        plain = distorted(mesh.box((0, 1), (0, 1), (0, 1), cells=(n, n, n), kind=kind))
        return Solid("solid", plain, MATERIAL, order=order, **loads)

    sizes = (5, 10) if order == 1 else ((2, 4) if kind == "hex" else (3, 6))
    assert order_of(build, exact, sizes) >= required(order)


@pytest.mark.parametrize("curved", [skfem.MeshTri2, skfem.MeshQuad2])
def test_curved_cells(curved):
    """Second-order geometry: inner sides of the cells are curved."""
    exact = Wave(LAME, *PLANE_WAVE)
    kind = "tri" if curved is skfem.MeshTri2 else "quad"

    def build(n, loads):
        plain = mesh.rectangle((0, 1), (0, 1), cells=(n, n), kind=kind)
        plain = replace(distorted(curved.from_mesh(plain)), _boundaries=plain.boundaries)
        part = Solid("solid", plain, MATERIAL, plane="strain", **loads)
        assert part.order == 2
        return part

    assert order_of(build, exact, (6, 12)) >= 2.8


@pytest.mark.slow
@pytest.mark.parametrize("curved", [skfem.MeshTet2, skfem.MeshHex2])
def test_curved_cells_in_space(curved):
    exact = Wave(LAME, np.array([1.0, -0.6, 0.4]), np.array([1.2, 0.8, -0.9]))
    kind = "tet" if curved is skfem.MeshTet2 else "hex"

    def build(n, loads):
        plain = mesh.box((0, 1), (0, 1), (0, 1), cells=(n, n, n), kind=kind)
        plain = replace(distorted(curved.from_mesh(plain)), _boundaries=plain.boundaries)
        return Solid("solid", plain, MATERIAL, **loads)

    assert order_of(build, exact, (3, 6)) >= 2.8
