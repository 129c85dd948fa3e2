"""The energy audit: every term from its own definition, the balance as a check that can fail."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from arlequin.assembly import Assembly
from arlequin.products import applied
from arlequin.touch import Touch
from models.nonlinear import PathDependent
from multilevel.law import Array
from multilevel.stick import Loss

KINDS = (
    "kinetic", "strain", "asperity", "external_work", "friction", "wear", "asperity_damping", "damping", "plastic",
    "impact", "scheme", "absorbed", "junction",
)  # fmt: skip
_INDEX = {kind: i for i, kind in enumerate(KINDS)}
# + stored or dissipated, − given to the system
_SIGN = np.array([-1.0 if kind in ("external_work", "junction") else 1.0 for kind in KINDS])


@dataclass(frozen=True)
class Forces:
    """Mean forces (d,) over a step, N, as they enter M Δv = Δt Σ F: internal and damping resist, external pushes.

    viscous: what of the damping is not linear in the velocity (see `models.part.Nonlinear`); None where there is none.
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
class Ways:
    """On what the works of a step are taken, (…, d), m, or as the contact's rows move (…, r): matter moves by `du`,
    mean forces act on `path`, stored contact impulses on `stored`, all others on `impulse`, friction on `slip`.
    """

    du: Array
    path: Array
    impulse: Array
    stored: Array
    slip: Array

    @classmethod
    def mean(cls, du: Array, path: Array) -> "Ways":
        """Of the implicit schemes, in which all acts on one path, Δt (v₀ + v₁)/2."""
        return cls(du, path, path, path, path)

    def on(self, touch: Touch) -> "Ways":
        """Those of the rows of the contact."""
        apart = {id(way): way for way in vars(self).values()}  # most schemes have two of them
        moved = {own: touch.rates(way) for own, way in apart.items()}
        return Ways(*(moved[id(way)] for way in vars(self).values()))


