"""Transfer functions from loads to outputs: a factor at each frequency, or modes with static shapes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.linearised import Linearised
from arlequin.frequency.modes import ModalBasis, modes_up_to, natural_modes, with_static_shapes
from arlequin.frequency.outputs import OutputRows
from arlequin.frequency.quadratic_pencil import Complex, all_eigenvalues
from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.system.flow import FlowTerms

METHODS = ("direct", "modal")
BEYOND = 3.0  # modes up to this multiple of the highest frequency
LEAST_IN_FLOW = 8  # modes in a flow, at least
_BOTH = 50  # static shapes of the loads or outputs that are more, at most
_AT_RESONANCE = 1e-9  # |k − ω² m|, relative to the larger of both, below which an undamped system resonates


@dataclass(frozen=True, eq=False)
class LoadColumns:
    """Unit loads s: forces F (d, s), by the product across(z) = Fᵀz (s, k), and imposed amplitudes U (p, s).

    forces (d, s): F itself; None where there are many, as of distributed loads, which prescribe nothing and are
    independent of each other, of one density.
    """

    count: int
    across: Callable[[Array], Array]
    forces: Array | None
    prescribed: Array

    @classmethod
    def of(cls, forces: Array, prescribed: Array) -> "LoadColumns":
        """Of columns F (d, s) and U (p, s)."""
        return cls(forces.shape[1], lambda z: forces.T @ z, forces, prescribed)

    @classmethod
    def distributed(cls, linear: Linearised, count: int, across: Callable[[Array], Array]) -> "LoadColumns":
        """Of many independent forces."""
        return cls(count, across, None, np.zeros((linear.imposed.size, count)))


class Transfer(Protocol):
    """Transfer functions of a linearised system."""

    def at(self, frequency: float) -> list[Array]:
        """H (o, s) of each of the loads at a frequency, Hz: the outputs under the unit loads."""


@dataclass(frozen=True, eq=False)
class DirectTransfer:
    """H by the factor of K + iH + iωD − ω²M: the responses to the loads, or those of the transposed equations to the
    outputs where these are fewer."""

    factors: Factors
    rows: OutputRows
    loads: Sequence[LoadColumns]

    def at(self, frequency: float) -> list[Array]:
        """As of `Transfer`."""
        factor, motion = self.factors.at(frequency), self.rows.at(frequency)
        given = all(load.forces is not None for load in self.loads)
        if given and sum(load.count for load in self.loads) <= motion.shape[0]:
            return [self._forward(frequency, motion, load) for load in self.loads]
        z, moved = factor.adjoint(motion.T, self.rows.multiplier.T.toarray())
        total = z + self.rows.load.T.toarray()
        return [load.across(total).T + moved.T @ load.prescribed for load in self.loads]

    def _forward(self, frequency: float, motion: Array, load: LoadColumns) -> Array:
        forces = load.forces
        assert forces is not None
        u, multipliers = self.factors.at(frequency).solve(forces, load.prescribed)
        return np.asarray(motion @ u + self.rows.multiplier @ multipliers + self.rows.load @ forces)


@dataclass(frozen=True, eq=False)
class _ModalLoad:
    """A load in the basis: BᵀF (r, s), f F (o, s) of the outputs, and with the static lift L (d, s) of the supports
    BᵀKL + iBᵀHL, BᵀDL, BᵀML (3, r, s) and r_k L (3, o, s)."""

    forces: Array
    passed: Array
    lift: Array | None
    lifted: Array | None


@dataclass(frozen=True, eq=False)
class ModalTransfer:
    """H in a basis B (d, r) of modes and static shapes: with u = L U + B q, L the static lift of the supports,

    (k + BᵀK_f B + i BᵀHB + iω (BᵀDB + 2ζ√(km)) − ω² m) q = Bᵀ (F − A L U),

    k of the system without flows, K_f of its flows, whose damping is part of D. static (r, r): BᵀK_f B + i BᵀHB, and
    the stiffness of springs between the outputs; distributed loads are replaced by at most r + o of the same density.
    """

    stiffness: Array
    mass: Array
    damping: Array
    static: Array
    rows: Array
    loads: Sequence[_ModalLoad]
    damped: bool
    count: int

    @classmethod
    def of(
        cls,
        linear: Linearised,
        rows: OutputRows,
        loads: Sequence[LoadColumns],
        lifts: Sequence[Array | None],
        basis: ModalBasis,
        modal_damping: float | Sequence[float] | None,
    ) -> "ModalTransfer":
        """The outputs, without multipliers, and the loads with their lifts (d, s) in a basis."""
        shapes = basis.shapes
        damping, structural = (shapes.T @ (matrix @ shapes) for matrix in (linear.damping, linear.structural))
        static = 1j * structural
        if linear.flow is not None:
            static = static + shapes.T @ (linear.flow.stiffness @ shapes)
        damped = linear.damped
        if modal_damping is not None:
            ratios = _ratios(modal_damping, basis.modes, shapes.shape[1])
            damping = damping + np.diag(2.0 * ratios * np.sqrt(basis.stiffness * basis.mass))
            damped = damped or bool(ratios.any())
        motion = np.stack([row @ shapes for row in rows.motion])
        in_basis = [_in_basis(linear, rows, shapes, load, lift) for load, lift in zip(loads, lifts, strict=True)]
        return cls(basis.stiffness, basis.mass, damping, static, motion, in_basis, damped, basis.modes)

    def eigenvalues(self, shift: float, structural: bool) -> Complex:
        """λ (m,), 1/s, with Im λ ≥ 0, of λ²m + λD + k + BᵀK_f B, structural: + iBᵀHB; see `all_eigenvalues`."""
        stiffness = np.diag(self.stiffness) + (self.static if structural else self.static.real)
        return all_eigenvalues(np.diag(self.mass), self.damping, stiffness, shift)[0]

    def poles(self, highest: float) -> Complex:
        """The eigenvalues with structural damping; highest: frequency, Hz, of their scale."""
        return self.eigenvalues(2.0 * np.pi * highest, structural=True)

    def with_springs(self, stiffness: Array, damping: Array) -> "ModalTransfer":
        """With springs and dashpots between the first n outputs, displacements y: forces −(K + iωC) y, K and C (n, n),
        K complex of hysteretic ones."""
        first = slice(0, len(stiffness))
        rows = self.rows[0, first]
        loads = []
        for load in self.loads:
            if load.lift is not None and load.lifted is not None:
                lifted = load.lifted[0, first]
                of_springs = [rows.T @ (matrix @ lifted) for matrix in (stiffness, damping)]
                load = replace(load, lift=load.lift + np.stack([*of_springs, np.zeros_like(of_springs[0])]))
            loads.append(load)
        return replace(
            self,
            damping=self.damping + rows.T @ damping @ rows,
            static=self.static + rows.T @ stiffness @ rows,
            loads=loads,
            damped=self.damped or bool(damping.any() or np.imag(stiffness).any()),
        )

    def at(self, frequency: Any) -> list[Array]:
        """As of `Transfer`; of frequencies (f,) H (f, o, s)."""
        omega = 2.0 * np.pi * np.asarray(frequency, dtype=float)
        powers = np.stack([np.ones_like(omega), 1j * omega, -(omega**2)], axis=-1)
        inertia = omega[..., None] ** 2 * self.mass
        elastic = self.stiffness - inertia
        matrix = np.eye(self.mass.size) * elastic[..., None] + self.static + 1j * omega[..., None, None] * self.damping
        motion = np.tensordot(powers, self.rows, 1)
        undamped = not self.damped and not self.static.any()
        if undamped and (np.abs(elastic) <= _AT_RESONANCE * np.maximum(self.stiffness, inertia)).any():
            raise UserError(_singular(frequency))
        try:
            # of the transposed equations, as outputs are often fewer
            z = np.linalg.solve(matrix.swapaxes(-1, -2), motion.swapaxes(-1, -2)).swapaxes(-1, -2)
        except np.linalg.LinAlgError:
            raise UserError(_singular(frequency)) from None
        out = []
        for load in self.loads:
            forces = load.forces
            if load.lift is not None:
                forces = forces - np.tensordot(powers, load.lift, 1)
            response = z @ forces + load.passed
            out.append(response if load.lifted is None else response + np.tensordot(powers, load.lifted, 1))
        return out


def transfer_of(
    factors: Factors,
    rows: OutputRows,
    loads: Sequence[LoadColumns],
    modes: tuple[Array, Array] | None,
    modal_damping: float | Sequence[float] | None,
) -> DirectTransfer | ModalTransfer:
    """The transfer functions in a basis of modes ω (m,), (d, m) with the static shapes of the loads and of the outputs,
    of those that are more if they are at most 50; with None by a factor at each frequency."""
    if modes is None:
        return DirectTransfer(factors, rows, loads)
    linear, rows = factors.linear, rows.without_multipliers(factors)
    lifts = static_lifts(factors, loads)
    sides = _static_forces(linear, rows, loads, lifts)
    if linear.flow is not None:
        # without these shapes the error is the square root of that with them
        fewer = int(not sides[0].shape[1] or 0 < sides[1].shape[1] < sides[0].shape[1])
        sides[fewer] = np.hstack([sides[fewer], _flow_on_modes(linear, linear.flow, modes[1], bool(fewer))])
    basis = with_static_shapes(factors, *modes, *sides)
    return ModalTransfer.of(linear, rows, loads, lifts, basis, modal_damping)


def chosen_modes(factors: Factors, highest: float, modes: int | None) -> tuple[Array, Array]:
    """ω (m,) and shapes (d, m), without flows: `modes` of them, or those up to a multiple of the frequency `highest`,
    Hz, in a flow, which couples them, eight at least."""
    still = factors.still
    if modes is not None:
        return natural_modes(still, checks.positive_integer("modes", modes))
    chosen = modes_up_to(still, 2.0 * np.pi * BEYOND * highest)
    if factors.linear.flow is None or chosen[0].size >= LEAST_IN_FLOW:
        return chosen
    return natural_modes(still, LEAST_IN_FLOW)


def _singular(frequency: Any) -> str:
    where = f"{np.mean(frequency):g} Hz" if np.ndim(frequency) == 0 else "one of the frequencies"
    return f"at {where} the equations are singular: an undamped resonance, or a motion that nothing holds"


def static_lifts(factors: Factors, loads: Sequence[LoadColumns]) -> list[Array | None]:
    """Static displacements (d, s) under the imposed amplitudes of each load, None without any."""
    return [
        factors.shifted(0.0).solve(np.zeros((factors.linear.dof_count, load.count)), load.prescribed)[0]
        if load.prescribed.any()
        else None
        for load in loads
    ]


def _static_forces(
    linear: Linearised, rows: OutputRows, loads: Sequence[LoadColumns], lifts: Sequence[Array | None]
) -> list[Array]:
    """Forces (d, k), real, of the static shapes: the loads, none of them where one is distributed, and the outputs, of
    those that are more only up to 50. One side makes statics exact."""
    columns: list[Array] = []
    for load, lift in zip(loads, lifts, strict=True):
        if load.forces is None:
            return [np.zeros((linear.dof_count, 0)), real_forces(linear, rows.forces)]
        columns.append(load.forces)
        if lift is not None:  # inertia of the moved frame
            columns.append(linear.mass @ lift)
    sides = [real_forces(linear, each) for each in (np.concatenate(columns, axis=1), rows.forces)]
    more = int(sides[1].shape[1] >= sides[0].shape[1])
    if sides[more].shape[1] > _BOTH:
        sides[more] = sides[more][:, :0]
    return sides


def _flow_on_modes(linear: Linearised, flow: FlowTerms, shapes: Array, transposed: bool) -> Array:
    """Forces K_f φ and C_f φ (d, 2m) of a flow on the modes, which move others with them; transposed: of adjoints."""
    matrices = (matrix.T if transposed else matrix for matrix in (flow.stiffness, flow.damping))
    return real_forces(linear, np.hstack([matrix @ shapes for matrix in matrices]))


def real_forces(linear: Linearised, forces: Array) -> Array:
    """Real and imaginary parts (d, 2k) on the free coordinates."""
    out = np.concatenate([forces.real, forces.imag], axis=1) if np.iscomplexobj(forces) else forces.copy()
    out = np.asarray(out, dtype=float)
    out[linear.imposed] = 0.0
    return out[:, np.abs(out).max(axis=0, initial=0.0) > 0.0]


def _in_basis(linear: Linearised, rows: OutputRows, basis: Array, load: LoadColumns, lift: Array | None) -> _ModalLoad:
    forces, passed = load.across(basis).T, load.across(rows.load.T.toarray()).T
    direct = passed.any(axis=1)  # outputs that a load acts on, of few at most
    both = np.concatenate([forces, passed[direct]])
    if load.forces is None and both.shape[1] > both.shape[0]:  # F S Fᴴ = S RᴴR
        triangle: Any = np.linalg.qr(both.conj().T, mode="r")
        forces, passed = triangle.conj().T[: len(forces)], np.zeros((len(passed), len(both)), dtype=both.dtype)
        passed[direct] = triangle.conj().T[len(forces) :]
    if lift is None:
        return _ModalLoad(forces, passed, None, None)
    matrices = linear.stiffness + 1j * linear.structural, linear.damping, linear.mass
    lifted = np.stack([np.asarray(row @ lift) for row in rows.motion])
    return _ModalLoad(forces, passed, np.stack([basis.T @ (matrix @ lift) for matrix in matrices]), lifted)


def _ratios(value: float | Sequence[float], modes: int, size: int) -> Array:
    """ζ (r,) of the basis: of the modes those given, of static shapes that of the last mode."""
    ratios = np.atleast_1d(checks.finite_array("modal_damping", value))
    if ratios.ndim != 1 or (ratios < 0.0).any() or ratios.size not in {1, modes}:
        raise UserError.parameter("modal_damping", value, f"must be one number ≥ 0, or {modes}, one for each mode")
    return np.concatenate([np.broadcast_to(ratios, (modes,)), np.full(size - modes, ratios[-1])])
