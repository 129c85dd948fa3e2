"""Energies and works of a step, each by its own definition."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arlequin.linalg.products import applied
from arlequin.models.part import PathDependent
from arlequin.models.types import Array
from arlequin.multilevel.solvers.elastic_stick import FrictionLoss
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics

KINDS = (
    "kinetic", "strain", "asperity", "external_work", "friction", "wear", "asperity_damping", "damping", "plastic",
    "impact", "scheme", "absorbed", "junction",
)  # fmt: skip
_INDEX = {kind: i for i, kind in enumerate(KINDS)}


@dataclass(frozen=True)
class Forces:
    """Mean forces (d,) over a step, N, as they enter M Δv = Δt Σ F: internal and damping resist, external pushes.

    viscous: what of the damping is not linear in the velocity (see `arlequin.models.part.Nonlinear`); None where there
    is none.
    """

    internal: Array
    damping: Array
    external: Array
    reaction: Array
    viscous: Array | None = None


class Pushes(Protocol):
    """Contact impulses (…, r), N·s, and the parts (…, k) of the normal ones."""

    @property
    def impulse(self) -> Array: ...

    @property
    def stored(self) -> Array: ...

    @property
    def dissipated(self) -> Array: ...

    @property
    def multiplier(self) -> Array: ...


@dataclass
class Work:
    """Energies at the end of a step (kinetic, strain, asperity) and works done in it (the others), J; the last
    axis is KINDS."""

    values: Array = field(default_factory=lambda: np.zeros(len(KINDS)))

    def __setitem__(self, kind: str, value: Any) -> None:
        self.values[..., _INDEX[kind]] = value

    def __getitem__(self, kind: str) -> Any:
        return self.values[..., _INDEX[kind]]


@dataclass(frozen=True)
class WorkPaths:
    """On what the works of a step are taken, (…, d), m, or as the contact's rows move (…, r): matter moves by `du`,
    mean forces act on `path`, stored contact impulses on `stored`, all others on `impulse`, friction on `slip`.
    """

    du: Array
    path: Array
    impulse: Array
    stored: Array
    slip: Array

    @classmethod
    def mean(cls, du: Array, path: Array) -> "WorkPaths":
        """Of the implicit schemes, in which all acts on one path, Δt (v₀ + v₁)/2."""
        return cls(du, path, path, path, path)

    def on(self, kinematics: ContactKinematics) -> "WorkPaths":
        """Those of the rows of the contact."""
        apart = {id(way): way for way in vars(self).values()}  # most schemes have two of them
        moved = {own: kinematics.rates(way) for own, way in apart.items()}
        return WorkPaths(*(moved[id(way)] for way in vars(self).values()))


@dataclass(frozen=True)
class BulkWork:
    """What the forces of the bulk do in a step, J, numbers or those of some steps (…,): external forces and reactions
    on du, `given`, and on the path, `given_path`; `internal` and `damping` ones on the path; losses by kind; `pulled`:
    the impulses of the constraints, over Δt, on the path of impulses."""

    given: Any
    given_path: Any
    internal: Any
    damping: Any
    losses: dict[str, Any]
    pulled: Any = 0.0

    @classmethod
    def of(
        cls, assembly: Assembly, step: float, forces: Forces, multipliers: Array, ways: WorkPaths, flow: Array
    ) -> "BulkWork":
        """Of mean forces and of the constraints' impulses (…, m), N·s.

        flow (…, d): velocity on which the scheme counts viscous losses, Δt flow·D flow ≥ 0.
        """
        given = forces.external + forces.reaction
        losses = viscous_losses(assembly, step, flow)
        if forces.viscous is not None:
            losses["damping"] = losses.get("damping", 0.0) + np.maximum(np.vecdot(forces.viscous, ways.du), 0.0)
        moved = applied(assembly.constraints, ways.impulse) if multipliers.size else multipliers
        return cls(
            given=np.vecdot(given, ways.du),
            given_path=np.vecdot(given, ways.path),
            internal=np.vecdot(forces.internal, ways.path),
            damping=np.vecdot(forces.damping, ways.path),
            losses=losses,
            pulled=np.vecdot(multipliers, moved) / step,
        )

    def works(
        self,
        *,
        step: float,
        rates: WorkPaths,
        kinematics: ContactKinematics,
        contact: Pushes,
        stored_before: tuple[Any, Any],
        stored_after: tuple[Any, Any],
        loss: FrictionLoss | None = None,
        plastic: float = 0.0,
        persistent: NDArray[np.bool_] | None = None,
    ) -> Work:
        """Works of one step, or of some: every field then has the step as its first axis.

        A scheme's kinetic energy changes by Σ F·`path` over its mean forces, Σ P·`stored` over the stored contact
        impulses and Σ P·`impulse` over all other impulses, divided by Δt (for the implicit schemes all paths are
        Δt (v₀ + v₁)/2, m), while matter moves by `du`; rates: these ways (…, r) of the contact's rows. Friction works
        on `slip`. On `persistent` rows (r,), whose contact lasts, multipliers and friction work on `du`, and elsewhere
        they give nothing (at a reversal in a step): `scheme` has the difference. Wear opens the gaps
        beside the motion: `wear` is what the normal forces do on that way, Σ P_n · opening/Δt ≥ 0, which leaves the
        surfaces with the worn matter (it was strained), and the other works of contact are taken on the whole of the
        gaps. Physical works are taken on `du`; what the scheme does beyond is `scheme`: its algorithmic work minus the
        change of stored energy and the physical works. The balance so checks the momentum equation along the path; a
        wrong stored energy shows in `scheme`, which is 0 for the conserving pairs.

        stored: (strain, asperity), J. loss: of friction with springs, see `arlequin.multilevel.solvers.elastic_stick`.
        plastic: what matter dissipated, J.
        """
        strain, asperity = (after - before for before, after in zip(stored_before, stored_after, strict=True))
        work = Work(np.zeros((*np.shape(strain), len(KINDS))))
        work["strain"], work["asperity"] = stored_after
        work["external_work"] = self.given
        work["junction"] = self.pulled
        losses = np.zeros_like(strain)
        for kind, lost in self.losses.items():
            work[kind] = lost
            losses = losses + lost
        work["plastic"] = plastic
        scheme = self.internal - strain - plastic
        scheme = scheme + self.damping - losses
        scheme = scheme + work["external_work"] - self.given_path
        if kinematics.rows:
            first = kinematics.first
            opening = kinematics.openings(rates.du) / step
            impulse_opening = kinematics.openings(rates.impulse) / step
            if kinematics.opening is not None:
                normal = contact.stored + contact.dissipated + contact.multiplier
                work["wear"] = normal @ kinematics.opening / step
            layers = -np.vecdot(contact.dissipated, opening)
            work["asperity_damping"] = layers
            # what would give energy on its way is the scheme's
            normal, slip = np.minimum(impulse_opening, 0.0), rates.slip
            if persistent is not None:
                normal = np.where(persistent[..., first], opening, normal)
                slip = np.where(persistent, rates.du, slip)
            work["impact"] = -np.vecdot(contact.multiplier, normal)
            scheme = scheme - np.vecdot(contact.multiplier, impulse_opening - normal)
            if kinematics.frictional:
                algorithmic, each = (
                    self._friction_losses(contact.impulse, way, first, loss) / step for way in (rates.slip, slip)
                )
                own = np.maximum(each, 0.0)
                work["friction"] = own.sum(axis=-1)
                scheme = scheme + (algorithmic - own).sum(axis=-1)
                if loss is not None:
                    rubbing = loss.each.sum(axis=-1)
                    elastic_stick = np.take(contact.impulse * rates.slip, loss.laws.elastic_stick_rows, axis=-1).sum(
                        axis=-1
                    )
                    work["friction"] += rubbing
                    scheme = scheme - elastic_stick / step - rubbing
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


def viscous_losses(assembly: Assembly, step: float, flow: Array) -> dict[str, Any]:
    """Δt flow·D flow of the damping and of the absorbing zones, J."""
    matrices = {"damping": assembly.damping, "absorbed": assembly.absorber}
    # the form is not negative: below zero, in rigid motion, it is round-off, and losses never decrease
    return {
        kind: step * np.maximum(np.vecdot(flow, applied(matrix, flow)), 0.0)
        for kind, matrix in matrices.items()
        if matrix is not None
    }


def applicable(assembly: Assembly) -> tuple[str, ...]:
    """The kinds that can be other than zero for this system."""
    present = {"kinetic", "strain", "external_work", "scheme"}
    if assembly.laws.has_regular or assembly.laws.has_elastic_stick:
        present.add("asperity")
    if assembly.laws.damped:
        present.add("asperity_damping")
    if assembly.damped:
        present.add("damping")
    if any(isinstance(part, PathDependent) and part.dissipates for part in assembly.parts):
        present.add("plastic")
    if assembly.absorber is not None:
        present.add("absorbed")
    if assembly.contact_count:
        present.add("impact")
    if assembly.laws.frictional:
        present.add("friction")
    if assembly.contact.wear_rate is not None:
        present.add("wear")
    if assembly.constraints.shape[0]:
        present.add("junction")
    return tuple(kind for kind in KINDS if kind in present)


def columns(kinds: tuple[str, ...]) -> list[int]:
    """Their places in KINDS."""
    return [_INDEX[kind] for kind in kinds]
