"""Manufactured solutions in dynamics: order in h of the L2 error at the end, for every element type and kind of part.

The θ-scheme (θ = 1/2) is of order 2 in Δt, and Δt ~ h^((p + 1)/2) for elements of order p: one order, p + 1, for all.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import skfem

import arlequin as aq

DENSITY, POISSON, YOUNG = 1.3, 0.3, 3.0
MATERIAL = aq.LinearElastic(young=YOUNG, poisson=POISSON, density=DENSITY)
LAME = (YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON)), YOUNG / (2 * (1 + POISSON)))
LAME_STRESS = (YOUNG * POISSON / (1 - POISSON**2), YOUNG / (2 * (1 + POISSON)))
LAME_BAR = (0.0, YOUNG / 2)


def rotate(derivative, t, rate, phase):
    """The derivative of sin(rate t + phase) of the given order."""
    return rate**derivative * np.sin(rate * t + phase + derivative * np.pi / 2)


@dataclass
class Motion:
    """u = D sin(2.3 t) + A φ(x) sin(3.1 t + 0.5), φ = sin(k₀x₀) Π cos(k_j x_j + 0.4): only D moves x₀ = 0.

    By hand: σ = λ (A·∇φ) I + μ (A⊗∇φ + ∇φ⊗A),  div σ = (λ + μ) ∇∇φ·A + μ Δφ A.
    damping: (α, β) of the damping force ρα u̇ − β div σ(u̇).
    """

    lame: tuple[float, float]
    amplitude: np.ndarray
    wave: np.ndarray
    damping: tuple[float, float] = (0.0, 0.0)

    def phi(self, x, orders):
        """∂φ with `orders` derivatives along each axis."""
        value = np.ones(x.shape[1:])
        for axis, (k, order) in enumerate(zip(self.wave, orders, strict=True)):
            value = value * rotate(order, x[axis], k, 0.0 if axis == 0 else 0.4 + np.pi / 2)
        return value

    def gradient(self, x):
        return np.array([self.phi(x, row) for row in np.eye(len(self.wave), dtype=int)])

    def hessian(self, x):
        units = np.eye(len(self.wave), dtype=int)
        return np.array([[self.phi(x, a + b) for b in units] for a in units])

    def drift(self, t, derivative=0):
        """The uniform part D sin(2.3 t), (i,)."""
        return 0.3 * self.amplitude[::-1] * rotate(derivative, t, 2.3, 0.0)

    def pulse(self, t, derivative=0):
        return rotate(derivative, t, 3.1, 0.5)

    def field(self, x, t, derivative=0):
        """u or a derivative in time, (i, …) at the points x (axis, …)."""
        shape = np.multiply.outer(self.amplitude, self.phi(x, np.zeros(len(self.wave), dtype=int)))
        return np.moveaxis(np.moveaxis(shape, 0, -1) * self.pulse(t, derivative) + self.drift(t, derivative), -1, 0)

    def strained(self, t):
        """What multiplies the stress of A φ: the pulse and β times its rate."""
        return self.pulse(t) + self.damping[1] * self.pulse(t, 1)

    def body_force(self, x, t):
        lam, mu = self.lame
        H, a = self.hessian(x), self.amplitude
        divergence = (lam + mu) * np.einsum("ij...,j->i...", H, a) + mu * np.multiply.outer(
            a, np.einsum("ii...->...", H)
        )
        inertia = self.field(x, t, 2) + self.damping[0] * self.field(x, t, 1)
        return DENSITY * inertia - divergence * self.strained(t)

    def traction(self, normal):
        def on_side(x, t):
            (lam, mu), a, g = self.lame, self.amplitude, self.gradient(x)
            stress = lam * np.multiply.outer(np.eye(len(a)), np.tensordot(a, g, 1))
            stress = stress + mu * (np.multiply.outer(a, g) + np.moveaxis(np.multiply.outer(a, g), 0, 1))
            return np.einsum("ij...,j->i...", stress, normal) * self.strained(t)

        return on_side

    def conditions(self, sides):
        """Loads and motions of a part on the unit box: x₀ = 0 moved, tractions on the `sides` (name → normal)."""
        names = "xyz"[: len(self.wave)]
        return {
            "body_force": self.body_force,
            "tractions": {name: self.traction(np.asarray(normal, dtype=float)) for name, normal in sides.items()},
            "imposed": {"left": {c: (lambda t, i=i: self.drift(t)[i]) for i, c in enumerate(names)}},
        }


class Axisymmetric:
    """u_r = a r² sin z s(t), u_z = D sin(2.3 t) + b r² sin z s(t), s = sin(3.1 t + 0.5); z = 0 moves as one.

    Body force and tractions by hand, from σ_rr = λ tr + 2μ ∂_r u_r, σ_θθ = λ tr + 2μ u_r/r, σ_zz, σ_rz and
    tr = (3 a r + b r² cot z) sin z.
    """

    a, b = 1.0, 0.7

    def field(self, x, t, derivative=0):
        r, z = x
        s, drift = rotate(derivative, t, 3.1, 0.5), 0.2 * rotate(derivative, t, 2.3, 0.0)
        return np.array([self.a * r**2 * np.sin(z) * s, self.b * r**2 * np.sin(z) * s + drift])

    def body_force(self, x, t):
        (r, z), (lam, mu), a, b = x, LAME, self.a, self.b
        sin, cos = np.sin(z), np.cos(z)
        # ∂_r σ_rr + (σ_rr − σ_θθ)/r + ∂_z σ_rz and ∂_r σ_rz + σ_rz/r + ∂_z σ_zz, over s(t)
        radial = lam * (3 * a * sin + 2 * b * r * cos) + 6 * mu * a * sin + mu * (2 * b * r * cos - a * r**2 * sin)
        axial = (
            lam * (3 * a * r * cos - b * r**2 * sin) - 2 * mu * b * r**2 * sin + mu * (3 * a * r * cos + 4 * b * sin)
        )
        return DENSITY * self.field(x, t, 2) - rotate(0, t, 3.1, 0.5) * np.array([radial, axial])

    def stress(self, x, t):
        """σ_rr, σ_zz, σ_rz."""
        (r, z), (lam, mu), a, b = x, LAME, self.a, self.b
        trace = 3 * a * r * np.sin(z) + b * r**2 * np.cos(z)
        rr = lam * trace + 4 * mu * a * r * np.sin(z)
        zz = lam * trace + 2 * mu * b * r**2 * np.cos(z)
        rz = mu * (a * r**2 * np.cos(z) + 2 * b * r * np.sin(z))
        return np.array([rr, zz, rz]) * rotate(0, t, 3.1, 0.5)

    def conditions(self):
        return {
            "body_force": self.body_force,
            "tractions": {
                "right": lambda x, t: self.stress(x, t)[[0, 2]],
                "top": lambda x, t: self.stress(x, t)[[2, 1]],
            },
            "imposed": {
                "bottom": {"r": 0.0, "z": lambda t: 0.2 * rotate(0, t, 2.3, 0.0)},
                "left": {"r": 0.0},
            },
        }


def distorted(plain):
    """A smooth displacement of the inner nodes, nothing on the unit box's sides."""
    x = plain.doflocs.copy()
    bump = np.prod(np.sin(np.pi * x), axis=0)
    for axis in range(x.shape[0]):
        x[axis] += (-1) ** axis * 0.08 * bump
    return replace(plain, doflocs=x)


