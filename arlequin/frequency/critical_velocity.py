"""Stability of a system in a flow: complex eigenvalues over its velocity, divergence and flutter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.optimize

from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.linearised import ContactState, Linearised, linearised
from arlequin.frequency.quadratic_pencil import Complex, QuadraticPencil, grows
from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.system.assembly import assemble
from arlequin.system.flow import FlowTerms
from arlequin.system.system import System

if TYPE_CHECKING:
    import xarray

_STATIC = 1e-6  # |Im λ| relative to the scale, below which growth is divergence
_MAX_BISECTIONS = 60


class Onset(NamedTuple):
    """A velocity, m/s, at which the number of growing modes changes: kind "divergence", "flutter" or "restabilised",
    frequency, Hz, and number of the mode."""

    velocity: float
    kind: str
    frequency: float
    mode: int


@dataclass(frozen=True, eq=False)
class _Scan:
    """Eigenvalues λ of a system over the velocity of its flows: C = C₀ + U C₁, K = K₀ + U² K₂.

    terms: C₁ and K₂; shift, 1/s: see `QuadraticPencil.scale`, near the lowest frequency in still fluid.
    """

    linear: Linearised
    terms: FlowTerms
    shift: float
    count: int

    def at(self, velocity: float) -> Complex:
        """The `count` lowest eigenvalues, one of each pair: of two real ones of a pair the one that decays slower."""
        pencil = QuadraticPencil(Factors(self.linear.in_flow(self.terms.at(velocity))))
        values = _paired(pencil.near(self.shift, 2 * self.count)[0])
        values = values[np.argsort(np.abs(values), kind="stable")]
        if values.size < self.count:
            raise UserError.parameter("count", self.count, f"must be at most {values.size} for this system")
        # a growing mode far from the origin is among them, too
        growing = values[self.count :][self.grows(values[self.count :])]
        return np.concatenate([values[: self.count - growing.size], growing]) if growing.size else values[: self.count]

    def grows(self, values: Complex) -> Any:
        """Which eigenvalues grow."""
        return grows(values, self.shift)

    def growing(self, velocity: float) -> int:
        """Number of growing modes."""
        return int(self.grows(self.at(velocity)).sum())


def _paired(values: Complex) -> Complex:
    """One eigenvalue for each mode: the complex ones, and of the real ones, by size, the larger of each two."""
    real = np.sort(values[values.imag == 0.0].real)
    # of a mode at rest ±a, and of an overdamped one: neighbours in size
    by_size = real[np.argsort(np.abs(real), kind="stable")]
    pairs = [by_size[i : i + 2].max() for i in range(0, by_size.size, 2)]
    return np.concatenate([values[values.imag != 0.0], np.array(pairs, dtype=complex)])


@checked_call
def critical_velocity(
    system: System,
    velocities: Any,
    *,
    flow: str | None = None,
    count: int = 4,
    tolerance: float = 1e-6,
    contact: ContactState = "open",
) -> xarray.Dataset:
    """Eigenvalues of a system over the velocity of a flow, and the velocities at which it becomes unstable.

    velocities (n,), m/s, increasing: where the eigenvalues λ of `complex_modes` are computed; between two of them with
    another number of growing modes the onset is bisected, to `tolerance` times the velocity. flow: name of the flow
    whose velocity varies; by default all flows have it. count: number of modes. contact: as of `frequency_response`, by
    default no contact acts.

    The dataset has over (velocity, mode) `growth_rate` Re λ, 1/s, `angular_frequency` Im λ, 1/s, `frequency` Im λ/2π,
    Hz, and `damping_ratio` −Re λ/|λ|, each mode followed continuously (an Argand diagram is `angular_frequency` against
    `growth_rate`), and over `onset` the velocities `onset_velocity`, m/s, their `onset_kind`, "divergence" (λ = 0),
    "flutter" (a pair λ = ±iω) or "restabilised", and `onset_frequency`, Hz. The attribute critical_velocity is the
    first onset of divergence or flutter, nan without one; `aq.plots.argand` draws it.

    Modes grow where Re λ > 1e-9 (|λ| + ω₁) and |λ| > 1e-6 ω₁, ω₁ near the lowest frequency in still fluid. Two onsets
    between neighbouring velocities that cancel each other are not seen: choose them close enough.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> rubber, circle = aq.LinearElastic(young=1e6, poisson=0.3, density=1000.0), aq.Section.circle(0.01)
    >>> pipe = aq.Beam("pipe", aq.mesh.interval(0.0, 1.0, cells=8), rubber, circle, dimension=2, shear=False,
    ...                imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, added_mass=circle.area * 1000.0 / 4.0)
    >>> water = aq.flow.PipeFlow("water", pipe, 1.0, fluid_mass=pipe.added_mass)
    >>> unit = np.sqrt(1e6 * circle.inertia_z / pipe.added_mass)  # √(EI/M)/L, m/s; M/(M + m) = 0.2
    >>> scan = aq.critical_velocity(aq.System([pipe], flows=[water]), unit * np.linspace(0.0, 7.0, 15))
    >>> scan["onset_kind"].values.tolist(), round(float(scan.attrs["critical_velocity"] / unit), 2)  # 5.6 in the source
    (['flutter'], 5.59)

    Source: Gregory & Païdoussis, Proc. R. Soc. A 293 (1966) 512–527; Païdoussis, Fluid–Structure Interactions, vol. 1,
    2014, §3.5.
    """
    checks.instance("system", system, System, "must be a System")
    speeds = checks.finite_array("velocities", velocities)
    if speeds.ndim != 1 or speeds.size < 2 or (np.diff(speeds) <= 0.0).any() or speeds[0] < 0.0:
        raise UserError.parameter("velocities", velocities, "must be at least two, not below 0 and increasing, m/s")
    checks.positive_integer("count", count)
    checks.within("tolerance", tolerance, 1e-12, 0.1)
    scan = _scan_of(system, flow, count, contact)
    rows = [scan.at(float(speeds[0]))]
    for speed in speeds[1:]:
        rows.append(_followed(rows, scan.at(float(speed))))
    table = np.array(rows)
    onsets = [
        onset for i in range(speeds.size - 1) for onset in _onsets(scan, speeds[i : i + 2], table[i : i + 2], tolerance)
    ]
    if scan.grows(table[0]).any():
        mode = int(np.argmax(table[0].real))
        onsets.insert(0, Onset(float(speeds[0]), *_kind(scan, table[0, mode]), mode))
    return _dataset(speeds, table, onsets)


def _scan_of(system: System, flow: str | None, count: int, contact: ContactState) -> _Scan:
    if not system.flows:
        raise UserError("critical_velocity: the system has no flow: System(…, flows=[…])")
    names = [item.name for item in system.flows]
    if flow is not None:
        checks.one_of("flow", flow, names)
    varied = [item.at(1.0) for item in system.flows if flow in (None, item.name)]
    fixed = [item for item in system.flows if flow not in (None, item.name)]
    linear = linearised(replace(system, flows=fixed), contact)
    unit = assemble(replace(system, flows=varied)).flow
    assert unit is not None
    return _Scan(linear, unit, QuadraticPencil(Factors(linear)).scale, count)


def _followed(rows: list[Complex], values: Complex) -> Complex:
    """Eigenvalues in the order of the modes before, extrapolated linearly."""
    expected = rows[-1] if len(rows) < 2 else 2.0 * rows[-1] - rows[-2]
    distance = np.abs(values[None] - expected[:, None])
    return np.asarray(values[scipy.optimize.linear_sum_assignment(distance)[1]])


def _kind(scan: _Scan, value: complex) -> tuple[str, float]:
    """Divergence or flutter of a growing eigenvalue, and its frequency, Hz."""
    if abs(value.imag) <= _STATIC * scan.shift:
        return "divergence", 0.0
    return "flutter", float(value.imag / (2.0 * np.pi))


def _onsets(scan: _Scan, speeds: Array, table: Complex, tolerance: float) -> list[Onset]:
    """The onsets between two velocities, where the number of growing modes changes, by bisection of the velocity."""
    found: list[Onset] = []
    low, before, last = float(speeds[0]), table[0], int(scan.grows(table[1]).sum())
    while (number := int(scan.grows(before).sum())) != last:
        high, after = float(speeds[1]), table[1]
        for _ in range(_MAX_BISECTIONS):
            if high - low <= tolerance * high:
                break
            middle = 0.5 * (low + high)
            values = scan.at(middle)
            if int(scan.grows(values).sum()) == number:
                low, before = middle, values
            else:
                high, after = middle, values
        appears = int(scan.grows(after).sum()) > number
        # the mode that has just begun to grow, or is about to cease, grows least
        side = after if appears else before
        growing = side[scan.grows(side)]
        changed = complex(growing[np.argmin(growing.real)])
        mode = int(np.argmin(np.abs(table[1] - changed)))
        kind, frequency = _kind(scan, changed)
        found.append(Onset(0.5 * (low + high), kind if appears else "restabilised", frequency, mode))
        low, before = high, after
    return found


def _dataset(speeds: Array, table: Complex, onsets: list[Onset]) -> xarray.Dataset:
    import xarray

    size = np.abs(table)
    ratio = np.divide(-table.real, size, out=np.zeros_like(size), where=size > 0.0)
    over = ("velocity", "mode")
    fields = {
        "growth_rate": (over, table.real, "1/s", "growth rate Re λ"),
        "angular_frequency": (over, table.imag, "rad/s", "angular frequency Im λ"),
        "frequency": (over, table.imag / (2.0 * np.pi), "Hz", "frequency"),
        "damping_ratio": (over, ratio, "1", "damping ratio"),
        "onset_velocity": (("onset",), np.array([o.velocity for o in onsets]), "m/s", "velocity of the onset"),
        "onset_frequency": (("onset",), np.array([o.frequency for o in onsets]), "Hz", "frequency at the onset"),
        "onset_mode": (("onset",), np.array([o.mode for o in onsets], dtype=np.int64), "1", "mode"),
    }
    variables: dict[str, Any] = {
        name: (dims, values, {"units": units, "long_name": text})
        for name, (dims, values, units, text) in fields.items()
    }
    variables["onset_kind"] = (("onset",), np.array([o.kind for o in onsets], dtype="U16"), {"long_name": "kind"})
    unstable = [o.velocity for o in onsets if o.kind != "restabilised"]
    return xarray.Dataset(
        variables,
        coords={
            "velocity": ("velocity", speeds, {"units": "m/s", "long_name": "velocity of the flow"}),
            "mode": ("mode", np.arange(table.shape[1]), {"long_name": "mode"}),
        },
        attrs={"critical_velocity": unstable[0] if unstable else float("nan")},
    )
