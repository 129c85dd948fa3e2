"""`statistical_linearisation`: the random response with gaps, layers and friction, linearised in the mean."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg
import xarray
from numpy.typing import ArrayLike

from arlequin.frequency.complex_factor import ConstrainedFactor, Factors
from arlequin.frequency.equivalents import PlanarEquivalent, mean_speed
from arlequin.frequency.linearised import Linearised, spring_points, without_contact
from arlequin.frequency.modes import ModalBasis, with_static_shapes
from arlequin.frequency.nonlinear_supports import NonlinearSupports, RadialSupport
from arlequin.frequency.outputs import ContactForce, Output, OutputRows
from arlequin.frequency.poles import moments, refined, without_steady_state
from arlequin.frequency.random_loads import RandomLoad, RandomTerm
from arlequin.frequency.random_response import checked_random_loads, response_dataset, spectra_of
from arlequin.frequency.resolution import check_resolution
from arlequin.frequency.response import checked_frequencies, named_outputs, output_rows
from arlequin.frequency.transfer import ModalTransfer, chosen_modes, real_forces, static_lifts
from arlequin.linalg.anderson import AndersonAcceleration
from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.loads.turbulence import TurbulentForce
from arlequin.models.nodal import ExternalLoads
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.results.conventions import described
from arlequin.run.progress import Progress, reporting
from arlequin.system.assembly import Assembly
from arlequin.system.flow import refuse_flows
from arlequin.system.system import System

_LEAST = 1e-24  # variance, relative to the largest of the rows of its kind, that counts as none
_ACROSS = 1e-16  # variance along a direction, relative to that across, that counts as none
_STUCK = 1e-8  # variance of a slip velocity, relative to the first one, below which friction sticks
_MOST = 1.0 - 1e-8  # correlation of the slip along two tangents
_STEP = 1.0  # of ln σ² in an iteration, at most
_RELAXATION = 0.3  # share of the change that is taken, for gaps whose stiffness falls steeply as the motion grows
_PATIENCE = 25  # iterations without a smaller change, in which friction that sticks falls below `_STUCK`
_SMALL = 1e-6  # size of motions at which supports are as at rest, relative to the largest gap
_RETREATS = 30  # from iterates without a steady state
_STARTS = 8  # sizes of the first motion, each four times the one before
_MEAN_STEPS = 100
_BALANCED = 1e-11  # residual of the mean equilibrium, relative to its terms
_INSTANTS = (0.0, 0.3717, 1.1931, 7.0153)  # s, at which imposed motions are compared


@checked_call
def statistical_linearisation(
    system: System,
    psd: Any,
    of: Any,
    frequencies: ArrayLike,
    *,
    structural: float | Mapping[str, float] = 0.0,
    modes: int | None = None,
    modal_damping: float | Sequence[float] | None = None,
    duration: float | None = None,
    tolerance: float = 1e-6,
    iterations: int = 200,
    progress: Progress | bool | None = None,
) -> xarray.Dataset:
    """Stationary random response of a system whose gaps, layers, friction and spring laws are linearised in the mean.

    Each support, a contact point or a row of a spring with a law, is replaced by the stiffness and damping whose mean
    square error is least under the Gaussian response that they lead to,

        k_e = E[∂f/∂x] = E[(f − f̄)(x − m)]/σ²,   c_e = E[∂f/∂ẋ] = E[f ẋ]/σ_v²

    x its gap or elongation with the mean m and rms σ, ẋ with the rms σ_v (formulas: `arlequin.frequency.equivalents`).
    Means are those of K ū + Hᵀ E[f] = f̄, f̄ the steady loads and gravity. Friction has the limit μ E[N], the mean of
    the normal force; with elastic stick it is Jenkins' element under slowly varying amplitudes, as are hysteretic
    springs. Closed rigid contact (`Unilateral`) is a constraint, whose mean force friction takes; rigid stops with a
    gap are refused. In round holes without friction (`RigidCylinder(…, inside=True)`, in 2D `RigidSphere`, `Guides`
    without nose) k_e and c_e are matrices (2, 2) over both displacements across the axis. The basis are modes and the
    static shapes of the supports and outputs; the iteration ends where no variance changes by more than the relative
    `tolerance`. Contact points and normals are those of the start.

    psd, of, frequencies, structural, modes, modal_damping, duration: as of `random_response`, of which this is the
    method "modal"; variances are integrated from the first to the last frequency. Other outputs than motions are those
    of the linear equivalent: a `ContactForce` is k_e x + c_e ẋ.

    Returns the Dataset of `random_response`, and over `support`: `mean` and `rms` of the gap, m, or elongation, and
    `rms_velocity`; `gap_over_rms`, the distance of the mean from where the force starts over the rms, negative in
    contact; `contact_probability`, the share of the time in which the force acts; `equivalent_stiffness`, N/m,
    `equivalent_damping`, N·s/m; `mean_force` and `rms_force`, N, of the nonlinear law under the Gaussian motion,
    positive where it opens the gap; `residual`, the static displacement of the equivalent system under the rms of
    e = f − f̄ − k_e (x − m) − c_e ẋ over the rms of x, by which the error is judged; of friction `friction_stiffness`
    and `friction_damping` (in a plane means by the variances), `rms_slip_velocity`, m/s, `friction_power`, W, that is
    dissipated, μ E[N] E|v| without elastic stick, and `work_rate` = E[N] E|v|, W, of `Archard`, in whose v the motion
    of elastic stick counts, too. In round holes `rms`, `rms_velocity` and `rms_force` are of both directions together,
    coefficients means by the variances, `mean` the gap at the mean place and `mean_force` the size of the mean force.
    Attributes: `iterations`, `change`, the last one of a variance.

    The error depends on how far the response is from Gaussian. Measured on an oscillator of stiffness k under white
    noise, whose exact density is exp(−4cU(x)/S₀), U its potential, gaps over the rms σ₀ without stops:

    * The rms is too small. Stops on both sides, K/k = 1, 4, 10, 100: by at most 0.6, 3.3, 7.0, 21 %, at gaps of 1 to
      1.5 σ₀; at 3 σ₀ by 0.0, 0.2, 0.7, 5.3 %. One stop, K/k = 4, 100: by 6.4, 30 % at 0.1 σ₀, 1.4, 14 % at 2 σ₀.
    * With one stop or two, K/k = 1 to 1000 and gaps of −2 to 5 σ₀, the rms is too small by at most 1.3, 11, 24, 35 %
      where the `residual` is below 0.2, 0.5, 1, 2.
    * The force is too large where contact is rare: its rms for K/k = 10 by 23 % at 1 σ₀, by 102 % at 3 σ₀; for 100 by
      63 % at 1 σ₀, by a factor of 5.7 at 4 σ₀. The share of the time in contact is then 0.46 and 2.4 times the exact
      one: stiff stops turn the motion back, and beyond 3 σ₀ the tails, which alone touch, are not Gaussian.
    * A purely cubic spring: the rms is 7.6 % too small. A buckled spring, between whose wells the response jumps
      (bimodal): 14, 21, 31 % too small with a barrier of 0.25, 0.8, 2.5 times the mean energy S₀/(4c).
    * Friction on the same oscillator, load up to 20 Hz, by Monte Carlo (± 2 to 4 %): rigid, with the limit 0.07 and
      0.35 of the rms load, the rms is 4 and 7 % too small, the power −1 and 8 % wrong. With elastic stick K/k = 10, 3,
      10 and the limit 0.35, 1.1, 1.8 of the rms load, the rms is 14, 17, 38 % too small, as a slider that seldom slips
      leaves its spring at wandering places; the power is within 3 %.

    * A round hole, both directions shaken, K/k = 1, 4, 10, 100: the rms is too small by at most 0.6, 3.1, 6.7, 20 %, at
      1.5 σ₀.

    Under spectra that are not flat the equivalent system resonates at one frequency, in the range of the stop between
    that of the system without and with it, and the error may have either sign:

    * A clamped beam under turbulence that falls above 30 Hz, its end in a play of 0.07 of the free rms with stops 20
      times as stiff as the beam: the rms is 11 % too large (Monte Carlo, ± 6 %); the equivalent resonates at 39 Hz.
    * The rod of `rod_in_grid` in its loose grid, 30 µm, K/k = 120 and 1200, under turbulence that falls above 40 Hz:
      the rms is 29 % too small (± 1 %, residual 1.2), without friction 26 %, in this grid alone 27 %, with a gap of
      95 µm 34 %. One mass between these stops, as stiff as the rod there, under the same spectrum: 19 %; under white
      noise: 11 %, by the exact density. In the middle of the preloaded grid alone: 0.1 µm instead of 1.6 µm,
      presumably as dimples that open when the rod rocks move it by |θ|, which has no linear part. Work rates are
      0.26 to 1.1 of those of the runs.

    UserError for systems without nonlinear support, loads that vary in time in another way, unstable or undamped
    systems, loads that excite no support, and friction that sticks.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 1.0)  # m, kg
    >>> end = mass.boundary("all")
    >>> spring = aq.Spring("spring", end, stiffness=100.0, damping=0.4)  # N/m, N·s/m
    >>> stops = aq.Spring("stops", end, law=aq.springs.Backlash(400.0, gap=0.05))  # N/m, m: σ₀
    >>> white = aq.frequency.Spectrum(aq.frequency.Force(end, 1.0), lambda f: 0.4 + 0.0 * f)  # N²/Hz
    >>> system, of = aq.System([mass], springs=[spring, stops]), aq.frequency.Displacement(end, "x")
    >>> response = aq.statistical_linearisation(system, white, of, [0.0, 50.0], progress=False)
    >>> round(float(response["rms_response"]), 4), round(float(response["gap_over_rms"][0]), 2)  # exact: 0.0391 m
    (0.0378, 1.32)

    Source: Roberts & Spanos, Random Vibration and Statistical Linearization, 1990; Caughey, J. Acoust. Soc. Am. 35
    (1963) 1706–1711.
    """
    hertz = checked_frequencies("frequencies", frequencies)
    if hertz.size < 2:
        raise UserError.parameter("frequencies", frequencies, "must be at least two, from the lowest to the highest")
    checks.positive("tolerance", tolerance)
    checks.positive_integer("iterations", iterations)
    if duration is not None:
        checks.positive("duration", duration)
    loads, outputs = checked_random_loads(psd), named_outputs(of)
    _check_names(outputs)
    linear = without_contact(system, structural)
    refuse_flows(linear.assembly.system.flows, "is not taken by statistical_linearisation: random_response takes it")
    check_resolution(linear, hertz)
    model = _Model.of(linear, loads, outputs, hertz, modes, modal_damping)
    with reporting(progress, "statistical linearisation") as report:
        solution = model.solve(tolerance, iterations, report)
    values, integrals = model.outputs(solution, outputs, hertz, tolerance)
    attributes = {"iterations": solution.iterations, "change": solution.change, "method": "modal"}
    dataset = response_dataset(hertz, outputs, values, integrals, duration, attributes)
    return dataset.assign(model.by_support(solution)).assign_attrs(title="statistical linearisation")


@dataclass(frozen=True, eq=False)
class _Statistics:
    """Variances of the rows (s,), m² and m²/s², and correlations (p,) of the pairs of tangents, −1 < ρ < 1."""

    displacement: Array
    velocity: Array
    pair_displacement: Array
    pair_velocity: Array

    @classmethod
    def of(cls, unknowns: Array, rows: int) -> "_Statistics":
        """From ln σ² of the rows and artanh ρ of the pairs, of displacements and then of velocities (2 (s + p),): all
        values of these are those of covariances."""
        logs, pairs = np.split(unknowns.reshape(2, -1), [rows], axis=1)
        return cls(*np.exp(logs), *np.tanh(pairs))


@dataclass(frozen=True, eq=False)
class _Supported:
    """Equivalents at given statistics: of each support, with powers, W, and mean speeds of the slip, m/s, and springs,
    N/m, and dashpots, N·s/m, (s,) along the principal axes (s, s) of the rows."""

    equivalents: list[PlanarEquivalent]
    means: list[Array]
    normal_forces: Array
    axes: Array
    stiffness: Array
    damping: Array
    friction_powers: Array
    slip_speeds: Array
    coordinates: Array

    def matrix(self, values: Any) -> Any:
        """The matrix (s, s) over the rows of springs or dashpots (s,)."""
        return (self.axes * values) @ self.axes.T


@dataclass(frozen=True, eq=False)
class _Solution:
    """The fixed point."""

    statistics: _Statistics
    supported: _Supported
    splits: int
    iterations: int
    change: float


@dataclass(eq=False)
class _Model:
    """The system without its supports in a basis, with loads and supports; transfer functions to the rows of the
    supports (s,) and to the sums of pairs (p, 2) of tangents.

    bare: without contact; linear: with the constraints of closed rigid contact; loss (s,): η of the rows.
    """

    bare: Linearised
    factors: Factors
    supports: NonlinearSupports
    basis: ModalBasis
    rows: OutputRows
    terms: Sequence[RandomTerm]
    lifts: Sequence[Array | None]
    transfer: ModalTransfer
    modal_damping: float | Sequence[float] | None
    mean_load: Array
    pairs: Indices
    loss: Array
    ends: tuple[float, float]
    _shifted: list[ConstrainedFactor] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        bare: Linearised,
        loads: Sequence[RandomLoad],
        outputs: Mapping[str, Output],
        hertz: Array,
        modes: int | None,
        modal_damping: float | Sequence[float] | None,
    ) -> "_Model":
        """The basis of modes up to three times the highest frequency and of the static shapes."""
        mean_load = _mean_load(bare.assembly) - _internal(bare)
        mean_load[bare.imposed] = 0.0
        supports = NonlinearSupports.of(bare)
        _check_normals(outputs, supports)
        count = supports.rows.shape[0]
        none = np.zeros(count)
        linear = bare.with_contact(supports.linear(np.eye(count), none, none))
        factors = Factors(linear)
        factors.check_definite()
        of_outputs = output_rows(linear, outputs).without_multipliers(factors)
        terms = [term for load in loads for term in load.terms(linear)]
        columns = [term.loads for term in terms]
        lifts = static_lifts(factors, columns)
        inertia = [linear.mass @ lift for lift in lifts if lift is not None]
        forces = [supports.rows.toarray().T, mean_load[:, None], of_outputs.forces, *inertia]
        static = real_forces(linear, np.concatenate(forces, axis=1))
        basis = with_static_shapes(factors, *chosen_modes(factors, float(hertz[-1]), modes), static)
        pairs = np.array([each.pair for each in supports.supports if each.pair], dtype=np.int64)
        pairs = pairs.reshape(-1, 2)
        sums = supports.rows[pairs[:, 0]] + supports.rows[pairs[:, 1]]
        rows = OutputRows.stacked(
            [OutputRows.of(linear, each[[i]]) for each in (supports.rows, sums) for i in range(each.shape[0])]
        )
        transfer = ModalTransfer.of(linear, rows, columns, lifts, basis, modal_damping)
        loss, points = np.zeros(count), supports.points[:count]
        for item, first, last in spring_points(linear.assembly):
            loss[(points >= first) & (points < last)] = linear.loss_factors[item.spring.name]
        ends = float(hertz[0]), float(hertz[-1])
        return cls(
            bare, factors, supports, basis, rows, terms, lifts, transfer, modal_damping, mean_load, pairs, loss, ends
        )

    @property
    def linear(self) -> Linearised:
        """The system without supports."""
        return self.factors.linear

    def supported(self, transfer: ModalTransfer, supported: _Supported) -> ModalTransfer:
        """Transfer functions with the equivalent supports."""
        stiffness = supported.stiffness * (1.0 + 1j * self.loss if self.loss.any() else 1.0)
        return transfer.with_springs(supported.matrix(stiffness), supported.matrix(supported.damping))

    # ---- the fixed point

    def solve(self, tolerance: float, iterations: int, report: Callable[[int, int], None] | None) -> _Solution:
        """Statistics that lead to equivalents that lead to them: Anderson's acceleration of relaxed steps.

        The change grows now and then on the way; where it has no new least value for long, from the point of that again
        by shorter steps."""
        point, steady, coordinates = self._start()
        splits = 0
        used = self._used
        acceleration, relaxation = AndersonAcceleration(np.ones(used.size)), _RELAXATION
        best, since = (point, math.inf), 0
        first, retreats, change = point, 0, np.zeros(point.size)
        for iteration in range(1, iterations + 1):
            self._refuse_sticking(point, first)
            supported = self._supported(_Statistics.of(point, self._row_count), coordinates)
            system = self.supported(self.transfer, supported)
            if reason := without_steady_state(system.poles(self.ends[1]), self.ends):
                retreats += 1
                if retreats > _RETREATS:
                    raise UserError(f"with the mean stiffness and damping of its supports the system has {reason}")
                point, relaxation = 0.5 * (point + steady), 0.5 * relaxation
                acceleration.reset()
                continue
            steady, coordinates = point, supported.coordinates
            change = self._unknowns(self._variances(system, splits)) - point
            # statistics that no equivalent depends on follow the others
            measure = float(np.abs(change[used]).max())
            if report is not None:
                report(iteration, iterations)
            if measure <= tolerance:
                enough = refined(partial(self._variances, system), splits, tolerance)[0]
                if enough == splits:
                    final = _Statistics.of(point + change, self._row_count)
                    return _Solution(final, supported, splits, iteration, measure)
                splits, best, since = enough, (point, math.inf), 0
                acceleration.reset()
                continue
            if measure < best[1]:
                best, since = (point, measure), 0
            else:
                since += 1
            if since == _PATIENCE:
                point, relaxation, since = best[0], 0.5 * relaxation, 0
                acceleration.reset()
                continue
            target = point + np.clip(relaxation * change, -_STEP, _STEP)
            target[used] = acceleration.next(
                target[used], change[used], 0.0
            )  # with all steps, also as the change grows
            point = point + np.clip(target - point, -2.0 * _STEP, 2.0 * _STEP)
        worst = int(used[np.abs(change[used]).argmax()]) % (self._row_count + len(self.pairs))
        raise UserError(
            f"statistical linearisation did not converge in {iterations} iterations: the variance of "
            f"'{self._name_of(worst)}' still changes by {float(np.abs(change[used]).max()):.2g} of it: allow more "
            "iterations or a larger tolerance"
        )

    @property
    def _row_count(self) -> int:
        return self.supports.rows.shape[0]

    @cached_property
    def _used(self) -> Indices:
        """Numbers of the unknowns that equivalents depend on."""
        count = self._row_count + len(self.pairs)
        used, pair = np.zeros((2, count), dtype=bool), self._row_count
        for support in self.supports.supports:
            with_pair = [pair] if support.pair else []
            pair += len(with_pair)
            elastic = [*support.moving, *(with_pair if len(support.moving) == 2 else [])]
            used[0, elastic] = True
            used[1, elastic] = support.rate_dependent or bool(support.memories)
            if support.friction is not None:
                slips = [*support.tangents, *with_pair]
                used[1, slips] = True
                used[0, slips] = math.isfinite(support.friction.stiffness)
        return np.flatnonzero(used.ravel())

    def _start(self) -> tuple[Array, Array, Array]:
        """Statistics of the system with its supports at small motions, which neither separate nor slip; where these are
        rigid in friction, or have no steady state, with open supports, then with equivalents at the size of gaps.

        With statistics of equivalents that have a steady state, and the mean coordinates.
        """
        none = np.zeros(self.basis.mass.size)
        clearances = [abs(support.clearance(support.gap)) for support in self.supports.supports]
        scale = max((each for each in clearances if each > 0.0), default=0.0)
        scale = scale or 1e-3 * self.linear.assembly.contact.scale.extent
        rows, reason = self._row_count, ""
        rate = 2.0 * np.pi * math.sqrt(self.ends[1] * max(self.ends[0], 1e-2 * self.ends[1]))
        sizes = [4.0**k for k in range(_STARTS)]  # a larger motion where the supports are too soft at this one
        slips = any(s.friction is not None and not math.isfinite(s.friction.stiffness) for s in self.supports.supports)
        for size in [*([] if slips else [_SMALL]), None, *sizes]:
            system, coordinates, unknowns = self.transfer, none, None
            if size is not None:
                logs = 2.0 * np.log(size * scale * np.array([[1.0], [rate]])) + np.zeros(rows)
                unknowns = np.hstack([logs, np.zeros((2, len(self.pairs)))]).ravel()
                supported = self._supported(_Statistics.of(unknowns, rows), none)
                system, coordinates = self.supported(self.transfer, supported), supported.coordinates
            if not (reason := without_steady_state(system.poles(self.ends[1]), self.ends)):
                start = self._unknowns(self._variances(system, 0))
                return start, start if unknowns is None else unknowns, coordinates
        raise UserError(f"with the mean stiffness and damping of its supports the system has {reason}")

    def _unknowns(self, variances: Array) -> Array:
        """ln σ² and artanh ρ (2 (s + p),) of variances (2, s + p), none below a share of the largest, and of the other
        of its pair, from which correlations are resolved."""
        rows = variances[:, : self._row_count]
        rows = np.maximum(rows, _LEAST * rows.max(axis=1, keepdims=True))
        first, second = self.pairs.T
        a, b = rows[:, first], rows[:, second]
        rows[:, first], rows[:, second] = np.maximum(a, _ACROSS * b), np.maximum(b, _ACROSS * a)
        a, b = rows[:, first], rows[:, second]
        correlation = 0.5 * (variances[:, self._row_count :] - a - b) / np.sqrt(a * b)
        return np.hstack([np.log(rows), np.arctanh(np.clip(correlation, -_MOST, _MOST))]).ravel()

    def _variances(self, system: ModalTransfer, splits: int) -> Array:
        """Variances (2, s + p) of the rows and of the sums of the pairs, of displacements and velocities."""
        out = self._moments(system, (0, 2), splits) * np.array([[1.0], [4.0 * np.pi**2]])
        if not out.max() > 0.0:
            raise UserError(f"psd: excites none of the nonlinear supports from {self.ends[0]:g} to {self.ends[1]:g} Hz")
        return out

    def _moments(self, system: ModalTransfer, orders: tuple[int, ...], splits: int) -> Array:
        """∫ f^k S df (k, o) of the outputs of transfer functions."""
        low, high = self.ends
        kinks = np.concatenate([term.kinks for term in self.terms])
        edges = np.concatenate([[low], kinks[(kinks > low) & (kinks < high)], [high]])
        size = self.basis.mass.size * max(self.basis.mass.size, system.rows.shape[1])
        return moments(spectra_of(system, self.terms), system.poles(high), edges, orders, size, splits)

    # ---- the supports at given statistics

    def _covariances(self, statistics: _Statistics, rows: tuple[int, ...]) -> tuple[Array, Array]:
        """Covariances (k, k) of the displacements and velocities of one row or a pair."""
        at = np.array(rows, dtype=np.int64)
        out = np.diag(statistics.displacement[at]), np.diag(statistics.velocity[at])
        if len(rows) == 2:
            pair = int(np.flatnonzero(self.pairs[:, 0] == rows[0])[0])
            for matrix, each in zip(out, (statistics.pair_displacement, statistics.pair_velocity), strict=True):
                matrix[0, 1] = matrix[1, 0] = each[pair] * math.sqrt(matrix[0, 0] * matrix[1, 1])
        return out

    def _supported(self, statistics: _Statistics, coordinates: Array) -> _Supported:
        """Mean equilibrium, equivalents, and their matrices."""
        supports = self.supports.supports
        coordinates, equivalents, means = self._equilibrium(statistics, coordinates)
        forces = np.array(
            [
                -float(each.force[0]) if each.force.size == 1 else float(np.linalg.norm(each.force))
                for each in equivalents
            ]
        )
        self._press_tied(forces, equivalents, coordinates)
        axes = np.eye(self._row_count)
        stiffness, damping = np.zeros((2, self._row_count))
        powers, speeds = np.zeros((2, len(supports)))
        for i, (support, each) in enumerate(zip(supports, equivalents, strict=True)):
            dashpots = support.dashpots or support.moving
            for values, rows, matrix in (
                (stiffness, support.moving, each.stiffness),
                (damping, dashpots, each.damping),
            ):
                at = np.array(rows, dtype=np.int64)
                values[at], turned = np.linalg.eigh(matrix)
                if support.dashpots or matrix is each.stiffness:
                    axes[np.ix_(at, at)] = turned
            if isinstance(support, RadialSupport) or not support.tangents:
                continue
            at, covariances = np.array(support.tangents), self._covariances(statistics, support.tangents)
            law = support.friction
            limit = 0.0 if law is None else law.coefficient * max(float(forces[i]), 0.0)
            turned, stiffness[at], damping[at] = support.friction_equivalents(limit, each.acting, *covariances)
            axes[np.ix_(at, at)] = turned
            rates = np.einsum("ai,ab,bi->i", turned, covariances[1], turned)
            powers[i], speeds[i] = float(damping[at] @ rates), mean_speed(np.sqrt(rates))
        return _Supported(equivalents, means, forces, axes, stiffness, damping, powers, speeds, coordinates)

    def _equilibrium(self, statistics: _Statistics, q: Array) -> tuple[Array, list[PlanarEquivalent], list[Array]]:
        """k q + bᵀ E[f](m(q)) = Bᵀ f̄ by Newton's method, whose tangent of E[f] is k_e; supports and their means m."""
        supports = self.supports.supports
        rows = self.transfer.rows[0, [row for support in supports for row in support.moving]].real
        places = np.concatenate([support.place for support in supports])
        bounds = np.cumsum([len(support.moving) for support in supports])[:-1]
        covariances = [self._covariances(statistics, support.moving) for support in supports]
        load = self.basis.shapes.T @ self.mean_load

        def at(q: Array) -> tuple[list[PlanarEquivalent], list[Array], Array, float]:
            means = np.split(places + rows @ q, bounds)
            zipped = zip(supports, means, covariances, strict=True)
            each = [support.planar(mean, *matrices) for support, mean, matrices in zipped]
            forces = np.concatenate([item.force for item in each])
            sizes = np.concatenate([np.full(item.force.size, math.sqrt(item.square)) for item in each])
            terms = self.basis.stiffness * q, rows.T @ forces, load, np.abs(rows.T) @ sizes
            scale = max(float(np.abs(term).max(initial=0.0)) for term in terms)
            return each, means, terms[0] + terms[1] - terms[2], scale

        each, means, residual, scale = at(q)
        for _ in range(_MEAN_STEPS):
            size = float(np.abs(residual).max())
            if size <= _BALANCED * scale:
                return q, each, means
            tangent = scipy.linalg.block_diag(np.zeros((0, 0)), *(item.stiffness for item in each))
            matrix = np.diag(self.basis.stiffness) + rows.T @ tangent @ rows
            step, share = -np.linalg.lstsq(matrix, residual, rcond=1e-14)[0], 1.0
            while True:
                trial = at(q + share * step)
                if float(np.abs(trial[2]).max()) < size or share < 1e-3:
                    break
                share *= 0.5
            if not float(np.abs(trial[2]).max()) < size:
                if size <= 1e3 * _BALANCED * scale:
                    return q, each, means
                break
            q, (each, means, residual, scale) = q + share * step, trial
        raise UserError(
            "the steady loads and the mean forces of the supports have no equilibrium: nothing holds the mean position"
        )

    def _press_tied(self, forces: Array, equivalents: list[PlanarEquivalent], q: Array) -> None:
        """Write the mean forces of closed rigid contact, N: the multipliers of K ū + Hᵀf̄ + Cᵀλ = f."""
        supports = self.supports.supports
        if all(support.tied < 0 for support in supports):
            return
        if not self._shifted:
            self._shifted.append(self.factors.shifted(self.factors.mean_ratio))
        right = self.mean_load + self.factors.mean_ratio * (self.linear.mass @ (self.basis.shapes @ q))
        for support, each in zip(supports, equivalents, strict=True):
            right -= self.supports.rows[list(support.moving)].T @ each.force
        multipliers = self._shifted[0].solve(right[:, None])[1][:, 0]
        pressed = -multipliers[multipliers.size - self.supports.tied.shape[0] :]
        for i, support in enumerate(supports):
            if support.tied >= 0:
                forces[i] = pressed[support.tied]
                if not forces[i] > 0.0:
                    raise UserError(
                        f"interface '{support.name}': its rigid contact is closed at the start, but no steady load "
                        "presses it: give it a stiffness, as Penalty(…)"
                    )

    # ---- errors

    def _refuse_sticking(self, logs: Array, first: Array) -> None:
        count = self._row_count + len(self.pairs)
        fall = logs[count:] - first[count:]
        for support in self.supports.supports:
            law = support.friction
            if law is None or math.isfinite(law.stiffness) or law.compliance > 0.0:
                continue
            if all(fall[row] < math.log(_STUCK) for row in support.tangents):
                raise UserError(
                    f"interface '{support.name}': its friction sticks, the rms of its slip velocity tends to 0: give "
                    'it a stiffness, Coulomb(…, stiffness=), or take random_response(contact="stuck")'
                )

    def _name_of(self, row: int) -> str:
        """Name of the support of a row or a pair."""
        if row >= self._row_count:
            row = int(self.pairs[row - self._row_count, 0])
        return next(s.name for s in self.supports.supports if row in (*s.moving, *s.tangents))

    # ---- results

    def outputs(
        self, solution: _Solution, outputs: Mapping[str, Output], hertz: Array, tolerance: float
    ) -> tuple[Array, Array]:
        """Densities (f, o) at the frequencies, and m_k = ∫ f^k S df (3, o), k = 0, 2, 4."""
        supported = solution.supported
        linear = self.bare.with_contact(self.supports.linear(supported.axes, supported.stiffness, supported.damping))
        rows = OutputRows.stacked([self.rows, output_rows(linear, outputs).without_multipliers(Factors(linear))])
        columns = [term.loads for term in self.terms]
        system = self.supported(
            ModalTransfer.of(self.linear, rows, columns, self.lifts, self.basis, self.modal_damping), supported
        )
        _, integrals = refined(partial(self._moments, system, (0, 2, 4)), solution.splits, tolerance)
        count = self.rows.load.shape[0]
        return spectra_of(system, self.terms)(hertz)[:, count:], integrals[:, count:]

    def _flexibility(self, supported: _Supported) -> Array:
        """Static displacements (s,), m/N, of the rows of the equivalent system under unit forces along each."""
        rows = self.transfer.rows[0, : self._row_count].real
        matrix = np.diag(self.basis.stiffness) + rows.T @ supported.matrix(supported.stiffness) @ rows
        return np.einsum("sr,rs->s", rows, np.linalg.lstsq(matrix, rows.T, rcond=1e-14)[0])

    def by_support(self, solution: _Solution) -> xarray.Dataset:
        """The numbers of each support."""
        supports, supported, statistics = self.supports.supports, solution.supported, solution.statistics
        columns: dict[str, list[float]] = {name: [] for name in _COLUMNS}
        flexibility = self._flexibility(supported)
        for i, (support, each) in enumerate(zip(supports, supported.equivalents, strict=True)):
            values = dict.fromkeys(_COLUMNS, math.nan)
            normal_force = float(supported.normal_forces[i])
            values["mean_force"] = normal_force
            values["contact_probability"] = each.acting
            if support.moving:
                moved, rated = self._covariances(statistics, support.moving)
                rms, mean = math.sqrt(np.trace(moved)), support.gap_at(supported.means[i])
                varying = each.square - float(each.force @ each.force)
                parts = ((each.stiffness, moved), (each.damping, rated))
                missed = varying - sum(float(np.trace(k @ matrix @ k)) for k, matrix in parts)
                soft = float(flexibility[list(support.moving)].mean())
                values |= {
                    "mean": mean,
                    "rms": rms,
                    "rms_velocity": math.sqrt(np.trace(rated)),
                    "gap_over_rms": support.clearance(mean) / rms,
                    "equivalent_stiffness": float(np.trace(each.stiffness @ moved) / np.trace(moved)),
                    "equivalent_damping": float(np.trace(each.damping @ rated) / np.trace(rated)),
                    "rms_force": math.sqrt(max(varying, 0.0)),
                    "residual": soft * math.sqrt(max(missed, 0.0)) / rms,
                }
            if support.tangents:
                at = np.array(support.tangents)
                power = float(supported.friction_powers[i])
                moved, rated = (each[at] for each in (statistics.displacement, statistics.velocity))
                stiffness = supported.matrix(supported.stiffness)[at, at]
                values |= {
                    "friction_stiffness": float(stiffness @ moved / moved.sum()),
                    "friction_damping": power / float(rated.sum()),
                    "rms_slip_velocity": math.sqrt(rated.sum()),
                    "friction_power": power,
                    "work_rate": max(normal_force, 0.0) * float(supported.slip_speeds[i]),
                }
            for name, value in values.items():
                columns[name].append(value)
        fields = {
            name: ("support", values, described(*_COLUMNS[name]))
            for name, values in columns.items()
            if not np.isnan(values).all() or name in _ALWAYS
        }
        return xarray.Dataset(fields, {"support": [support.name for support in supports]})


