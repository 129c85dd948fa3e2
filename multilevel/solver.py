"""The contact problem of one time step, with friction, on the Delassus operator."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.checks import one_of, positive
from models.types import Array
from multilevel.method import METHODS, Method, proximal_term
from multilevel.point_laws import PointLaws
from multilevel.stick import end_pulls, free_rates, gain

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
    lever: float,
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
    set-valued law on g, or on ġ at the points that are `closed`. `lever` (s) is the gap that a unit of
    velocity makes; in statics rates are increments. Friction with springs (`multilevel.stick`) needs the slips of the
    step without impulses, slip_free (r,), m, and the tractions at its start, held (r,), Pa. closing (3, r), see
    `multilevel.closing`: multipliers and friction close the rates above and its first row; default: these alone.

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
        return _single_multiplier(laws, delassus, lever, gap_free, rate, closed, history, impulse_factor)
    if augmentation != 1.0:
        positive("augmentation", augmentation)

    from multilevel._kernels import solve_contact as kernel

    soft, share = laws.tangential_compliance, gain(laws, theta, step)
    if held is not None and slip_free is not None:
        soft, rate_free = free_rates(laws, rate_free, slip_free, held, share, lever)
    impulse, trial = guess.copy(), history.copy()
    closing = np.zeros((3, laws.row_count)) if closing is None else np.ascontiguousarray(closing)
    normal, status = np.empty((3, count)), np.empty(count, dtype=np.int8)
    iterations, residual, singular = kernel(
        np.ascontiguousarray(delassus), lever, gap_free, rate_free, closed, *laws.tables(soft),
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
    lever: float,
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
        multiplier = np.maximum(-gap_free, 0.0) / (lever * delassus[0, 0] + compliance)
    elif laws.level[0] == 2 and closed[0]:
        multiplier = np.maximum(-rate_free, 0.0) / (delassus[0, 0] + compliance)
    status = (multiplier > 0.0).astype(np.int8)
    return ContactSolution(multiplier, zero, zero, multiplier, history, 1, 0.0, status)