def l2_errors(part, group, exact, t):
    """L2 norms of the errors of displacement and velocity at the last frame, with a rule of high order."""
    basis = skfem.CellBasis(part.mesh, part.basis.elem, intorder=8)
    x = np.asarray(basis.global_coordinates())
    norms = []
    for derivative, name in enumerate(("displacement", "velocity")):
        nodal = group[name].values[-1]
        values = [np.asarray(basis.interpolate(np.ascontiguousarray(row))) for row in nodal.T]
        norms.append(np.sqrt((((values - exact.field(x, t, derivative)) ** 2).sum(axis=0) * basis.dx).sum()))
    return norms


def orders(build, exact, sizes, order, steps, duration=0.6):
    """Orders of the errors of displacement and velocity between two meshes; `steps` on the coarser."""
    errors = []
    for n in sizes:
        part = build(n)
        count = int(np.ceil(steps * (n / sizes[0]) ** ((order + 1) / 2)))
        system = aq.System(
            [part],
            displacement=lambda x: exact.field(x.T, 0.0).T,
            velocity=lambda x: exact.field(x.T, 0.0, 1).T,
        )
        result = aq.simulate(system, aq.Theta(0.5), duration=duration, step=duration / count, fields_every=count)
        assert result.sizes["time"] == count + 1
        errors.append(l2_errors(part, result[f"part/{part.name}"].dataset, exact, duration))
    coarse, fine = np.array(errors)
    found = np.log(coarse / fine) / np.log(sizes[1] / sizes[0])
    print(f"errors {coarse} -> {fine}: orders {found}")
    return found


def required(order):
    return 1.9 if order == 1 else 2.8


def assert_orders(found, order):
    assert found[0] >= required(order), f"displacement: order {found[0]:.2f}"
    # nodal values at the start leave free vibrations of size h^(p + 1) and frequency up to 1/h: order p in velocity
    assert found[1] >= order + 0.4, f"velocity: order {found[1]:.2f}"


