"""Named tuples of the compiled loops beside `CompiledSystem`: operators, states and steps of the one-step schemes, of
steps with located events and of explicit steps."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.schemes.compiled_system import zeros_of
from arlequin.solvers.passes import CondensedPasses
from arlequin.step.coefficients import StepCoefficients
from arlequin.system.assembly import Assembly


class StepRow(NamedTuple):
    """Coefficients of a step, see `arlequin.step.coefficients.StepCoefficients`. summed: `sums_constraints`, else
    C y = (1 − λ) C v₀ in each step."""

    step: float
    weight: float
    inertia: float
    theta: float
    gamma: float
    alpha_m: float
    alpha_f: float
    displacement: float
    lead: float
    velocity: float
    on_force: float
    shift: float
    summed: bool

    @classmethod
    def of(cls, row: StepCoefficients) -> Self:
        """The coefficients by name."""
        return cls(summed=row.sums_constraints, **{name: getattr(row, name) for name in cls._fields[:-1]})


class StepOperators(NamedTuple):
    """Operators of the steps of a small system: the factor of A on the free degrees of freedom
    (`arlequin.models.linalg.small_factor`), A (free, imposed) by rows, and `ImpulseResponse`, μ times that to contact.

    spring_compliance (r,): of friction's springs, 0 on other rows; spring_gain (k,): κ of
    `arlequin.multilevel.solvers.elastic_stick`. method, rho, proximal: `ContactMethod.numbers`.
    """

    row: StepRow
    factor: Any
    by_imposed: Any
    velocity_by_constraint: Array
    multiplier_by_constraint: Array
    velocity_by_impulse: Array
    multiplier_by_impulse: Array
    delassus: Array
    spring_compliance: Array
    spring_gain: Array
    method: int
    rho: float
    proximal: float


class FactoredOperators(NamedTuple):
    """Operators of the steps with a sparse factor of A: its passes, μ W (r, r) of the contact; springs (r,), gain (k,):
    of friction's springs, see `StepOperators`, as method, rho, proximal."""

    row: StepRow
    passes: CondensedPasses
    delassus: Array
    springs: Array
    gain: Array
    method: int
    rho: float
    proximal: float


class CentralOperators(NamedTuple):
    """Operators of central differences with a diagonal mass: Δt, M⁻¹ (d,), 0 on dofs that are not free, W (q, q) of the
    contact's basis under the constraints, and independent (k,), lower (k, k), first (k,), root (k, q) of C M⁻¹Cᵀ,
    see `FullElimination.arrays`; method, rho, proximal as in `StepOperators`."""

    step: float
    inverse: Array
    delassus: Array
    independent: NDArray[np.int64]
    lower: Array
    first: NDArray[np.int64]
    root: Array
    method: int
    rho: float
    proximal: float


class CentralLoopState(NamedTuple):
    """u (d,), m; v_{n−½} and v_n (d,), m/s; constrained acceleration a without the layers, and theirs, lift (d,), m/s²;
    forces of dashpots and internal forces (d,), N; multipliers of the acceleration (m,), N; stored forces of the layers
    on the contact's basis (q,), N; history of the laws; contact impulses (r,), N·s; wear depth and its increment that
    opens the gaps in the next step (2, k), m. Unused by central differences: springs of friction (r,) and persistence
    flags (k,), all zero, and the lead, of size 0."""

    u: Array
    half: Array
    v: Array
    a: Array
    lift: Array
    damping: Array
    internal: Array
    constraint: Array
    pushed: Array
    history: Array
    impulse: Array
    worn: Array
    spring_traction: Array
    persistence: NDArray[np.int8]
    lead: Array


class CentralWorks(NamedTuple):
    """Works of steps (b,): sums (b, 6), J: ½ v_{n−½}·(M v_{n−½} + Δt F_n) at their ends, works of external, internal
    and damping forces, viscous loss, work of the layers' forces by the rotation of their normals; strain energy (b,),
    J; stored forces of the layers (b, k), N, at their ends; reactions (b, p): impulses of imposed motions, N·s."""

    sums: Array
    strain: Array
    stored: Array
    reactions: Array


