"""Adjoints: derivatives of one number of a run by many parameters, carried backwards through its steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.run.progress import Progress, reporting
from arlequin.run.simulate import Study
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.operators import DENSE, StepOperators
from arlequin.sensitivity.responses import BlockResponse, Response, SeriesWeights, Sources
from arlequin.sensitivity.step_equations import ThetaEquations
from arlequin.sensitivity.tangent import derived, impulse_matrix, start_springs
from arlequin.sensitivity.trajectory import Wear, blocks
from arlequin.step.state import State


@dataclass(frozen=True, eq=False)
class _Checkpoint:
    """What a block is computed from again: its first state, wear and spring tractions; number of steps."""

    state: State
    wear: Wear
    springs: Array
    steps: int


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Adjoints of the equations of b steps: of the b- and the c-equation (b, d), (b, m), of E, s₁ and w (b, r)."""

    motion: Array
    constraints: Array
    contact: Array
    springs: Array
    worn: Array


class Adjoint:
    """The adjoints of a run's steps."""

    def __init__(self, equations: ThetaEquations, operators: StepOperators) -> None:
        """operators: shared by the adjoints of all responses."""
        self.model, self.equations, self.operators = equations.model, equations, operators
        assembly = equations.model.assembly
        none = np.zeros(assembly.laws.row_count)
        # of u, v (d,), springs, depth and opening (r,) at the end of the steps still to be passed
        self.state = (np.zeros(assembly.dof_count), np.zeros(assembly.dof_count), *(none.copy() for _ in range(3)))

    def steps(self, linear: LinearSteps, sources: Sources) -> Multipliers:
        """Passes the steps of a block backwards."""
        small = self.model.assembly.dof_count <= DENSE
        found = (self._small if small else self._large)(linear, sources)
        u, v, springs, *_ = self.state
        u += sources.u[0]
        v += sources.v[0]
        springs += sources.springs[0]
        return found

    def _small(self, linear: LinearSteps, sources: Sources) -> Multipliers:
        """By dense operators, in a compiled loop."""
        from arlequin.sensitivity._recursion_kernels import adjoint_steps

        count, d, r = len(linear.block), self.operators.count, self.operators.rows
        out = (np.zeros((count, d)), *(np.zeros((count, r)) for _ in range(3)))
        tables = linear.tables
        adjoint_steps(
            (self.equations.step, self.equations.theta), self.operators.dense, linear.rows_of_points, tables.each,
            (tables.by_depth, tables.by_opening),
            (
                np.ascontiguousarray(sources.u[1:]), np.ascontiguousarray(sources.v[1:]), sources.impulse,
                np.ascontiguousarray(sources.springs[1:]), sources.depth, sources.rows_u, sources.rows_v,
                sources.depth_before, sources.opening_before,
            ),
            self.state, out, linear.contact.laws.has_elastic_stick,
        )  # fmt: skip
        y, contact, springs, worn = out
        motion, multipliers = self.operators.solve(y)
        return Multipliers(motion, -multipliers, contact, springs, worn)

    def _large(self, linear: LinearSteps, sources: Sources) -> Multipliers:
        """By passes over the factor."""
        equations, assembly, rows = self.equations, self.model.assembly, linear.rows_of_points
        if self.operators.imposed.size:
            raise UserError("the adjoint of a large study takes no imposed motions: take method='tangent'")
        condensed, theta, step = equations.condensed, equations.theta, equations.step
        basis, tables, r = assembly.contact.basis_product, linear.tables, self.operators.rows
        count, m = len(linear.block), self.operators.multipliers
        u, v, s, depth, opening = self.state
        half = condensed.room_for_each(1)
        out = Multipliers(np.zeros((count, u.size)), np.zeros((count, m)), *(np.zeros((count, r)) for _ in range(3)))
        for j in range(count - 1, -1, -1):
            own = [table[j] for table in tables.each]
            u += sources.u[j + 1]
            v += sources.v[j + 1]
            s += sources.springs[j + 1]
            depth += sources.depth[j]
            worn = opening + depth
            impulse = sources.impulse[j] + _scattered(rows, own[10], worn)
            both = _scattered(rows, own[11], worn)
            v += basis.transposed(both)
            rows_u = sources.rows_u[j] + _scattered(rows, own[7], s)
            rows_v = sources.rows_v[j] + both + _scattered(rows, own[8], s)
            impulse += _scattered(rows, own[5], s)
            y = step * u + v / theta + basis.transposed(_scattered(rows, own[6], s))
            multipliers, rows_y = condensed.predict_each(y[None], np.zeros((1, m)), half)
            turned = self._turned(rows, own[0], own[1], impulse + theta * rows_y[0])
            out.worn[j], out.springs[j], out.contact[j] = worn, s, -turned
            push = _scattered(rows, own[1], -turned)
            solved = np.empty((1, u.size))
            condensed.correct_each(half, multipliers, push[None], solved, None)
            motion, constraint = solved[0], -multipliers[0]
            out.motion[j], out.constraints[j] = motion, constraint
            rows_u += _scattered(rows, own[2], -turned)
            rows_v += _scattered(rows, own[3], -turned)
            u += basis.transposed(rows_u) - theta * step * (assembly.stiffness @ motion)
            rates = assembly.mass @ motion + (1.0 - theta) * (assembly.constraints.T @ constraint)
            v[:] = basis.transposed(rows_v) + rates - (1.0 - theta) / theta * v
            s[:] = _scattered(rows, own[9], s) + _scattered(rows, own[4], -turned)
            depth += sources.depth_before[j] - tables.by_depth[j] * turned
            opening[:] = sources.opening_before[j] - tables.by_opening[j] * turned
        return out

    def _turned(self, rows: Indices, by_impulse: Array, by_y: Array, right: Array) -> Array:
        """(∂E/∂P + θ ∂E/∂y W)⁻ᵀ of a right-hand side (r,)."""
        coupled, matrix = impulse_matrix(
            rows, by_impulse, by_y, self.operators.compliance, self.equations.theta, right != 0.0
        )
        out = np.zeros_like(right)
        if coupled.size:
            out[coupled] = np.linalg.solve(matrix.T, right[coupled])
        return out


