"""What a junction costs an explicit scheme: the stable step, from the eigenvalues of the glued and unglued models."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigvalsh, null_space

import arlequin as aq
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.stable_step import stable_step
from arlequin.system.assembly import Assembly, assemble

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
SIZE = 0.25


def solids(cells: str, ratio: float, glued: bool, absorbing: aq.Absorber | None = None) -> Assembly:
    """A coarse and a fine block that overlap over 3 coarse cells; the fine one sticks out."""

    def block(name: str, x0: float, x1: float, h: float) -> aq.Solid:
        count = [max(1, round((x1 - x0) / h)), max(1, round(0.5 / h))]
        if cells in ("triangles", "quadrilaterals"):
            mesh: Any = aq.mesh.rectangle((x0, x1), (0, 0.5), cells=tuple(count))
            mesh = mesh.to_meshtri() if cells == "triangles" else mesh
            return aq.Solid(name, mesh, UNIT, plane="strain", mass="lumped")
        mesh = aq.mesh.box((x0, x1), (0, 0.25), (0, 0.25), cells=(count[0], max(1, round(0.25 / h)), 1))
        return aq.Solid(name, mesh.to_meshtet(), UNIT, mass="lumped")

    coarse, fine = block("coarse", 0, 1.5, SIZE), block("fine", 0.75, 1.75, SIZE / ratio)
    junctions = [aq.Junction(coarse, fine, absorbing=absorbing)] if glued else []
    return assemble(aq.System(parts=[coarse, fine], junctions=junctions))


def reduced(assembly: Assembly) -> list[np.ndarray]:
    """Dense M, K and D on the motions that the junction allows."""
    keep = ~assembly.ghost
    allowed = np.eye(int(keep.sum()))
    if assembly.constraints.shape[0]:
        allowed = null_space(assembly.constraints.toarray()[:, keep])
    matrices = [assembly.mass, assembly.stiffness]
    if assembly.viscous is not None:
        matrices.append(assembly.viscous)
    return [allowed.T @ m.toarray()[np.ix_(keep, keep)] @ allowed for m in matrices]


def exact_step(assembly: Assembly) -> float:
    """2/ω of the semi-discrete problem, s."""
    mass, stiffness = reduced(assembly)
    return float(2.0 / np.sqrt(eigvalsh(stiffness, mass)[-1]))


QUICK = (("triangles", 1.0), ("triangles", 3.7), ("quadrilaterals", 2.0), ("tetrahedra", 1.0))
RATIOS = {"triangles": (1.0, 2.0, 3.7, 7.3), "quadrilaterals": (1.0, 2.0, 3.7, 7.3), "tetrahedra": (1.0, 2.0, 3.0, 3.7)}


@pytest.mark.parametrize(
    ("cells", "ratio"),
    [
        pytest.param(cells, ratio, marks=() if (cells, ratio) in QUICK else pytest.mark.slow)
        for cells, ratios in RATIOS.items()
        for ratio in ratios
    ],
)
def test_the_junction_keeps_the_stable_step(cells: str, ratio: float) -> None:
    alone, glued = solids(cells, ratio, False), solids(cells, ratio, True)
    assert exact_step(glued) >= 0.95 * exact_step(alone)
    assert stable_step(glued) <= exact_step(glued)
    assert stable_step(glued) >= 0.93 * stable_step(alone)


def test_the_bound_knows_the_lagging_damping_within_a_third() -> None:
    """Stable exactly where Δt² K + 2 Δt D < 4 M, from z² M − (2M − Δt² K − Δt D) z + M − Δt D at z = −1."""
    absorbing = solids("triangles", 3.7, True, aq.Absorber())
    assembly = replace(absorbing, damping=absorbing.absorber, absorption=None)
    mass, stiffness, damping = reduced(assembly)
    step = stable_step(assembly)

    def highest(dt: float) -> float:
        return float(eigvalsh(dt**2 * stiffness + 2 * dt * damping, mass)[-1])

    assert highest(step) <= 4.0
    assert highest(1.5 * step) > 4.0


@pytest.mark.parametrize("strength", [0.4, pytest.param(40.0, marks=pytest.mark.slow)])
def test_an_absorber_keeps_the_stable_step(strength: float) -> None:
    """Spectral radius of a step of u and the recorded v, on the motions that the junction allows: 1 up to 2/ω of the
    undamped model, from its eigenvalues, and more beyond."""
    assembly = solids("quadrilaterals", 1.5, True, aq.Absorber(strength))
    undamped = solids("quadrilaterals", 1.5, True)
    limit = exact_step(undamped)
    assert stable_step(assembly) == stable_step(undamped)
    allowed = null_space(assembly.constraints.toarray())
    none = np.zeros(assembly.dof_count)

    def radius(step: float) -> float:
        stepper, columns = CentralStepper(assembly, step), []
        for u, v in [(own, none) for own in allowed.T] + [(none, own) for own in allowed.T]:
            end, _ = stepper.advance(stepper.start(u, v))
            columns.append(np.concatenate([allowed.T @ end.u, allowed.T @ end.v]))
        return float(np.abs(np.linalg.eigvals(np.transpose(columns))).max())

    assert radius((1.0 - 1e-4) * limit) <= 1.0 + 1e-7  # rigid motions: a double eigenvalue 1
    assert radius((1.0 + 1e-4) * limit) >= 1.0 + 5e-6
