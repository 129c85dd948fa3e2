"""The contact problem of one time step, with friction, on the Delassus operator.

The contact problems of many members in one step, on one Delassus operator.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arlequin.models.checks import one_of, positive
from arlequin.models.types import Array
from arlequin.multilevel.solvers.elastic_stick import end_pulls, free_rates, gain
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.options import METHODS, ContactMethod, Method, proximal_term

OPEN, SLIP, STICK = 0, 1, 2


@dataclass(frozen=True)
class ContactSolution:
    """Impulses of one step, N·s (forces, N, in statics): `impulse` (r,) on all rows.

    Normal parts (k,): total = stored + dissipated + multiplier. status (k,): OPEN, SLIP or STICK (closed points
    without friction slip). history: trial history of the laws, to be committed if the step is accepted.

    residual, the certificate: the largest of |P − project(P − slack/W_kk)| over multipliers and friction, relative to
    the largest impulse. iterations: of Newton, with the sweeps and gradient steps of other methods. singular: whether
    the last linear system was: the multipliers are not unique, and `stabilised` finds some. held (r,): tractions of the
    springs of friction at the end of the step, Pa; None without springs.
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
    held: Array | None = None

    @classmethod
    def none(cls, history: Array, held: Array | None = None) -> "ContactSolution":
        """That of no points."""
        empty = np.zeros(0)
        return cls(empty, empty, empty, empty, history, 0, 0.0, np.zeros(0, dtype=np.int8), held=held)


def solve_contact(
    laws: PointLaws,
    delassus: Array,
    gap_per_velocity: float,
    gap_free: Array,
    rate_free: Array,
    closed: NDArray[np.bool_],
    history: Array,
    step: float,
    theta: float,
    impulse_factor: float,
    guess: Array,
    max_iterations: int = 20000,
    augmentation: float = 1.0,
    stabilised: bool | float = False,
    method: Method = "newton",
    slip_free: Array | None = None,
    held: Array | None = None,
    closing: Array | None = None,
) -> ContactSolution:
    """Solves for the impulses P (r,) with the gaps (k,) and relative velocities (r,) at the end of the step

        g = gap_free + lever (W P)_n,      ġ, v_t = rate_free + W P

        P_n = h A p(history, g) + Λ,       ‖P_t‖ ≤ μ P_n,   −P_t ∈ μ P_n ∂‖v_t + c_t P_t/(h A)‖

    p the sum of the regular laws' mean tractions, A the area, h = `impulse_factor` (Δt in dynamics, 1 in
    statics), W the Delassus operator (r, r), symmetric positive definite, and Λ/(hA) the multiplier of the
    set-valued law on g, or on ġ at the points that are `closed`. `gap_per_velocity` (s) is the gap that a unit of
    velocity makes; in statics rates are increments. Friction with springs (`arlequin.multilevel.solvers.elastic_stick`)
    needs the slips of the step without impulses, slip_free (r,), m, and the tractions at its start, held (r,), Pa.
    closing (3, r), see `arlequin.multilevel.solvers.closing`: multipliers and friction close the rates above and its
    first row; default: these alone.

    method "newton": semismooth Newton on the natural map P − project(P − ρ slack/W_kk), ρ = `augmentation` (it moves
    the way, not the solution); where its statuses cycle they change one at a time, and with friction Gauss–Seidel and
    projected-gradient steps make it better starts. "augmented": the method of multipliers around it. "gauss-seidel",
    "projected-gradient" (with a fixed point on the friction threshold): these alone. `stabilised`, True for 1e-3: a
    proximal term of that size, relative to W_kk, for multipliers that are not unique, iterated away.

    Pure: the same arguments give the same bits; nothing is committed. The residual is reported, not judged.

    Source: Alart & Curnier, Comput. Methods Appl. Mech. Eng. 92 (1991) 353–375.
    """
    count = laws.count
    if count == 0:
        return ContactSolution.none(history, held)
    one_of("method", method, METHODS)
    mass = proximal_term(method, augmentation, stabilised)
    if method == "newton" and mass == 0.0 and laws.row_count == 1 and not laws.has_regular and delassus[0, 0] > 0.0:
        rate = rate_free if closing is None else rate_free + closing[0]
        return _single_multiplier(laws, delassus, gap_per_velocity, gap_free, rate, closed, history, impulse_factor)
    if augmentation != 1.0:
        positive("augmentation", augmentation)

    from arlequin.multilevel.solvers._kernels import solve_contact as kernel

    soft, share = laws.tangential_compliance, gain(laws, theta, step)
    if held is not None and slip_free is not None:
        soft, rate_free = free_rates(laws, rate_free, slip_free, held, share, gap_per_velocity)
    impulse, trial = guess.copy(), history.copy()
    closing = np.zeros((3, laws.row_count)) if closing is None else np.ascontiguousarray(closing)
    normal, status = np.empty((3, count)), np.empty(count, dtype=np.int8)
    iterations, residual, singular = kernel(
        np.ascontiguousarray(delassus), gap_per_velocity, gap_free, rate_free, closed, *laws.tables(soft),
        history, step, theta, impulse_factor, closing,
        impulse, trial, normal, status, METHODS.index(method), augmentation, mass, max_iterations,
    )  # fmt: skip
    stored, dissipated, multiplier = normal
    reached = None if held is None else end_pulls(laws, impulse, held, share, impulse_factor)
    return ContactSolution(
        impulse, stored, dissipated, multiplier, trial, iterations, residual, status, singular, reached
    )