PLANE = (np.array([1.0, -0.6]), np.array([1.4, 1.1]))
SIDES = {"right": (1, 0), "top": (0, 1), "bottom": (0, -1)}
SPACE = (np.array([1.0, -0.6, 0.4]), np.array([1.2, 0.8, -0.9]))
BOX_SIDES = {"right": (1, 0, 0), "top": (0, 1, 0), "bottom": (0, -1, 0), "front": (0, 0, 1), "back": (0, 0, -1)}


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
@pytest.mark.parametrize("order", [1, 2])
def test_bar(order, mass):
    exact = Motion(LAME_BAR, np.array([1.0]), np.array([2.0]))

    def build(n):
        loads = exact.conditions({"right": (1,)})
        return aq.Bar("bar", aq.mesh.interval(0, 1, cells=n), MATERIAL, order=order, mass=mass, section=0.3, **loads)

    assert_orders(orders(build, exact, (16, 32) if order == 1 else (4, 8), order, 24 if order == 1 else 64), order)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["tri", "quad"])
@pytest.mark.parametrize("plane", ["strain", "stress"])
def test_plane(plane, kind, order):
    exact = Motion(LAME_STRESS if plane == "stress" else LAME, *PLANE)

    def build(n):
        plain = distorted(aq.mesh.rectangle((0, 1), (0, 1), cells=(n, n), kind=kind))
        return aq.Solid("solid", plain, MATERIAL, plane=plane, order=order, thickness=0.02, **exact.conditions(SIDES))

    assert_orders(orders(build, exact, (12, 24) if order == 1 else (4, 8), order, 24), order)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["tri", "quad"])
def test_axisymmetric(kind, order):
    exact = Axisymmetric()

    def build(n):
        plain = distorted(aq.mesh.rectangle((0, 1), (0, 1), cells=(n, n), kind=kind))
        return aq.Solid("solid", plain, MATERIAL, plane="axisymmetric", order=order, **exact.conditions())

    assert_orders(orders(build, exact, (16, 32) if order == 1 else (4, 8), order, 24), order)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("kind", "order", "sizes", "duration"),
    [
        # pre-asymptotic in longer runs: 1.85 at 6 -> 12, 1.89 at 8 -> 16, 1.94 at 12 -> 24
        pytest.param("tet", 1, (8, 16), 0.3, marks=pytest.mark.slow),
        pytest.param("tet", 1, (10, 20), 0.6, marks=pytest.mark.slow),
        ("hex", 1, (6, 12), 0.6),
        ("tet", 2, (3, 6), 0.6),
        ("hex", 2, (2, 4), 0.6),
        pytest.param("hex", 2, (4, 8), 0.6, marks=pytest.mark.slow),
    ],
)
def test_space(kind, order, sizes, duration):
    exact = Motion(LAME, *SPACE)

    def build(n):
        plain = distorted(aq.mesh.box((0, 1), (0, 1), (0, 1), cells=(n, n, n), kind=kind))
        return aq.Solid("solid", plain, MATERIAL, order=order, **exact.conditions(BOX_SIDES))

    assert_orders(orders(build, exact, sizes, order, 12 if order == 1 else 20, duration), order)


@pytest.mark.parametrize("mesh_class", [skfem.MeshTri2, skfem.MeshQuad2])
def test_curved_cells(mesh_class):
    """Second-order geometry: inner sides of the cells are curved."""
    exact = Motion(LAME, *PLANE)
    kind = "tri" if mesh_class is skfem.MeshTri2 else "quad"

    def build(n):
        plain = aq.mesh.rectangle((0, 1), (0, 1), cells=(n, n), kind=kind)
        plain = replace(distorted(mesh_class.from_mesh(plain)), _boundaries=plain.boundaries)
        return aq.Solid("solid", plain, MATERIAL, plane="strain", **exact.conditions(SIDES))

    assert_orders(orders(build, exact, (4, 8), 2, 24), 2)


@pytest.mark.parametrize("order", [1, 2])
def test_damped(order):
    """Rayleigh damping: its force is in the body force and in the tractions."""
    exact = Motion(LAME, *PLANE, damping=(0.4, 0.07))

    def build(n):
        plain = distorted(aq.mesh.rectangle((0, 1), (0, 1), cells=(n, n)))
        damping = aq.Rayleigh(*exact.damping)
        return aq.Solid(
            "solid", plain, MATERIAL, plane="strain", order=order, damping=damping, **exact.conditions(SIDES)
        )

    assert_orders(orders(build, exact, (16, 32) if order == 1 else (4, 8), order, 24), order)


@pytest.mark.parametrize("order", [1, 2])
def test_imposed_on_all_sides(order):
    """k = π: φ = 0 at both ends; the left end has its displacement given, the right one its velocity."""
    exact = Motion(LAME_BAR, np.array([1.0]), np.array([np.pi]))

    def build(n):
        loads = exact.conditions({})
        velocity = {"right": {"x": lambda t: exact.drift(t, 1)[0]}}
        return aq.Bar("bar", aq.mesh.interval(0, 1, cells=n), MATERIAL, order=order, imposed_velocity=velocity, **loads)

    assert_orders(orders(build, exact, (16, 32) if order == 1 else (4, 8), order, 24 if order == 1 else 64), order)
