"""The contact problem of one time step, with friction, on the Delassus operator: of one system or of an ensemble."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.elastic_stick import end_spring_traction, free_rates, gain
from arlequin.multilevel.solvers.large_contact import LARGE_FROM, solve_large
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.options import ContactMethod
from arlequin.multilevel.solvers.problem import FreeMotion
from arlequin.multilevel.solvers.solver_lists import newton_solver, robust_solver
from arlequin.multilevel.solvers.standing_contact import STANDING_FROM, solve_standing

OPEN, SLIP, STICK = 0, 1, 2


@dataclass(frozen=True)
class ContactSolution:
    """Impulses of one step, N·s (forces, N, in statics): `impulse` (r,) on all rows.

    Normal parts (k,): total = stored + dissipated + multiplier. status (k,): OPEN, SLIP or STICK (closed points
    without friction slip). history: trial history of the laws, to be committed if the step is accepted.

    residual, the certificate: the largest of |P − project(P − slack/W_kk)| over multipliers and friction, relative to
    the largest impulse. iterations: of Newton, with the sweeps and gradient steps of other methods. singular: whether
    the last linear system was: the multipliers are not unique, and `stabilised` finds some. spring_traction (r,): of
    elastic stick at the end of the step, Pa; None without springs.
    """

    impulse: Array
    stored: Array
    dissipated: Array
    multiplier: Array
    history: Array
    iterations: int
    residual: float
    status: NDArray[np.int8]
    singular: bool = False
    spring_traction: Array | None = None

    @classmethod
    def none(cls, history: Array, spring_traction: Array | None = None) -> "ContactSolution":
        """The solution without contact points."""
        empty = np.zeros(0)
        return cls(
            empty, empty, empty, empty, history, 0, 0.0, np.zeros(0, dtype=np.int8), spring_traction=spring_traction
        )


_DEFAULT = ContactMethod()
_MAX_ITERATIONS = 20000


def solve_contact(
    laws: PointLaws,
    motion: FreeMotion,
    history: Array,
    guess: Array,
    method: ContactMethod = _DEFAULT,
    *,
    closing: Array | None = None,
    slip_free: Array | None = None,
    spring_traction: Array | None = None,
    max_iterations: int = _MAX_ITERATIONS,
) -> ContactSolution:
    """Solve for the impulses P (r,) with the gaps (k,) and relative velocities (r,) at the end of the step

        g = gap_free + gap_per_velocity (W P)_n,      ġ, v_t = rate_free + W P

        P_n = h A p(history, g) + Λ,       ‖P_t‖ ≤ μ P_n,   −P_t ∈ μ P_n ∂‖v_t + c_t P_t/(h A)‖

    p is the sum of the mean tractions of the regular laws, A the area, h the `impulse_factor` of the motion (Δt in
    dynamics, 1 in statics), W the Delassus operator (r, r), symmetric positive definite, and Λ/(hA) the multiplier of
    the set-valued law on g, or on ġ at the points that are `closed`. gap_per_velocity (s): change of the gap at the
    end of the step by a unit of velocity; in statics rates are increments. history (l, h) at the start of the step,
    guess (r,).

    closing (3, r), see `arlequin.multilevel.solvers.closing`: multipliers and friction act on the rates above plus its
    first row (default: zero). Elastic stick (`arlequin.multilevel.solvers.elastic_stick`) needs the slips of the step
    without impulses, slip_free (r,), m, and the spring tractions at its start, spring_traction (r,), Pa.

    method, see `ContactMethod`: "newton", semismooth Newton on the natural map P − project(P − ρ slack/W_kk), ρ =
    `augmentation` (it changes the iterates, not the solution); where its statuses cycle they change one at a time, and
    with friction Gauss–Seidel and projected-gradient steps supply other starts. "augmented": the method of multipliers
    around it. "gauss-seidel", "projected-gradient" (with a fixed point on the friction threshold): these alone.

    Pure: the same arguments give bitwise the same result; nothing is committed. The residual is reported, not judged.

    Source: Alart & Curnier, Comput. Methods Appl. Mech. Eng. 92 (1991) 353–375.
    """
    count = laws.count
    if count == 0:
        return ContactSolution.none(history, spring_traction)
    index, rho, mass = method.numbers
    if index == 0 and mass == 0.0 and laws.row_count == 1 and not laws.has_regular and motion.delassus[0, 0] > 0.0:
        rate = motion.rate_free if closing is None else motion.rate_free + closing[0]
        return _single_multiplier(laws, motion, rate, history)

    compliance, share = laws.tangential_compliance, gain(laws, motion.theta, motion.step)
    rate_free = motion.rate_free
    if spring_traction is not None and slip_free is not None:
        compliance, rate_free = free_rates(laws, rate_free, slip_free, spring_traction, share, motion.gap_per_velocity)
    impulse, trial = guess.copy(), history.copy()
    closing = np.zeros((3, laws.row_count)) if closing is None else np.ascontiguousarray(closing)
    normal, status = np.empty((3, count)), np.empty(count, dtype=np.int8)
    table, kernels = laws.table(compliance)
    free = (
        np.ascontiguousarray(motion.delassus), motion.gap_per_velocity, motion.gap_free, rate_free, motion.closed,
        motion.step, motion.theta, motion.impulse_factor,
    )  # fmt: skip
    data, solution = (free, table, kernels, history, closing), (impulse, trial, normal, status)
    iterations, residual, singular, solved = 0, np.inf, False, False
    if index == 0 and mass == 0.0 and laws.row_count >= LARGE_FROM:
        iterations, residual, solved = solve_large(*data, (rho, max_iterations), solution)
    elif index == 0 and mass == 0.0 and laws.row_count >= STANDING_FROM:
        iterations, residual, solved = solve_standing(*data, rho, solution)
    if not solved:
        options = index, rho, mass, max_iterations - iterations
        kernel_iterations, residual, singular = _solve_kernels(data, options, solution)
        iterations += kernel_iterations
    stored, dissipated, multiplier = normal
    end_traction = (
        None
        if spring_traction is None
        else end_spring_traction(laws, impulse, spring_traction, share, motion.impulse_factor)
    )
    return ContactSolution(
        impulse, stored, dissipated, multiplier, trial, iterations, residual, status, singular, end_traction
    )


def _solve_kernels(data: Any, options: Any, solution: Any) -> tuple[int, float, bool]:
    """Iterations, certificate and whether the multipliers are not unique: by Newton's method, or else by fallbacks."""
    from arlequin.multilevel.solvers._solve_kernels import solve_contact as kernel

    newton: Any = kernel
    impulse, trial, _, _ = solution
    empty = np.empty((0, 0))
    guess, factor = impulse.copy(), (np.empty(0), empty, empty, np.empty(0, dtype=bool), empty)
    if impulse.size <= STANDING_FROM:
        used, residual, singular = newton(*data, options, solution, factor)
        if used >= 0:
            return used, residual, singular
        impulse[:], trial[:] = guess, data[3]
    from arlequin.multilevel.solvers._robust_kernels import solve_contact_robustly

    robust: Any = solve_contact_robustly
    used, residual, singular = robust(*data, options, solution, factor)
    return used, residual, singular


