"""Natural frequencies and modes of a glued system."""

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from arlequin.models.checks import instance, positive_integer
from arlequin.models.errors import UserError
from arlequin.models.linalg.matrix import binade
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.ranks import refuse_ranks
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.solvers.solver_choice import factored
from arlequin.system.assembly import assemble
from arlequin.system.densities import check_densities
from arlequin.system.system import System

_UNSTABLE = 1e-6  # negative square of a frequency, relative to the first shift, that is no round-off


class Modes(NamedTuple):
    """frequencies (m,), Hz, in increasing order; shapes (d, m) in the system's numbering, φᵀMφ = 1."""

    frequencies: Array
    shapes: Array


@checked_call
def natural_frequencies(system: System, count: int = 5) -> Modes:
    """The lowest natural frequencies f, with (K − (2πf)² M) φ = Cᵀλ, C φ = 0, imposed dofs at rest, no contact.

    Shift-invert Lanczos: with a negative shift −s, K + sM is positive definite even where a part floats, and its
    inverse condensed on C φ = 0 is one solve of a linear step. Rigid modes come out as 0 to about 1e-7 of the
    first elastic frequency. Massless dofs are refused.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=100), steel)  # both ends free
    >>> found = aq.natural_frequencies(aq.System([bar]), count=3).frequencies  # Hz
    >>> [round(float(f), 3) for f in found / (bar.wave_speed / (2 * 0.1))]  # rigid motion, c/(2L), c/L
    [0.0, 1.0, 2.0]

    Source: Ericsson & Ruhe, Mathematics of Computation 35, 1980.
    """
    positive_integer("count", count)
    instance("system", system, System, "must be a System")
    check_densities(system.parts, "for natural frequencies")
    assembly = assemble(system)
    if isinstance(assembly.mass, DistributedMatrix):
        refuse_ranks("natural_frequencies")
    if assembly.massless.any():
        raise UserError("natural frequencies: a part has nodes without mass")
    assembly.rigidity.refuse("natural frequencies: take the solid itself, of a stiffer material")
    most = int(assembly.free.sum()) - assembly.constraints.shape[0] - 2
    if count > most:
        raise UserError.parameter("count", count, f"must be at most {most} for this system")
    size = assembly.dof_count
    given = np.zeros(assembly.imposed_dofs.size)
    mass, stiffness = assembly.mass, assembly.stiffness
    none = np.zeros(assembly.constraints.shape[0])

    def lanczos(shift: float, wanted: int, tolerance: float) -> tuple[Array, Array]:
        step = factored(assembly, stiffness + shift * mass, contact=False)
        inverse = LinearOperator((size, size), matvec=lambda b: unit * step.predict(b, none, given).y, dtype=float)
        start = step.predict(np.cos(1.0 + np.arange(size)) * mass.diagonal(), none, given).y
        values, shapes = eigsh(
            stiffness / unit, wanted, mass, sigma=-shift / unit, OPinv=inverse, v0=start, tol=tolerance, which="LM"
        )
        order = np.argsort(values)
        return unit * values[order], shapes[:, order]

    # a first shift far above the lowest eigenvalue finds its size, the second sits next to it
    crude = 1e-6 * float((stiffness.diagonal() / mass.diagonal()).mean())
    unit = binade(crude)  # for ARPACK, whose smallest eigenvalue that counts is absolute
    rough, _ = lanczos(crude, count, 1e-2)
    shift = max(float(np.abs(rough).max()), 1e-9 * crude)
    values, shapes = lanczos(shift, count, 0.0)
    if values[0] < -_UNSTABLE * crude:
        raise UserError("the system is not stable at rest, so it has no natural frequencies: a beam buckles")
    return Modes(np.sqrt(np.maximum(values, 0.0)) / (2 * np.pi), shapes)