def run_with_adjoint(
    study: Callable[..., Study],
    at: Mapping[str, float],
    scales: Mapping[str, float],
    wrt: Sequence[str],
    responses: Mapping[str, Response],
    progress: Progress | bool | None = None,
) -> tuple[list[float], Array]:
    """Values of responses of study(**at), and their derivatives (response, parameter)."""
    model, derivatives = derived(study, at, scales, wrt)
    equations = ThetaEquations(model)
    operators = StepOperators(equations)
    adjoints = {name: Adjoint(equations, operators) for name in responses}
    steps, every = model.study.steps, model.study.fields_every
    kept: list[_Checkpoint] = []
    pieces: dict[str, list[Array]] = {name: [] for name in responses}
    springs = start_springs(model)
    # solves have few right-hand sides: more BLAS threads would only wait for each other
    with reporting(progress, "adjoint") as told, threadpool_limits(1, user_api="blas"):
        for block in blocks(model, None, None, steps):
            linear = LinearSteps.of(equations, block, springs, operators.diagonal)
            linear.check()
            kept.append(_Checkpoint(block.start, block.wear, springs, len(block)))
            for name, response in responses.items():
                pieces[name].append(BlockResponse(response, linear).values())
            springs = linear.springs[-1]
            if told is not None:
                told((block.n + len(block)) // 2, steps)
        weighted = {name: SeriesWeights(own, steps, every) for name, own in responses.items()}
        values = [own.value(np.concatenate(pieces[name])) for name, own in weighted.items()]
        gradient = np.zeros((len(responses), len(wrt)))
        for checkpoint in reversed(kept):
            state = checkpoint.state
            (block,) = blocks(model, state, checkpoint.wear, state.n + checkpoint.steps)
            linear = LinearSteps.of(equations, block, checkpoint.springs, operators.diagonal)
            numbers = np.arange(state.n + 1, state.n + checkpoint.steps + 1)
            at_once = [equations.by_parameter(block, own) for own in derivatives]
            by_contact = [linear.by_parameter(own) for own in derivatives]
            for i, (name, response) in enumerate(responses.items()):
                here = BlockResponse(response, linear)
                local = weighted[name].of(numbers, here.values())
                passed = adjoints[name].steps(linear, here.sources(local))
                for k, own in enumerate(derivatives):
                    gradient[i, k] += here.by_parameter(local, own) + _product(passed, at_once[k], by_contact[k])
            if told is not None:
                told(steps - state.n // 2, steps)
    for i, adjoint in enumerate(adjoints.values()):
        u, v, *_ = adjoint.state
        for k, own in enumerate(derivatives):
            gradient[i, k] += u @ own.start[0] + v @ own.start[1]
    return values, gradient


def _product(passed: Multipliers, given: tuple[Array, Array, Array], by_contact: tuple[Array, Array, Array]) -> float:
    """Σ of the adjoints times what a parameter alone changes."""
    right, missing, imposed = given
    if imposed.any():
        raise UserError("a parameter of imposed motions has no adjoint: take method='tangent'")
    pairs = (
        (passed.motion, right), (passed.constraints, missing), (passed.contact, by_contact[0]),
        (passed.springs, by_contact[1]), (passed.worn, by_contact[2]),
    )  # fmt: skip
    return float(sum(np.vdot(a, b) for a, b in pairs))


def _scattered(rows: Indices, table: Array, field: Array) -> Array:
    """The transpose of the coupling of the rows of each point: out[rows[i, b]] += table[i, b] field[i]."""
    out = np.zeros(field.size + 1)
    np.add.at(out, rows, table * field[:, None])
    return out[:-1]
