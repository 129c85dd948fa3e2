"""Natural frequencies and modes of a glued system."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError

from arlequin.models.checks import instance, positive_integer
from arlequin.models.errors import UserError
from arlequin.models.linalg.lowest import all_modes, at_two_shifts, lowest_modes
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.ranks import refuse_ranks
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.solvers.solver_choice import factored
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.densities import check_densities
from arlequin.system.system import System

DENSE = 300  # free coordinates up to which all eigenvalues are computed where Lanczos' method does not apply
UNSTABLE = "the system is not stable at rest, so it has no natural frequencies: a beam buckles"
_SAME = 1e-3  # difference of frequencies of the same mode, relative to them or to the highest one
_UNSTABLE = 1e-6  # negative square of a frequency, relative to the first shift, above round-off


class Modes(NamedTuple):
    """frequencies (m,), Hz, in increasing order; shapes (d, m) in the system's numbering, φᵀMφ = 1."""

    frequencies: Array
    shapes: Array


@checked_call
def natural_frequencies(system: System, count: int = 5) -> Modes:
    """The lowest natural frequencies f, with (K − (2πf)² M) φ = Cᵀλ, C φ = 0, imposed dofs at rest, no contact, no
    damping and no flow (`complex_modes` has both).

    Inverse iteration with a negative shift −s: K + sM is positive definite even with free rigid motions. Rigid modes
    are 0 to about 1e-7 of the first elastic frequency. Dofs without mass are in static equilibrium; nodes of zero
    weight are at rest. `count` is at most the number of free coordinates with mass, less the constraints.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=100), steel)  # both ends free
    >>> frequencies = aq.natural_frequencies(aq.System([bar]), count=3).frequencies  # Hz
    >>> [round(float(f), 3) for f in frequencies / (bar.wave_speed / (2 * 0.1))]  # rigid motion, c/(2L), c/L
    [0.0, 1.0, 2.0]

    Source: Ericsson & Ruhe, Mathematics of Computation 35, 1980.
    """
    positive_integer("count", count)
    instance("system", system, System, "must be a System")
    check_densities(system.parts, "for natural frequencies")
    assembly = assemble(system)
    if isinstance(assembly.mass, DistributedMatrix):
        refuse_ranks("natural_frequencies")
    return assembled_modes(assembly, count)


def assembled_modes(assembly: Assembly, count: int) -> Modes:
    """`natural_frequencies` of a system that is assembled."""
    assembly.rigidity.refuse("natural frequencies: take the solid itself, of a stiffer material")
    with_mass = assembly.free & ~assembly.massless
    if not with_mass.any():
        raise UserError("natural frequencies: no coordinate of the system has mass and is free to move")
    first_shift = (
        1e-6 * float((assembly.stiffness.diagonal()[with_mass] / assembly.mass.diagonal()[with_mass]).mean()) or 1.0
    )
    small, lanczos = with_mass.sum() <= DENSE, _Lanczos(assembly, first_shift)
    if not small or (count <= lanczos.max_count and not assembly.massless.any()):
        try:
            modes = _modes(lanczos, count)
        except (UserError, ArpackError):  # for example if all `count` modes are rigid
            if not small:
                raise
        else:
            # of a multiple frequency, as that of the rigid motions, Lanczos' method from one vector may miss some
            if not small or _agree(modes, complete := _modes(_Dense(assembly, first_shift), count)):
                return modes
            return complete
    return _modes(_Dense(assembly, first_shift), count)


def _agree(first: Modes, second: Modes) -> bool:
    """Whether two lists of frequencies are of the same modes."""
    f, g = first.frequencies, second.frequencies
    return bool(np.allclose(f, g, rtol=_SAME, atol=_SAME * float(g.max(initial=0.0))))


def _modes(search: "_Dense | _Lanczos", count: int) -> Modes:
    """The lowest modes."""
    if count > search.max_count:
        raise UserError.parameter("count", count, f"must be at most {search.max_count} for this system")
    values, shapes = search.lowest(count)
    if values[0] < -_UNSTABLE * search.first_shift:
        raise UserError(UNSTABLE)
    return Modes(np.sqrt(np.maximum(values, 0.0)) / (2 * np.pi), shapes)


class _Lanczos:
    """Shift-invert Lanczos: the inverse of K + sM condensed on C φ = 0 is one solve of a linear step."""

    def __init__(self, assembly: Assembly, first_shift: float) -> None:
        """first_shift, 1/s²: also the scale of the eigenvalues, see `lowest_modes`."""
        self._assembly, self.first_shift = assembly, first_shift
        self.max_count = int((assembly.free & ~assembly.massless).sum()) - assembly.constraints.shape[0] - 2

    def lowest(self, count: int) -> tuple[Array, Array]:
        """The lowest eigenvalues (m,), 1/s², in increasing order, and shapes (d, m)."""
        return at_two_shifts(lambda shift, tolerance: self._search(shift, count, tolerance), self.first_shift)

    def _search(self, shift: float, count: int, tolerance: float) -> tuple[Array, Array]:
        assembly, mass = self._assembly, self._assembly.mass
        rest, no_rates = np.zeros(assembly.imposed_dofs.size), np.zeros(assembly.constraints.shape[0])
        step = factored(assembly, assembly.stiffness + shift * mass, contact=False)
        return lowest_modes(
            assembly.stiffness,
            mass,
            count,
            lambda b: step.predict(b, no_rates, rest).y,
            unit=self.first_shift,
            shift=shift,
            tolerance=tolerance,
        )


class _Dense:
    """All eigenvalues of small systems, on a basis of C φ = 0.

    The basis mixes coordinates of very different stiffness: on modal parts it is less accurate (3e-8) than `_Lanczos`.
    """

    def __init__(self, assembly: Assembly, first_shift: float) -> None:
        self.first_shift = first_shift
        free = np.flatnonzero(assembly.free)
        basis = scipy.linalg.null_space(assembly.constraints[:, free].toarray())
        self._basis = np.zeros((assembly.dof_count, basis.shape[1]))
        self._basis[free] = basis
        self._mass, self._stiffness = (
            self._basis.T @ (each @ self._basis) for each in (assembly.mass, assembly.stiffness)
        )
        self.max_count = int(np.linalg.matrix_rank(self._mass, hermitian=True))

    def lowest(self, count: int) -> tuple[Array, Array]:
        """As `_Lanczos.lowest`, to round-off."""
        try:
            values, shapes = all_modes(self._stiffness, self._mass, self.first_shift)
        except np.linalg.LinAlgError:
            raise UserError(UNSTABLE) from None
        return values[:count], self._basis @ shapes[:, :count]