class StepWorks(NamedTuple):
    """Works of steps (b,): of the bulk (b, 5), see `arlequin.schemes._sparse_step_kernels.settle`, strain energy (b,),
    J, at their ends, and impulses of imposed motions (b, p), N·s."""

    sums: Array
    strain: Array
    reactions: Array


class LoopState(NamedTuple):
    """u (d,), m, v, m/s, and summed momentum (d,), kg m/s; Σ C y (m,); internal forces (d,), N; history of the laws;
    contact impulses (r,), N·s; tractions (r,) of friction's springs, Pa; persistence flags of contact (k,); wear depth
    and its increment that opens the gaps in the next step (2, k), m, or (2, 0) without wear. Of the generalised-α
    family (see `arlequin.schemes.one_step_state.OneStepState`; of size 0 for the θ-scheme): the lead (d,), the averages
    of internal forces and damping (d,), and Q (d,). half: of size 0, since the velocity before the impulses is v."""

    u: Array
    v: Array
    momentum: Array
    constraint_sum: Array
    internal: Array
    history: Array
    impulse: Array
    spring_traction: Array
    persistence: NDArray[np.int8]
    worn: Array
    lead: Array
    internal_average: Array
    damping_average: Array
    pulled: Array
    half: Array


class LoopSteps(NamedTuple):
    """Steps (b,) of a loop: u, v and (u₁ − u₀)/Δt, `flow` (b, d), contact impulses (b, r), their normal parts (b, 3,
    k), status (b, k), impulses of the constraints (b, m), tractions of friction's springs (b, r), iterations and
    residuals of the contact problems (b,), first internal variables (b, k) of state-dependent friction laws, wear depth
    and its increment that opens the gaps in the step (b, 2, k), m."""

    u: Array
    v: Array
    flow: Array
    impulse: Array
    normal: Array
    status: NDArray[np.int8]
    multipliers: Array
    spring_traction: Array
    iterations: NDArray[np.int64]
    residual: Array
    friction_state: Array
    worn: Array

    @classmethod
    def allocate(cls, assembly: Assembly, count: int) -> Self:
        """Zeros for `count` steps."""
        laws = assembly.laws
        d, m, r, k = assembly.dof_count, assembly.constraints.shape[0], laws.row_count, laws.count
        worn = 0 if assembly.contact.wear_rate is None else k
        types = {"status": np.int8, "iterations": np.int64}
        return zeros_of(cls, count, d, d, d, r, (3, k), k, m, r, (), (), k, (2, worn), types=types)


class CornerRows(NamedTuple):
    """Rows of H over the basis: columns (r,) where each begins there, width (r,): 3 on a body, 1 where it is a row of
    the basis; directions, arms (r, 2) as of `corner_rows`. sagitta (k,), m: rise of a corner over its tangent by the
    square of the rotation in the step, whose row of the basis is angle_row (k,)."""

    columns: NDArray[np.int64]
    width: NDArray[np.int64]
    directions: Array
    arms: Array
    sagitta: Array
    angle_row: NDArray[np.int64]


# modes of evaluating the rows of a configuration, see `MovingContact`
PAIR_ANEW, KEEP_PARTNERS, AT_END = 0, 1, 2


class ContactRows(NamedTuple):
    """Rows of H over the basis in a configuration: row r has values[e] in the columns[e], starts[r] ≤ e <
    starts[r + 1]; gap (k,) there, m. tangents: of all points, one after the other; none where they do not change."""

    starts: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    values: Array
    gap: Array
    tangents: Array


class PairingCall(NamedTuple):
    """A Python callback that writes the rows at the displacement `place` (q,) of the basis to the arrays of
    `MovingContact`: its address, and the array of the displacement."""

    address: int
    place: Array