_ALWAYS = {"mean", "rms", "gap_over_rms"}
_COLUMNS = {
    "mean": ("m", "mean of the gap or elongation"),
    "rms": ("m", "rms of the gap or elongation about its mean"),
    "rms_velocity": ("m/s", "rms of its rate"),
    "gap_over_rms": ("1", "distance of the mean from where the force starts, over the rms"),
    "contact_probability": ("1", "share of the time in which the force acts"),
    "equivalent_stiffness": ("N/m", "equivalent stiffness"),
    "equivalent_damping": ("N s/m", "equivalent damping"),
    "mean_force": ("N", "mean of the force"),
    "rms_force": ("N", "rms of the force about its mean"),
    "residual": ("1", "static displacement under the rms force beside the equivalent, over the rms"),
    "friction_stiffness": ("N/m", "equivalent stiffness of friction"),
    "friction_damping": ("N s/m", "equivalent damping of friction"),
    "rms_slip_velocity": ("m/s", "rms of the slip velocity"),
    "friction_power": ("W", "mean power dissipated by friction"),
    "work_rate": ("W", "mean normal force times mean tangential speed"),
}


def _check_names(outputs: Mapping[str, Output]) -> None:
    """UserError for outputs whose variables have the names of those of the supports."""
    for name in outputs:
        taken = {name, f"rms_{name}"} & {"support", *_COLUMNS}
        if taken:
            raise UserError(f"of: no output may be named {name!r}, as {min(taken)!r} is of the supports")