def _single_multiplier(
    laws: PointLaws,
    delassus: Array,
    gap_per_velocity: float,
    gap_free: Array,
    rate_free: Array,
    closed: NDArray[np.bool_],
    history: Array,
    impulse_factor: float,
) -> ContactSolution:
    """One point without regular law and friction has a closed form: Λ = ⟨−s_free⟩₊ / (W + compliance)."""
    compliance = laws.compliance[0] / (impulse_factor * laws.area[0])
    zero = np.zeros(1)
    multiplier = zero
    if laws.level[0] == 1:
        multiplier = np.maximum(-gap_free, 0.0) / (gap_per_velocity * delassus[0, 0] + compliance)
    elif laws.level[0] == 2 and closed[0]:
        multiplier = np.maximum(-rate_free, 0.0) / (delassus[0, 0] + compliance)
    status = (multiplier > 0.0).astype(np.int8)
    return ContactSolution(multiplier, zero, zero, multiplier, history, 1, 0.0, status)


_MOST = 20000  # iterations


@dataclass(frozen=True, eq=False)
class BatchedSolution:
    """As a `ContactSolution`, each field with the member (n,) as first axis; it starts with no impulse anywhere.

    normal (n, 3, k): stored, dissipated and multiplier parts.
    """

    impulse: Array
    normal: Array
    history: Array
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    residual: Array
    singular: NDArray[np.bool_]

    @classmethod
    def none(cls, laws: PointLaws, history: Array) -> "BatchedSolution":
        """Nothing, for each history (n, …)."""
        n, k = len(history), laws.count
        return cls(
            impulse=np.zeros((n, laws.row_count)),
            normal=np.zeros((n, 3, k)),
            history=history.copy(),
            status=np.zeros((n, k), dtype=np.int8),
            iterations=np.zeros(n, dtype=np.int64),
            residual=np.zeros(n),
            singular=np.zeros(n, dtype=bool),
        )

    def of(self, i: int) -> ContactSolution:
        """That of one member."""
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
        """Takes the solution of some members at some points, their rows, and rows of the history."""
        self.impulse[at, rows] = part.impulse
        self.normal[at][:, :, points] = part.normal
        self.history[at][:, laws] = part.history
        self.status[at][:, points] = part.status
        for name in ("iterations", "residual", "singular"):
            getattr(self, name)[at] = getattr(part, name)


def solve_members(
    laws: PointLaws,
    delassus: Array,
    gap_per_velocity: float,
    gap_free: Array,
    rate_free: Array,
    start: Array,
    closed: NDArray[np.bool_],
    history: Array,
    step: float,
    theta: float,
    guess: Array,
    some: NDArray[np.int64],
    method: ContactMethod,
) -> BatchedSolution:
    """`arlequin.multilevel.solvers.contact.solve_contact` for the members `some` of fields (n, …); the others have no
    impulse.

    start (n, r): rates at the start of the step, on fixed normals.
    """
    from arlequin.multilevel.solvers._kernels import solve_members as kernel

    out = BatchedSolution.none(laws, history)
    out.impulse[some] = guess[some]
    gap_free, rate_free = np.ascontiguousarray(gap_free), np.ascontiguousarray(rate_free)
    kernel(
        some, np.ascontiguousarray(delassus), gap_per_velocity, gap_free, rate_free, np.ascontiguousarray(closed),
        *laws.tables(laws.tangential_compliance), np.ascontiguousarray(history), step, theta, step,
        np.ascontiguousarray(start),
        out.impulse, out.history, out.normal, out.status, *method.numbers, _MOST,
        out.iterations, out.residual, out.singular,
    )  # fmt: skip
    return out