class MovingContact(NamedTuple):
    """Contact whose rows depend on the configuration, as loops read it, with the rows in the step and at its end.

    corners, call: source of the rows, of which one is None: `CornerRows`, or a pairing that is called with PAIR_ANEW,
    KEEP_PARTNERS (with the partners of the last call) or AT_END (of the step). settled (q,): change of the basis'
    displacements, m or rad, below which the configuration stands; points (k,): whose rows may change; mass_delassus: B
    M⁻¹ Bᵀ (q, q), constraints kept; M⁻¹Bᵀ (d, q), of a system without constraints, or the passes over a factor of M,
    the other one None; proximal: the term of the contact problem where multipliers are not unique; lasting: largest gap
    of a contact that lasts, m.
    """

    corners: CornerRows | None
    call: PairingCall | None
    rows: ContactRows
    end_rows: ContactRows
    settled: Array
    points: NDArray[np.bool_]
    mass_delassus: Array
    velocity_by_impulse: Array | None
    mass: CondensedPasses | None
    proximal: float
    lasting: float


class ConfigurationSteps(NamedTuple):
    """Configurations of steps (b,): the rows of H on which the impulses act, starts (b, r + 1), columns and values
    (b, e), gaps (b, k), m, and tangents (b, t) as of `ContactRows`, and displacements (b, q) of the configuration; gaps
    of the layers (b, k), m; persistent rows (b, r).

    Velocity projection (`arlequin.solvers.velocity_projection`): the velocities (b, d) before it, the tangents (b, t)
    there, its impulses on the rows (b, r) and on the basis (b, q), N·s, its normal and frictional losses, and the work
    of imposed motions (b, 3), J.
    """

    starts: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    values: Array
    gap: Array
    tangents: Array
    contact_displacement: Array
    layer_gap: Array
    persistent: NDArray[np.bool_]
    unprojected: Array
    end_tangents: Array
    impulse: Array
    on_basis: Array
    work: Array


class ModalSystem(NamedTuple):
    """The system without contact in its modes, of mass 1: ω² (d,), 1/s², damping, 1/s, and (1 + τ/2 D + τ²/4 Ω)⁻¹ of
    the outer and the inner stages τ of a whole step: (d, d), or diagonals (1, d) where the damping is diagonal."""

    squares: Array
    damping: Array
    outer: Array
    inner: Array


class LocatedState(NamedTuple):
    """Modal displacements and velocities (d,), contact modes and signs of the slip of the points (k,), displacements of
    sticking points and closed gaps (r,), m, and the largest velocity of the contact so far (1,), m/s."""

    u: Array
    v: Array
    mode: NDArray[np.int64]
    sign: Array
    anchor: Array
    fastest: Array


class LocatedSteps(NamedTuple):
    """Steps (b,) with located events: modal displacements and velocities (b, d), works (b, 5), impulses and, times the
    levers, moments (b, r), gaps at the end, slip, wear and status (b, k), numbers of events, instant of the last one as
    a fraction of the step, residuals (b,). Works, impulses and wear are in units of the modal mass."""

    u: Array
    v: Array
    works: Array
    impulse: Array
    moment: Array
    gaps: Array
    slip: Array
    wear: Array
    status: NDArray[np.int8]
    events: NDArray[np.int64]
    last: Array
    residual: Array


class ExplicitSteps(NamedTuple):
    """Explicit steps (b,): u, v (b, d), impulses of all forces but the constraints' (b, d) and of the contact (b, r),
    N·s; status (b, k); tractions of friction's springs (b, r), Pa; works (b, 3): external, dashpots, layers, J;
    friction_loss (b, k), J; tries (b,): attempted sub-steps."""

    u: Array
    v: Array
    push: Array
    impulse: Array
    status: NDArray[np.int8]
    traction: Array
    works: Array
    friction_loss: Array
    tries: NDArray[np.int64]

    @classmethod
    def allocate(cls, assembly: Assembly, count: int) -> Self:
        """Zeros for `count` steps."""
        size, rows, points = assembly.dof_count, assembly.laws.row_count, assembly.laws.count
        types = {"status": np.int8, "tries": np.int64}
        return zeros_of(cls, count, size, size, size, rows, points, rows, 3, points, (), types=types)


class InverseMass(NamedTuple):
    """Inverse mass under the constraints: the diagonal (d,), or `dense` (d, d) if it is not empty."""

    diagonal: Array
    dense: Array