def _single_multiplier(laws: PointLaws, motion: FreeMotion, rate_free: Array, history: Array) -> ContactSolution:
    """One point without regular law and friction has a closed form: Λ = ⟨−s_free⟩₊ / (W + compliance)."""
    compliance = laws.compliance[0] / (motion.impulse_factor * laws.area[0])
    delassus, zero = motion.delassus[0, 0], np.zeros(1)
    multiplier = zero
    if laws.level[0] == 1:
        multiplier = np.maximum(-motion.gap_free, 0.0) / (motion.gap_per_velocity * delassus + compliance)
    elif laws.level[0] == 2 and motion.closed[0]:
        multiplier = np.maximum(-rate_free, 0.0) / (delassus + compliance)
    status = (multiplier > 0.0).astype(np.int8)
    return ContactSolution(multiplier, zero, zero, multiplier, history, 1, 0.0, status)


@dataclass(frozen=True, eq=False)
class BatchedSolution:
    """Contact solutions of n members: fields as of `ContactSolution`, with the member as first axis.

    normal (n, 3, k): stored, dissipated and multiplier parts. spring_traction (n, r), Pa: of elastic stick at the end
    of the step; None without.
    """

    impulse: Array
    normal: Array
    history: Array
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    residual: Array
    singular: NDArray[np.bool_]
    spring_traction: Array | None = None

    @classmethod
    def none(cls, laws: PointLaws, history: Array) -> "BatchedSolution":
        """Solutions without impulses, for the histories (n, …)."""
        n, k = len(history), laws.count
        return cls(
            impulse=np.zeros((n, laws.row_count)),
            normal=np.zeros((n, 3, k)),
            history=history.copy(),
            status=np.zeros((n, k), dtype=np.int8),
            iterations=np.zeros(n, dtype=np.int64),
            residual=np.zeros(n),
            singular=np.zeros(n, dtype=bool),
            spring_traction=np.zeros((n, laws.row_count)) if laws.has_elastic_stick else None,
        )

    def of(self, i: int) -> ContactSolution:
        """The solution of member i."""
        stored, dissipated, multiplier = self.normal[i]
        return ContactSolution(
            impulse=self.impulse[i],
            stored=stored,
            dissipated=dissipated,
            multiplier=multiplier,
            history=self.history[i],
            iterations=int(self.iterations[i]),
            residual=float(self.residual[i]),
            status=self.status[i],
            singular=bool(self.singular[i]),
        )

    @property
    def stored(self) -> Array:
        """Stored parts (n, k), N·s."""
        return self.normal[:, 0]

    @property
    def dissipated(self) -> Array:
        """Dissipated parts (n, k), N·s."""
        return self.normal[:, 1]

    @property
    def multiplier(self) -> Array:
        """Multipliers (n, k), N·s."""
        return self.normal[:, 2]

    def put(self, at: slice, points: NDArray[np.int64], rows: NDArray[np.int64], laws: NDArray[np.int64],
            part: "BatchedSolution") -> None:  # fmt: skip
        """Write the solution of a slice of members at the given points, rows and rows of the history."""
        self.impulse[at, rows] = part.impulse
        self.normal[at][:, :, points] = part.normal
        self.history[at][:, laws] = part.history
        self.status[at][:, points] = part.status
        if self.spring_traction is not None and part.spring_traction is not None:
            self.spring_traction[at, rows] = part.spring_traction
        for name in ("iterations", "residual", "singular"):
            getattr(self, name)[at] = getattr(part, name)


