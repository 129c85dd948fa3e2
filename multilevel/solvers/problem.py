"""Data of the contact problem of a step, as arguments of the compiled kernels."""

from typing import Any, NamedTuple


class FreeMotion(NamedTuple):
    """Motion of r contact rows at k points in a step without contact; symbols as in
    `arlequin.multilevel.solvers.contact.solve_contact`.

    delassus (r, r); gap_per_velocity, s; gap_free (k,), m; rate_free (r,), m/s; closed (k,); step Δt, s; theta;
    impulse_factor h, s.
    """

    delassus: Any
    gap_per_velocity: Any
    gap_free: Any
    rate_free: Any
    closed: Any
    step: Any
    theta: Any
    impulse_factor: Any


ACTS, STICKS = 1, 2  # bits of the persistence flags, see `arlequin.multilevel.solvers.closing.persistence`
AT_REST = 1e-12  # slip rate, relative to the largest rate of a step, that is round-off
ON_BORDER = 1e-9  # distance from the border of the friction disk, relative to its radius, that is round-off


class LawTable(NamedTuple):
    """Laws of k contact points, see `arlequin.multilevel.solvers.law_tables.PointLaws`.

    first (k+1,): the rows of point k start at first[k], the normal one; area (k,), m²; level (k,); compliance and
    tangential_compliance (k,) of the normal multiplier and of friction; friction (k,): coefficient; the regular laws
    of point k are the rows rows[k] … rows[k+1] of kind and coefficients.
    """

    first: Any
    area: Any
    level: Any
    compliance: Any
    friction: Any
    tangential_compliance: Any
    rows: Any
    kind: Any
    coefficients: Any


class Options(NamedTuple):
    """Index in METHODS, ρ of the natural map, proximal term and maximum number of iterations; see
    `arlequin.multilevel.solvers.options.ContactMethod`."""

    method: Any
    rho: Any
    mass: Any
    max_iterations: Any


class Solution(NamedTuple):
    """Unknowns of the contact problem.

    impulse (r,); trial history (l, h); normal (3, k): stored, dissipated and multiplier parts; status (k,).
    """

    impulse: Any
    trial: Any
    normal: Any
    status: Any


class SymmetricFactor(NamedTuple):
    """Cholesky factor of W + diag(γ) on the rows that act, see `arlequin.multilevel.solvers._symmetric_kernels`.

    compliance (r + 2,): γ, negative on the rows that do not act, nan before the first; then 1 where the matrix is
    regular, else 0, and the same of its tangential rows. lower (r, r): the factor, in the leading rows and columns,
    tangential rows first. normal (r, r): Schur complement of W on the normal rows that act, without the tangential
    ones, in the leading rows and columns. columns (r, r): those of the inverse factor, as rows; has_column (r,): which
    of them are computed.
    """

    compliance: Any
    lower: Any
    normal: Any
    has_column: Any
    columns: Any