def _check_normals(outputs: Mapping[str, Output], supports: NonlinearSupports) -> None:
    """UserError for normal forces in round holes, which are not linear in the motion."""
    holes = {item.name.split("[")[0] for item in supports.supports if isinstance(item, RadialSupport)}
    for name, output in outputs.items():
        if isinstance(output, ContactForce) and output.component == "normal" and output.interface.name in holes:
            raise UserError(f"of['{name}']: in a round hole the normal turns: take ContactForce(…, 'x'), 'y' or 'z'")


def _mean_load(assembly: Assembly) -> Array:
    """Steady loads and gravity (d,), N; UserError where a load or a motion of a support varies in time."""
    gravity = assembly.system.gravity
    if callable(gravity):
        raise UserError("gravity: statistical linearisation is of stationary motion: it must not vary in time")
    load = assembly.load(0.0).copy()
    for part, assembled, at in zip(assembly.system.parts, assembly.parts, assembly.places, strict=True):
        loads = getattr(assembled, "loads", None)
        varying = loads.varying if isinstance(loads, ExternalLoads) else ()
        for force in varying:
            if isinstance(force, TurbulentForce):
                load[at] -= force(0.0)
        if not assembled.steady and not (varying and all(isinstance(force, TurbulentForce) for force in varying)):
            raise UserError(
                f"part '{part.name}': its loads vary in time, but statistical linearisation is of stationary motion: "
                "give random loads by psd"
            )
    moved = np.array([assembly.imposed(t) for t in _INSTANTS])
    velocity = moved[:, ~assembly.imposes_displacement]
    if moved.size and (np.ptp(moved, axis=0).any() or velocity.any()):
        raise UserError(
            "imposed: statistical linearisation is of stationary motion: supports must stay at rest (shake them by "
            "aq.frequency.BaseAcceleration)"
        )
    return load


def _internal(linear: Linearised) -> Array:
    """Internal forces (d,) at the start, N."""
    assembly = linear.assembly
    if not assembly.path_dependent:
        return assembly.internal(linear.state)[0]
    return assembly.respond(linear.state, linear.memory, 1.0).force