def solve_members(
    laws: PointLaws,
    motion: FreeMotion,
    history: Array,
    start: Array,
    guess: Array,
    members: NDArray[np.int64],
    method: ContactMethod,
    *,
    slip_free: Array | None = None,
    spring_traction: Array | None = None,
) -> BatchedSolution:
    """`solve_contact` for the members (s,) of an ensemble of n on fixed normals; the others have no impulse.

    gap_free, rate_free and closed of `motion`, history and guess have the member as first axis; start (n, r): rates at
    the start of the step; slip_free, spring_traction (n, r): see `solve_contact`.
    """
    from arlequin.multilevel.solvers._kernels import solve_members as kernel

    out = BatchedSolution.none(laws, history)
    out.impulse[members] = guess[members]
    compliance, share = laws.tangential_compliance, gain(laws, motion.theta, motion.step)
    if slip_free is not None and spring_traction is not None:
        springs = laws, motion.rate_free, slip_free, spring_traction, share, motion.gap_per_velocity
        compliance, rate_free = free_rates(*springs)
        motion, start = motion._replace(rate_free=rate_free), start.copy()
        start[:, laws.elastic_stick_rows] = 0.0  # friction acts on the slip of the step
    table, kernels = laws.table(compliance)
    free = tuple(np.ascontiguousarray(field) if np.ndim(field) else field for field in motion)
    history, start = np.ascontiguousarray(history), np.ascontiguousarray(start)
    solve = newton_solver if laws.row_count <= STANDING_FROM else robust_solver
    while members.size:
        kernel(
            members, free, table, kernels, solve(), history, start, (*method.numbers, _MAX_ITERATIONS),
            (out.impulse, out.history, out.normal, out.status), (out.iterations, out.residual, out.singular),
        )  # fmt: skip
        members = members[out.iterations[members] < 0]
        out.impulse[members], out.history[members] = guess[members], history[members]
        solve = robust_solver
    if spring_traction is None:
        return out
    ends = end_spring_traction(laws, out.impulse, spring_traction, share, motion.impulse_factor)
    return replace(out, spring_traction=ends)
