"""The discrete equations of a study at neighbouring values of a parameter, and their derivatives by it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.reduction.modal import Modal, ModalAssembled
from arlequin.models.types import Array
from arlequin.run.run import stepper_of
from arlequin.run.simulate import Study
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.central_bulk import BulkCentralStepper
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.one_step import OneStep
from arlequin.schemes.one_step_state import start_state
from arlequin.solvers.initial_state import start_fields
from arlequin.step.scheme import Stepper, time_errors
from arlequin.step.state import State
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.densities import check_masses
from arlequin.system.flow import refuse_flows
from arlequin.system.same_data import same_data

# of the scale of a parameter: step δ of the differences of data, which are smooth in it. Modes have a round-off of
# 1e-11, 1e-6 of a derivative at 2e-5; recorded works have differences of order 2, 4e-7 of one at 1e-4
RELATIVE_STEP = 5e-5
_SMOOTH = 1e-3  # of a derivative: largest deviation of the differences over δ and 2δ
_NOISE = 1e-7  # of the terms of a start; `_SMOOTH` of it, 1e-10, is round-off: modes have 1e-11, more with some BLAS
WEIGHTS = {-2: 1.0 / 12.0, -1: -2.0 / 3.0, 1: 2.0 / 3.0, 2: -1.0 / 12.0}


@dataclass(frozen=True, eq=False)
class StudyModel:
    """A study assembled: its matrices, loads and start, in coordinates that change smoothly with the parameters.

    Coordinates q of a modal part belong to its modes Φ, which an eigenvalue solver gives with any sign, and of equal
    frequencies with any rotation. With those of another model as `base`, Φ₀, the coordinates are q₀ of Φ T q₀,

        T = (Φ₀ᵀ M₀ Φ)⁻¹,

    which spans the same motions. mode_map (d, d): T of all parts, None where no part is modal. same_loads: whether
    loads and imposed motions are those of `base`, whose functions are then not called again.
    """

    study: Study
    assembly: Assembly
    mode_map: sp.csr_array | None = None
    base: "StudyModel | None" = field(default=None, repr=False)
    same_loads: bool = False
    _loads: dict[str, Any] = field(default_factory=dict, repr=False)  # of the last block

    @classmethod
    def of(cls, study: Study, base: "StudyModel | None" = None) -> "StudyModel":
        """Assembled as a run does; UserTypeError where study is not a Study."""
        if not isinstance(study, Study):
            raise UserTypeError.parameter(
                "study", study, "must give a Study, as aq.Study(system, aq.Theta(), 1.0, 0.01)"
            )
        scheme, step = study.scheme, study.step
        if base is not None:
            for part, old in zip(study.system.parts, base.study.system.parts, strict=False):
                if isinstance(part, Modal) and isinstance(old, Modal) and part is not old and same_data(part, old):
                    part.take_over(old)  # modes take longest
        check_masses(study.system, scheme.static)
        refuse_flows(study.system.flows, "gradients take no flows")
        assembly = assemble(study.system, time_errors(scheme, study.system, step))
        if base is None:
            return cls(study, assembly)
        same_loads = same_data(_driving(base.study), _driving(study))
        return cls(study, assembly, _mode_map(base.assembly, assembly), base, same_loads)

    @cached_property
    def stepper(self) -> Stepper:
        """The stepper of the scheme; of central differences the one for any system."""
        stepper = stepper_of(self.study.scheme, self.assembly, self.study.step)
        return stepper.of_each_step() if isinstance(stepper, BulkCentralStepper) else stepper

    @cached_property
    def bulk(self) -> Assembly:
        """The assembly whose matrices act in the steps: in statics one without mass and damping."""
        if not self.study.scheme.static:
            return self.assembly
        none = sp.csr_array(self.assembly.mass.shape)
        return replace(self.assembly, mass=none, damping=None, absorption=None)

    @cached_property
    def first(self) -> State:
        """The state at t = 0, in the coordinates of the assembly; of the generalised-α family with its averages."""
        assembly, scheme, step = self.assembly, self.study.scheme, self.study.step
        u, v = start_fields(assembly, step, scheme.static)
        if scheme.static or isinstance(scheme, CentralDifference):
            return self.stepper.start(u, v)
        if isinstance(scheme, OneStep) and (row := scheme.coefficients(step)).carries:
            return start_state(assembly, row, (u, v))
        bulk, gaps = assembly.respond(u, assembly.start_memory(), 0.0), assembly.contact.gaps(u)
        return State.first(assembly, u, v, bulk, gaps, kinetic=assembly.kinetic(v), scheme_state=None)

    def matrix(self, name: str) -> sp.csr_array:
        """mass, stiffness, viscous, damping (d, d), constraints (m, d) or basis (q, d) in the smooth coordinates."""
        assembly = self.bulk
        matrix = assembly.contact.basis if name == "basis" else getattr(assembly, name)
        if matrix is None:
            return sp.csr_array((assembly.dof_count, assembly.dof_count))
        if self.mode_map is None:
            return sp.csr_array(matrix)
        mapped = matrix @ self.mode_map
        return sp.csr_array(mapped if name in ("constraints", "basis") else self.mode_map.T @ mapped)

    def loads(self, n: int, count: int) -> Array:
        """External forces (count + 1, d), N, from t = nΔt on, in the coordinates of the assembly."""
        if self.same_loads and self.base is not None:
            return self.base.loads(n, count)
        if self._loads.get("of") != (n, count):
            times = self.study.step * np.arange(n, n + count + 1.0)
            self._loads.update({"of": (n, count), "values": self.assembly.loads(times)})
        loads: Array = self._loads["values"]
        return loads

    def smooth(self, forces: Array) -> Array:
        """Forces (…, d) in the smooth coordinates."""
        return forces if self.mode_map is None else forces @ self.mode_map

    @cached_property
    def start(self) -> Array:
        """The fields of the state (f, d) at t = 0, see `step_equations`, in the smooth coordinates."""
        first = self.first
        fields = [first.u, first.v]
        # the stepper of a one-step scheme, with its factor, is not needed here
        if isinstance(self.study.scheme, CentralDifference) and isinstance(self.stepper, CentralStepper):
            fields[1] = self.stepper.half_velocity(first)
        elif first.scheme_state is not None and not self.study.scheme.static:
            fields += [first.scheme_state.lead, first.scheme_state.bulk]
        if self.mode_map is None:
            return np.array(fields)
        solve = sp.linalg.splu(sp.csc_array(self.mode_map)).solve
        return np.array([*map(solve, fields[:3]), *(force @ self.mode_map for force in fields[3:])])

    def to_assembly(self, field: Array) -> Array:
        """Fields (…, d) in the coordinates of the assembly, from the smooth ones."""
        return field if self.mode_map is None else np.ascontiguousarray(field @ self.mode_map.T)

    @cached_property
    def gap(self) -> Array:
        """Gaps (k,) at u = 0, m."""
        contact = self.assembly.contact
        return contact.kinematics(np.zeros(contact.basis.shape[0])).gap


def _driving(study: Study) -> list[Any]:
    """Objects that loads and imposed motions depend on, junctions included, which weight them."""
    system = study.system
    return [list(system.parts), list(system.junctions), system.gravity]


def _mode_map(base: Assembly, assembly: Assembly) -> sp.csr_array | None:
    """T (d, d); UserError where the two models have other unknowns."""
    if base.dof_count != assembly.dof_count or base.constraints.shape != assembly.constraints.shape:
        raise UserError("wrt: a parameter changes the number of unknowns, so that nothing can be derived by it")
    if not np.array_equal(base.imposed_dofs, assembly.imposed_dofs):
        raise UserError("wrt: a parameter changes which motions are imposed, so that nothing can be derived by it")
    if base.laws.row_count != assembly.laws.row_count:
        raise UserError("wrt: a parameter changes the number of contact points, so that nothing can be derived by it")
    blocks, any_modal = [], False
    for old, new, at in zip(base.parts, assembly.parts, base.places, strict=True):
        block: Any = sp.eye_array(at.stop - at.start)
        if isinstance(old, ModalAssembled) and isinstance(new, ModalAssembled) and old is not new:
            any_modal = True
            mixed = old.basis.T @ (old.nodal.mass @ new.basis)
            modal_map = sp.csr_array(scipy.linalg.inv(mixed))
            block = sp.block_diag([modal_map, sp.eye_array(at.stop - at.start - modal_map.shape[0])])
        blocks.append(block)
    return sp.csr_array(sp.block_diag(blocks, format="csr")) if any_modal else None


@dataclass(frozen=True, eq=False)
class ModelDerivative:
    """Derivatives of the data of a model by one parameter p, by differences of order 4 over p ± δ, p ± 2δ:

        dA/dp = Σ_j w_j A(p + jδ),   w = (1/12, −2/3, 2/3, −1/12)/δ for j = −2, −1, 1, 2.

    Matrices, loads and starts are smooth in the parameters, unlike results of runs: the differences are exact but for
    round-off, 1e-12 relative, and what follows from them by the equations of the steps is a derivative of the run.
    """

    name: str
    delta: float
    base: StudyModel
    models: Mapping[int, StudyModel] = field(repr=False)
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)  # of matrices and constants

    @classmethod
    def of(
        cls, name: str, value: float, scale: float, base: StudyModel, study: Callable[[float], Study]
    ) -> "ModelDerivative":
        """study(value): the study at a value of the parameter; scale: see `RELATIVE_STEP`."""
        delta = RELATIVE_STEP * scale
        studies = {j: study(value + j * delta) for j in WEIGHTS}
        time = base.study.scheme, base.study.step, base.study.duration
        if any((varied.scheme, varied.step, varied.duration) != time for varied in studies.values()):
            raise UserError(f"wrt: {name} changes the scheme, the step or the duration, by which nothing is derived")
        models = {j: StudyModel.of(varied, base) for j, varied in studies.items()}
        return cls(name, delta, base, models)

    @classmethod
    def none(cls, base: StudyModel) -> "ModelDerivative":
        """Derivatives by a parameter on which nothing depends."""
        return cls("none", 1.0, base, dict.fromkeys(WEIGHTS, replace(base, base=base, same_loads=True)))

    def combined(self, each: Callable[[StudyModel], Any]) -> Any:
        """Derivative of a function `each` of the model."""
        return self._difference({j: each(model) for j, model in self.models.items()})

    def _difference(self, values: Mapping[int, Any]) -> Any:
        """The derivative from the values at the models, exactly 0 where these are equal."""
        return sum(WEIGHTS[j] * (values[j] - values[-j]) for j in (1, 2)) / self.delta

    def combined_fields(self, each: Callable[[StudyModel], Sequence[Any]]) -> list[Any]:
        """Derivatives of the constants that the function `each` of the model returns."""
        if each not in self._cache:
            constants = {j: each(model) for j, model in self.models.items()}
            self._cache[each] = [
                self._difference({j: of_model[i] for j, of_model in constants.items()})
                for i in range(len(constants[1]))
            ]
        values: list[Any] = self._cache[each]
        return values

    def matrix(self, name: str) -> sp.csr_array | None:
        """Derivative of a matrix, see `StudyModel.matrix`; None where it does not depend on the parameter."""
        if name not in self._cache:
            self._cache[name] = self._matrix(name)
        derivative: sp.csr_array | None = self._cache[name]
        return derivative

    def _matrix(self, name: str) -> sp.csr_array | None:
        matrices = {j: model.matrix(name) for j, model in self.models.items()}
        first, last = matrices[-2], matrices[2]
        if first.shape == last.shape and (first - last).nnz == 0:
            return None
        out = sp.csr_array(self._difference(matrices))
        out.eliminate_zeros()
        return out

    def loads(self, n: int, count: int) -> Array | None:
        """Derivatives (count + 1, d) of the external forces from t = nΔt on; None where they do not depend on it."""
        if self.same_loads:
            return None
        derivative = np.asarray(self.combined(lambda model: model.smooth(model.loads(n, count))))
        return derivative if derivative.any() else None

    def imposed(self, times: Array) -> Array:
        """Derivatives (t, p) of the imposed motions at the times (t,)."""
        if not self.base.assembly.imposed_dofs.size or self.same_loads:
            return np.zeros((times.size, self.base.assembly.imposed_dofs.size))
        return np.asarray(self.combined(lambda model: np.array([model.assembly.imposed(t) for t in times.tolist()])))

    @property
    def same_loads(self) -> bool:
        """Whether no part, and so no load or imposed motion, depends on the parameter."""
        return all(model.same_loads for model in self.models.values())

    @cached_property
    def start(self) -> Array:
        """Derivatives of the fields of the state (f, d) at t = 0; UserError where its accelerations are not smooth."""
        near, far = (
            (self.models[j].start - self.models[-j].start) / (2.0 * j * self.delta) for j in (1, 2)
        )  # the averages of the generalised-α family follow from a contact problem
        u, v, *_ = fields = self.base.start
        step, assembly = self.base.study.step, self.base.assembly
        # scales of round-off: accelerations and forces are those of steps, too
        terms = np.abs(fields).max(axis=1, initial=0.0)
        scales = u, v, v / step, np.concatenate([assembly.mass @ v / step, assembly.stiffness @ u])
        terms += [np.abs(term).max(initial=0.0) for term in scales[: len(fields)]]
        size = np.abs(near).max(axis=1, initial=0.0) + _NOISE / self.delta * terms
        if (np.abs(far - near).max(axis=1, initial=0.0) > _SMOOTH * size).any():
            raise UserError(
                f"wrt: the accelerations at the start depend on {self.name} with a kink within {2.0 * self.delta:g} of "
                "it, as contact at the start does: give a smaller change that matters, as "
                f"scales={{'{self.name}': {1e-3 * self.delta / RELATIVE_STEP:g}}}"
            )
        return np.asarray((4.0 * near - far) / 3.0)

    @cached_property
    def changes_contact(self) -> bool:
        """Whether laws, areas, gaps or rows of the contact depend on the parameter."""
        first, last = self.models[-2], self.models[2]
        names = (
            "area", "coefficients", "compliance", "restitution", "friction", "tangential_compliance",
            "tangential_stiffness", "tangential_damping",
        )  # fmt: skip
        same = all(np.array_equal(getattr(first.assembly.laws, n), getattr(last.assembly.laws, n)) for n in names)
        rates = (model.assembly.contact.wear_rate for model in (first, last))
        wear = [np.zeros(0) if rate is None else rate for rate in rates]
        same = same and np.array_equal(wear[0], wear[1])
        same = same and first.assembly.laws.friction_laws == last.assembly.laws.friction_laws
        return not (same and np.array_equal(first.gap, last.gap) and self.matrix("basis") is None)