@dataclass(frozen=True)
class Sums:
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
    def of(cls, assembly: Assembly, step: float, forces: Forces, multipliers: Array, ways: Ways, flow: Array) -> "Sums":
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
        rates: Ways,
        touch: Touch,
        contact: Pushes,
        stored_before: tuple[Any, Any],
        stored_after: tuple[Any, Any],
        loss: Loss | None = None,
        plastic: float = 0.0,
    ) -> Work:
        """Works of one step, or of some: every field then has the step as its first axis.

        A scheme's kinetic energy changes by Σ F·`path` over its mean forces, Σ P·`stored` over the stored contact
        impulses and Σ P·`impulse` over all other impulses, divided by Δt (for the implicit schemes all paths are
        Δt (v₀ + v₁)/2, m), while matter moves by `du`; rates: these ways (…, r) of the contact's rows. Friction works
        on `slip`: what it takes at each point is `friction`, what it gives (at a reversal within the step) counts as
        `impact`. Wear opens the gaps beside the motion: `wear` is what the normal forces do on that way,
        Σ P_n · opening/Δt ≥ 0, which leaves the surfaces with the worn matter (it was strained), and the other works of
        contact are taken on the whole of the gaps. Physical works are taken on `du`; what the scheme does beyond is
        `scheme`: its algorithmic work minus the change of stored energy and the physical works. The balance so checks
        the momentum equation along the path; a wrong stored energy shows in `scheme`, which is 0 for the conserving
        pairs.

        stored: (strain, asperity), J. loss: of friction with springs, see `multilevel.stick`. plastic: what matter
        dissipated, J.
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
        if touch.rows:
            first = touch.first
            opening = touch.openings(rates.du) / step
            impulse_opening = touch.openings(rates.impulse) / step
            if touch.opening is not None:
                normal = contact.stored + contact.dissipated + contact.multiplier
                work["wear"] = normal @ touch.opening / step
            layers = -np.vecdot(contact.dissipated, opening)
            work["asperity_damping"] = layers
            work["impact"] = -np.vecdot(contact.multiplier, impulse_opening)
            if touch.frictional:
                rubbed = -contact.impulse * rates.slip / step
                rubbed[..., first] = 0.0
                rubbing = 0.0
                if loss is not None:
                    rows, rubbing = loss.laws.sprung_rows, loss.each.sum(axis=-1)
                    scheme = scheme + np.take(rubbed, rows, axis=-1).sum(axis=-1) - rubbing
                    rubbed[..., rows] = 0.0
                each = np.add.reduceat(rubbed, first, axis=-1)
                work["friction"] = np.maximum(each, 0.0).sum(axis=-1) + rubbing
                work["impact"] += np.minimum(each, 0.0).sum(axis=-1)
            scheme = scheme - np.vecdot(contact.stored, touch.openings(rates.stored)) / step - asperity
            scheme = scheme - np.vecdot(contact.dissipated, impulse_opening) - layers
        work["scheme"] = scheme
        return work


def viscous_losses(assembly: Assembly, step: float, flow: Array) -> dict[str, Any]:
    """Δt flow·D flow of the damping and of the absorbing zones, J."""
    matrices = {"damping": assembly.damping, "absorbed": assembly.absorber}
    # the form is not negative: below zero, in rigid motion, it is round-off, and losses never decrease
    return {
        kind: step * np.maximum(np.vecdot(flow, applied(matrix, flow)), 0.0)
        for kind, matrix in matrices.items()
        if matrix is not None
    }


class Audit:
    """Accumulates the works of the steps to the energy table (kinds as columns) and the balance.

        balance(t) = [(kinetic + stored)(t) − (kinetic + stored)(0) − external work + Σ dissipations] /
        (largest energy)

    While a run goes on the largest energy is the largest so far; `balance` after it is relative to the
    largest of the run.
    """

    def __init__(self, kinetic: Any, strain: Any, asperity: Any) -> None:
        """J; of an ensemble (n,), and so is all else before the last axis."""
        self._table = np.zeros((*np.shape(kinetic), len(KINDS)))
        self._table[..., :3] = np.stack([kinetic, strain, asperity], axis=-1)
        self._first = self._table
        self._start = kinetic + strain + asperity
        self._largest = abs(self._start)
        self._rests = [np.zeros((1, *np.shape(kinetic)))]

    @property
    def start(self) -> Array:
        """The table (…, kind) at the start, J."""
        return self._first

    def add(self, works: Array) -> tuple[Array, Array]:
        """Adds steps, works (b, …, kind); returns the table (b, …, kind), J, and the balance (b, …) relative to the
        largest energy so far."""
        # added one by one: the sums do not depend on how many steps come at once
        sums = np.cumsum(np.concatenate([self._table[None, ..., 3:], works[..., 3:]]), axis=0)[1:]
        table = np.concatenate([works[..., :3], sums], axis=-1)
        sizes = np.maximum(np.abs(table).max(axis=-1), np.abs(table[..., :3].sum(axis=-1)))
        largest = np.maximum.accumulate(np.maximum(sizes, self._largest), axis=0)
        rests = self._rest(table)
        self._table, self._largest = table[-1], largest[-1]
        self._rests.append(rests)
        return table, np.divide(rests, largest, out=np.zeros_like(rests), where=largest != 0.0)

    def kept(self) -> Any:
        """The table, its start and the largest energy so far."""
        return self._table, self._first, self._largest

    def keep(self, kept: Any, tables: Array) -> None:
        """Goes on from there; tables (t, …, kind), J: of all steps so far."""
        self._table, self._first, self._largest = kept
        self._start = self._first[..., 0] + self._first[..., 1] + self._first[..., 2]
        self._rests = [self._rest(tables)]

    def _rest(self, tables: Array) -> Array:
        """What the tables (t, …, kind) do not account for (t, …), J."""
        return np.asarray(np.vecdot(tables, _SIGN) - self._start)

    @property
    def balance(self) -> Array:
        """Balance of every step so far (t, …), relative to the largest energy of all of them."""
        return np.concatenate(self._rests) / np.where(self._largest > 0.0, self._largest, 1.0)


def applicable(assembly: Assembly) -> tuple[str, ...]:
    """The kinds that can be other than zero for this system."""
    present = {"kinetic", "strain", "external_work", "scheme"}
    if assembly.laws.has_regular or assembly.laws.has_springs:
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
