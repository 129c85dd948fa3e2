"""Energies and works of a step, each kind by an independent definition."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.linalg.products import applied
from arlequin.models.part import PathDependent
from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import ContactSolution
from arlequin.multilevel.solvers.elastic_stick import FrictionLoss
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics

KINDS = (
    "kinetic", "strain", "asperity", "external_work", "friction", "wear", "asperity_damping", "damping", "plastic",
    "impact", "scheme", "absorbed", "junction", "switch", "flow", "film",
)  # fmt: skip
_INDEX = {kind: i for i, kind in enumerate(KINDS)}


@dataclass(frozen=True)
class Forces:
    """Mean forces (d,) of a step, N, in M Δv = Δt (external + reaction − internal − damping).

    viscous: the part of the damping that is not linear in the velocity (parts of finite rotations), or None.
    """

    internal: Array
    damping: Array
    external: Array
    reaction: Array
    viscous: Array | None = None


class NormalImpulseSplit(NamedTuple):
    """Contact impulses (…, r), N·s, and the normal ones (…, k) by law: stored (regular laws), dissipated (their
    damping), multiplier (set-valued laws); as those of a `ContactSolution`."""

    impulse: Array
    stored: Array
    dissipated: Array
    multiplier: Array


@dataclass
class Work:
    """Energies at the end of a step (kinetic, strain, asperity) and works done in it (the other kinds), J, with KINDS
    as last axis; `work["friction"]` is a column."""

    values: Array = field(default_factory=lambda: np.zeros(len(KINDS)))

    def __setitem__(self, kind: str, value: Any) -> None:
        self.values[..., _INDEX[kind]] = value

    def __getitem__(self, kind: str) -> Any:
        return self.values[..., _INDEX[kind]]


@dataclass(frozen=True)
class WorkPaths:
    """Displacements on which the forces of a step work, (…, d), or of the rows of the contact (…, r), m.

    du: displacement of matter, of physical works; path: of the mean forces; stored: of contact impulses with a
    potential; impulse: of all other impulses; slip: of friction.
    """

    du: Array
    path: Array
    impulse: Array
    stored: Array
    slip: Array

    @classmethod
    def mean(cls, du: Array, path: Array) -> "WorkPaths":
        """Paths of the implicit schemes: all forces act on one path, Δt (v₀ + v₁)/2."""
        return cls(du, path, path, path, path)

    def with_potential(self, rows: NDArray[np.int64]) -> "WorkPaths":
        """These paths of rows of the contact, where all impulses on `rows` (n,) work on the path of those with a
        potential."""
        if not rows.size:
            return self
        impulse = self.impulse.copy()
        impulse[..., rows] = self.stored[..., rows]
        return WorkPaths(self.du, self.path, impulse, self.stored, self.slip)

    def on(self, kinematics: ContactKinematics) -> "WorkPaths":
        """The paths of the rows of the contact."""
        distinct = {id(path): path for path in vars(self).values()}  # two in most schemes
        on_rows = {key: kinematics.rates(path) for key, path in distinct.items()}
        return WorkPaths(*(on_rows[id(path)] for path in vars(self).values()))


@dataclass(frozen=True)
class BulkWork:
    """Works of the bulk forces in a step, or in many (…,), J.

    external, external_path: of external forces and reactions on du and on the path; internal, damping: of these forces
    on the path; losses: by kind; pulled: of the constraint impulses on the path of impulses, over Δt.
    """

    external: Any
    external_path: Any
    internal: Any
    damping: Any
    losses: dict[str, Any]
    pulled: Any = 0.0

    @classmethod
    def of(
        cls,
        assembly: Assembly,
        step: float,
        forces: Forces,
        multipliers: Array,
        paths: WorkPaths,
        flow: Array,
        crossing: Array | None = None,
        drag: Array | None = None,
    ) -> "BulkWork":
        """Works of mean forces, and of constraint impulses (…, m), N·s.

        flow (…, d): velocity of the viscous losses Δt flow·D flow ≥ 0, m/s; crossing (…, d): that of the absorbing
        zones, if it differs; drag (…, d): D crossing, N, if known.
        """
        applied_force = forces.external + forces.reaction
        losses = viscous_losses(assembly, step, flow, crossing, drag)
        if forces.viscous is not None:
            losses["damping"] = losses.get("damping", 0.0) + np.maximum(np.vecdot(forces.viscous, paths.du), 0.0)
        constraint_motion = applied(assembly.constraints, paths.impulse) if multipliers.size else multipliers
        return cls(
            external=np.vecdot(applied_force, paths.du),
            external_path=np.vecdot(applied_force, paths.path),
            internal=np.vecdot(forces.internal, paths.path),
            damping=np.vecdot(forces.damping, paths.path),
            losses=losses,
            pulled=np.vecdot(multipliers, constraint_motion) / step,
        )

    def works(
        self,
        *,
        step: float,
        rates: WorkPaths,
        kinematics: ContactKinematics,
        contact: NormalImpulseSplit | ContactSolution,
        stored_before: tuple[Any, Any],
        stored_after: tuple[Any, Any],
        loss: FrictionLoss | None = None,
        plastic: float = 0.0,
        persistent: NDArray[np.bool_] | None = None,
        films: NDArray[np.bool_] | None = None,
    ) -> Work:
        """Works of one step, or of many: every field then has the step as first axis.

        The kinetic energy of a scheme changes by Σ F·`path` over its mean forces, Σ P·`stored` over the stored contact
        impulses and Σ P·`impulse` over all other impulses, divided by Δt (the paths of the implicit schemes are all
        Δt (v₀ + v₁)/2), while matter moves by `du`; rates: the paths (…, r) of the rows of the contact. Friction works
        on `slip`. On `persistent` rows (r,) multipliers and friction work on `du`; elsewhere they do no positive work,
        except for friction at a reversal under central differences, which is in `scheme`.

        Wear opens the gaps in addition to the motion: `wear` is the work of the normal forces on this opening,
        Σ P_n · opening/Δt ≥ 0 (the strain energy of the matter removed); the other works of contact are taken on the
        whole change of the gaps. An interference that is being closed is part of this opening, too: its work
        −Σ P_n · imposed/Δt is external, as that of an imposed motion. Physical works are taken on
        `du`; `scheme` is the algorithmic work minus the change of stored energy and the physical works. The balance
        therefore checks the momentum equation along the path; a wrong stored energy shows in `scheme`, which is 0 for
        the conserving pairs.

        films (k,): points with a squeeze film, whose loss is `film`; that of others is `asperity_damping`.

        stored: (strain, asperity), J. loss: of friction with springs, see `ContactStep.loss`. plastic: energy
        dissipated in the material, J.
        """
        strain, asperity = (after - before for before, after in zip(stored_before, stored_after, strict=True))
        work = Work(np.zeros((*np.shape(strain), len(KINDS))))
        work["strain"], work["asperity"] = stored_after
        work["external_work"] = self.external
        work["junction"] = self.pulled
        losses = np.zeros_like(strain)
        for kind, bulk_loss in self.losses.items():
            work[kind] = bulk_loss
            losses = losses + bulk_loss
        work["plastic"] = plastic
        scheme = self.internal - strain - plastic
        scheme = scheme + self.damping - losses
        scheme = scheme + work["external_work"] - self.external_path
        if kinematics.rows:
            first = kinematics.first
            opening = kinematics.openings(rates.du) / step
            impulse_opening = kinematics.openings(rates.impulse) / step
            if kinematics.opening is not None:
                normal = contact.stored + contact.dissipated + contact.multiplier
                work["wear"] = np.vecdot(normal, kinematics.opening) / step
                if kinematics.imposed is not None:
                    fitting = np.vecdot(normal, kinematics.imposed) / step
                    work["wear"] -= fitting
                    work["external_work"] -= fitting
            layers = -np.vecdot(contact.dissipated, opening)
            work["asperity_damping"] = layers
            if films is not None and films.any():
                work["film"] = -np.vecdot(contact.dissipated[..., films], opening[..., films])
                work["asperity_damping"] = layers - work["film"] if not films.all() else 0.0
            # work that would be negative dissipation belongs to the scheme
            normal, slip = np.minimum(impulse_opening, 0.0), rates.slip
            if persistent is not None:
                normal = np.where(persistent[..., first], opening, normal)
                slip = np.where(persistent, rates.du, slip)
            work["impact"] = -np.vecdot(contact.multiplier, normal)
            scheme = scheme - np.vecdot(contact.multiplier, impulse_opening - normal)
            if kinematics.frictional:
                algorithmic, physical = (
                    self._friction_losses(contact.impulse, path, first, loss) / step for path in (rates.slip, slip)
                )
                dissipated = np.maximum(physical, 0.0)
                work["friction"] = dissipated.sum(axis=-1)
                scheme = scheme + (algorithmic - dissipated).sum(axis=-1)
                if loss is not None:
                    spring_loss = loss.each.sum(axis=-1)
                    elastic_stick = np.take(contact.impulse * rates.slip, loss.laws.elastic_stick_rows, axis=-1).sum(
                        axis=-1
                    )
                    work["friction"] += spring_loss
                    scheme = scheme - elastic_stick / step - spring_loss
            scheme = scheme - np.vecdot(contact.stored, kinematics.openings(rates.stored)) / step - asperity
            scheme = scheme - np.vecdot(contact.dissipated, impulse_opening) - layers
        work["scheme"] = scheme
        return work

    @staticmethod
    def _friction_losses(impulse: Array, slip: Array, first: NDArray[np.int64], loss: FrictionLoss | None) -> Array:
        """−P_t·slip (…, k) of friction without springs, from rows (…, r)."""
        friction_loss = -impulse * slip
        friction_loss[..., first] = 0.0
        if loss is not None:
            friction_loss[..., loss.laws.elastic_stick_rows] = 0.0
        return np.asarray(np.add.reduceat(friction_loss, first, axis=-1))


def viscous_losses(
    assembly: Assembly, step: float, flow: Array, crossing: Array | None = None, drag: Array | None = None
) -> dict[str, Any]:
    """Δt flow·D flow, J, of the damping, and of the absorbing zones, with the velocity `crossing` if it differs.

    drag: the force (…, d), N, if known: D crossing of the absorbing zones, or, without `crossing`, D flow of the only
    kind of damping present.
    """
    absorbing = flow if crossing is None else crossing
    flows = {"damping": (assembly.damping, flow), "absorbed": (assembly.absorption, absorbing)}
    present = {kind: velocity for kind, (matrix, velocity) in flows.items() if matrix is not None}
    known = {"absorbed": drag} if crossing is not None else dict.fromkeys(present, drag if len(present) == 1 else None)

    def loss(kind: str, velocity: Array) -> Any:
        force = known.get(kind)
        if force is None:
            force = applied(assembly.damping if kind == "damping" else assembly.absorber, velocity)
        return viscous_loss(step, velocity, force)

    return {kind: loss(kind, velocity) for kind, velocity in present.items()}


def viscous_loss(step: float, flow: Array, drag: Array) -> Any:
    """Δt flow·D flow (…,), J, of velocities (…, d) and the drag D flow (…, d), N, of a damping matrix D (d, d)."""
    # the form is not negative: values below zero, in rigid motion, are round-off
    return step * np.maximum(np.vecdot(flow, drag), 0.0)


def applicable(assembly: Assembly) -> tuple[str, ...]:
    """Kinds that can be nonzero for this system."""
    laws = assembly.laws
    present = {
        "kinetic": True,
        "strain": True,
        "asperity": laws.has_regular or laws.has_elastic_stick,
        "external_work": True,
        "friction": laws.frictional,
        "wear": assembly.contact.wear_rate is not None,
        "asperity_damping": laws.damped_layers,
        "damping": assembly.damped,
        "plastic": any(isinstance(part, PathDependent) and part.dissipates for part in assembly.parts),
        "impact": bool(assembly.contact.interfaces),
        "scheme": True,
        "absorbed": assembly.absorption is not None,
        "junction": assembly.constraints.shape[0] > 0,
        "switch": False,  # of runs with levels
        "flow": assembly.flow is not None,
        "film": bool(laws.films.any()),
    }
    return tuple(kind for kind in KINDS if present[kind])


def columns(kinds: tuple[str, ...]) -> list[int]:
    """Indices of the kinds in KINDS."""
    return [_INDEX[kind] for kind in kinds]
