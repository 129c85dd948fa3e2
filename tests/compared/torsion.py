"""The twisted neo-Hookean bar of Norma's torsion note: largest stress at 0.79 ms, beside four other codes."""

from typing import Any

import numpy as np
import skfem
from page import Section

import arlequin as aq

YOUNG, POISSON, DENSITY = 1e9, 0.25, 1000.0  # Pa, -, kg/m³
TWIST = 8000.0  # 1/(m s): velocity (−a y z, a x z, 0)
INSTANT, STEP = 7.9e-4, 1e-6  # s
PUBLISHED = {
    "Norma": (150.0, "consistent"),
    "Carina": (150.0, "consistent"),
    "LCM/Albany": (150.1, "consistent"),
    "Sierra/Adagio": (155.1, "lumped"),
}  # MPa, mass matrix
TEXT = """A bar of 0.05 × 0.05 × 1 m, E = 1 GPa, ν = 0.25, 1000 kg/m³, 2 × 2 × 40 hexahedra, starts with the velocity
(−a y z, a x z, 0), a = 8000/(m s); Newmark, 1 µs. Largest von Mises stress of the nodes at 0.79 ms, the stress
projected on the nodes in L². Published: `docs/notes/torsion-verification` of github.com/sandialabs/Norma.jl, 2026."""


def stress(displacement: np.ndarray, mesh: Any) -> float:
    """Largest von Mises stress (Pa) of the nodes, of Cauchy's stress σ = μ J^(−5/3) dev b + K/2 (J − 1/J) 1, by
    scikit-fem from the displacement (n, 3), m."""
    shear, bulk = YOUNG / (2 * (1 + POISSON)), YOUNG / (3 * (1 - 2 * POISSON))
    scalar = skfem.Basis(mesh, skfem.ElementHex1())
    vector = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementHex1()), quadrature=scalar.quadrature)
    identity = np.eye(3)[:, :, None, None]
    f = identity + vector.interpolate(displacement.reshape(-1)).grad
    j = np.linalg.det(np.moveaxis(f, (0, 1), (-2, -1)))
    b = np.einsum("ik...,jk...->ij...", f, f)
    cauchy = shear * j ** (-5 / 3) * (b - np.einsum("ii...->...", b) / 3 * identity) + bulk / 2 * (j - 1 / j) * identity
    mass = skfem.BilinearForm(lambda u, v, w: u * v).assemble(scalar)
    load = skfem.LinearForm(lambda v, w: w["s"] * v)
    nodal = np.array([[skfem.solve(mass, load.assemble(scalar, s=cauchy[i, k])) for k in range(3)] for i in range(3)])
    deviator = nodal - np.einsum("ii...->...", nodal) / 3 * np.eye(3)[:, :, None]
    return float(np.sqrt(1.5 * (deviator**2).sum((0, 1))).max())


def section() -> Section:
    """Both mass matrices."""
    rows = []
    for mass in ("consistent", "lumped"):
        mesh = aq.mesh.box((-0.025, 0.025), (-0.025, 0.025), (-0.5, 0.5), cells=(2, 2, 40))
        material = aq.NeoHooke(young=YOUNG, poisson=POISSON, density=DENSITY)
        bar = aq.Solid("bar", mesh, material, kinematics="finite", mass=mass, volumetric="points")
        spin = lambda x: np.stack([-TWIST * x[:, 1] * x[:, 2], TWIST * x[:, 0] * x[:, 2], 0 * x[:, 0]], axis=1)  # noqa: E731
        steps = round(INSTANT / STEP)
        result = aq.simulate(
            aq.System([bar], velocity=spin), aq.Newmark(), duration=INSTANT, step=STEP, fields_every=steps
        )
        largest = stress(result["part/bar/displacement"].values[-1], mesh)
        rows.append((f"Arlequin {aq.__version__}", mass, f"{largest / 1e6:.2f}"))
    rows += [(f"{code} (published)", mass, f"{value:.1f}") for code, (value, mass) in PUBLISHED.items()]
    return Section("Torsion of a bar", TEXT, ("code", "mass matrix", "largest von Mises stress (MPa)"), rows)
