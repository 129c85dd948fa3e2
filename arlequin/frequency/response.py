"""`frequency_response`: the harmonic response of a system to harmonic loads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray
from numpy.typing import ArrayLike

from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.excitation import Excitation
from arlequin.frequency.linearised import ContactState, Linearised, linearised
from arlequin.frequency.modes import modes_up_to, natural_modes, with_static_shapes
from arlequin.frequency.outputs import Output, OutputRows
from arlequin.frequency.resolution import check_resolution
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described, of_run
from arlequin.run.progress import Progress, reporting
from arlequin.system.system import System

METHODS = ("direct", "modal")
_BEYOND = 3.0  # modes up to this multiple of the highest frequency


@checked_call
def frequency_response(
    system: System,
    load: Any,
    of: Any,
    frequencies: ArrayLike,
    *,
    contact: ContactState = "stuck",
    structural: float | Mapping[str, float] = 0.0,
    method: Literal["direct", "modal"] = "direct",
    modes: int | None = None,
    modal_damping: float | Sequence[float] | None = None,
    progress: Progress | bool | None = None,
) -> xarray.Dataset:
    """Complex amplitudes y(f) of outputs under harmonic loads, of the system linearised at its start:

        (K + iH + iωD − ω²M) u + Cᵀλ = F,   C u = 0,   ω = 2πf,   y(t) = Re(y e^{iωt})

    load: `aq.frequency.Force`, `BaseAcceleration` or `SupportMotion`, or several by name, {"tip": Force(…)}: each is a
    load case. Under forces of 1 N the response is the receptance (of `Displacement`), mobility (`Velocity`) or
    accelerance (`Acceleration`); under a motion of 1 m of a support it is the transmissibility. of: outputs of
    `aq.frequency`, one or several by name. frequencies: Hz, ≥ 0.

    D holds the dashpots, Rayleigh and fluid damping and the absorbers of junctions; H = Σ ηK the `structural` damping,
    the loss factor η of all parts and springs, or by name. contact: "stuck", points that touch at the start stay
    closed, and stick where they have friction; "sliding", they stay closed and slip; "open", none acts. Layers act with
    their tangent at the start, which with `System(…, from_result=)` is the last state of a result. Steady loads of the
    parts do not enter: they shape the start.

    method: "direct" factors the equations at each frequency; "modal" takes the modes up to three times the highest
    frequency, or `modes` of them, and the static shapes of the loads (residual flexibility). modal_damping: ratio of
    critical, one for all modes or one for each, in addition to D and H.

    Returns a Dataset over `frequency` (and `load`, where several are named) with a complex variable for each output.
    UserError for frequencies beyond the mesh, unstable systems, and resonances without damping.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=800.0, damping=4.0)  # N/m, N·s/m
    >>> system, at = aq.System([mass], springs=[spring]), mass.boundary("all")
    >>> load, of = aq.frequency.Force(at, 1.0), aq.frequency.Displacement(at, "x")
    >>> receptance = aq.frequency_response(system, load, of, [0.0, 20.0 / (2.0 * np.pi)], progress=False)
    >>> np.round(receptance["response"].values * 800.0, 9)  # 1 at 0 Hz; 1/(2iζ) at resonance, ζ = 0.05
    array([1. +0.j, 0.-10.j])

    Source: Ewins, Modal Testing, 2000; Géradin & Rixen, Mechanical Vibrations, 2015, ch. 2–3.
    """
    hertz = checked_frequencies("frequencies", frequencies)
    checks.one_of("method", method, METHODS)
    loads, outputs = _named_loads(load), named_outputs(of)
    if method == "direct" and (modes is not None or modal_damping is not None):
        raise UserError("modes and modal_damping: need method='modal'")
    linear = linearised(system, contact, structural)
    check_resolution(linear, hertz)
    factors = Factors(linear)
    forces, prescribed = load_columns(linear, loads)
    rows = output_rows(linear, outputs)
    solver: Any
    if method == "modal":
        solver = _Modal.of(factors, rows, (forces, prescribed), hertz, modes, modal_damping)
    else:
        natural_modes(factors, 1)  # refuses unstable systems
        solver = _Direct(factors, rows, forces, prescribed)
    values = np.empty((len(outputs), len(loads), hertz.size), dtype=complex)
    with reporting(progress, "frequency response") as report:
        for k, frequency in enumerate(hertz.tolist()):
            values[:, :, k] = solver.responses(frequency)
            if report is not None:
                report(k + 1, hertz.size)
    return _dataset(hertz, load, of, loads, outputs, values, solver.attributes | {"contact": contact})


def checked_frequencies(name: str, values: ArrayLike) -> Array:
    """Frequencies (k,), Hz, ≥ 0 and increasing."""
    hertz = np.atleast_1d(checks.finite_array(name, values))
    if hertz.ndim != 1 or not hertz.size or (hertz < 0.0).any() or (np.diff(hertz) <= 0.0).any():
        raise UserError.parameter(name, values, "must be increasing frequencies ≥ 0, Hz")
    return hertz


def named_outputs(of: Any) -> dict[str, Any]:
    """Outputs by name, one without a name as "response"."""
    return _named("of", of, "response", "rows", 'of aq.frequency, as Displacement(part.boundary("right"), "y")')


def _named_loads(load: Any) -> dict[str, Any]:
    return _named("load", load, "load", "amplitudes", 'of aq.frequency, as Force(part.boundary("right"), (0.0, 1.0))')


def _named(name: str, value: Any, single: str, method: str, what: str) -> dict[str, Any]:
    """Loads or outputs by name; one of them under the name `single`."""
    each = dict(value) if isinstance(value, Mapping) else {single: value}
    if not each:
        raise UserError.parameter(name, value, f"must name at least one {what}")
    for key, item in each.items():
        if isinstance(item, type) or not hasattr(item, method):
            label = f"{name}[{key!r}]" if isinstance(value, Mapping) else name
            raise UserTypeError.parameter(label, item, f"must be {what}")
        checks.valid_name(key, f"name in {name}")
    return each


def load_columns(linear: Linearised, loads: Mapping[str, Excitation]) -> tuple[Array, Array]:
    """Forces (d, k) and prescribed amplitudes (p, k) of the loads."""
    each = [load.amplitudes(linear) for load in loads.values()]
    return np.stack([forces for forces, _ in each], axis=1), np.stack([moved for _, moved in each], axis=1)


def output_rows(linear: Linearised, outputs: Mapping[str, Output]) -> list[OutputRows]:
    """The rows of the outputs."""
    return [output.rows(linear) for output in outputs.values()]


def _evaluated(rows: Sequence[OutputRows], frequency: float, u: Array, multipliers: Array, forces: Array) -> Array:
    """Values (outputs, k) of displacements (d, k), multipliers (m, k) and forces (d, k)."""
    return np.stack(
        [row.displacement(frequency) @ u + row.multiplier @ multipliers + row.load @ forces for row in rows]
    )


@dataclass(frozen=True, eq=False)
class _Direct:
    """Responses by a factor at each frequency."""

    factors: Factors
    rows: Sequence[OutputRows]
    forces: Array
    prescribed: Array

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the Dataset."""
        return {"method": "direct"}

    def responses(self, frequency: float) -> Array:
        """Values (outputs, loads) at a frequency, Hz."""
        u, multipliers = self.factors.at(frequency).solve(self.forces, self.prescribed)
        return _evaluated(self.rows, frequency, u, multipliers, self.forces)


@dataclass(frozen=True, eq=False)
class _Modal:
    """Responses in a basis B (d, r) of modes and static shapes: with u = L p + B q, L the static lift of the supports,

    (Ω² + i BᵀHB + iω (BᵀDB + 2ζΩ) − ω²) q = Bᵀ (F − A L p).
    """

    linear: Linearised
    rows: Sequence[OutputRows]
    forces: Array
    basis: Array
    omega: Array
    damping: Array
    structural: Array
    lift: Array
    count: int

    @classmethod
    def of(
        cls,
        factors: Factors,
        rows: Sequence[OutputRows],
        load: tuple[Array, Array],
        hertz: Array,
        modes: int | None,
        modal_damping: Any,
    ) -> "_Modal":
        """The basis for loads (d, k) and prescribed amplitudes (p, k), up to the highest frequency."""
        linear, highest = factors.linear, 2.0 * np.pi * float(hertz[-1])
        if modes is None:
            omega, shapes = modes_up_to(factors, _BEYOND * highest)
        else:
            omega, shapes = natural_modes(factors, checks.positive_integer("modes", modes))
        forces, prescribed = load
        lift, static = np.zeros((linear.dof_count, forces.shape[1]), dtype=complex), forces
        if prescribed.any():
            lift = factors.shifted(0.0).solve(np.zeros_like(forces), prescribed)[0]
            static = np.concatenate([forces, linear.mass @ lift], axis=1)
        basis, omega = with_static_shapes(factors, shapes, static)
        damping = basis.T @ (linear.damping @ basis)
        if modal_damping is not None:
            ratios = _ratios(modal_damping, shapes.shape[1], omega.size)
            damping = damping + np.diag(2.0 * ratios * omega)
        structural = basis.T @ (linear.structural @ basis)
        return cls(linear, rows, forces, basis, omega, damping, structural, lift, shapes.shape[1])

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the Dataset."""
        return {"method": "modal", "modes": self.count, "static_shapes": self.omega.size - self.count}

    def responses(self, frequency: float) -> Array:
        """Values (outputs, loads) at a frequency, Hz."""
        omega, dynamic = 2.0 * np.pi * frequency, self.linear.dynamic_stiffness(frequency)
        right = self.basis.T @ (self.forces - dynamic @ self.lift)
        matrix = np.diag(self.omega**2 - omega**2) + 1j * (self.structural + omega * self.damping)
        try:
            u = self.lift + self.basis @ np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            raise UserError(f"at {frequency:g} Hz the system has a resonance without damping") from None
        return _evaluated(self.rows, frequency, u, self._multipliers(self.forces - dynamic @ u), self.forces)

    def _multipliers(self, residual: Array) -> Array:
        """λ (m, k) of Cᵀλ = residual on the free coordinates, in the sense of least squares."""
        rows = self.linear.constraints[:, self.linear.free]
        if not rows.shape[0] or not any(row.multiplier.any() for row in self.rows):
            return np.zeros((rows.shape[0], residual.shape[1]))
        return np.linalg.lstsq(rows.T.toarray(), residual[self.linear.free], rcond=None)[0]


def _ratios(value: float | Sequence[float], modes: int, size: int) -> Array:
    """ζ (r,) of the basis: of the modes those given, of static shapes that of the last mode."""
    ratios = np.atleast_1d(checks.finite_array("modal_damping", value))
    if ratios.ndim != 1 or (ratios < 0.0).any() or ratios.size not in {1, modes}:
        raise UserError.parameter("modal_damping", value, f"must be one number ≥ 0, or {modes}, one for each mode")
    return np.concatenate([np.broadcast_to(ratios, (modes,)), np.full(size - modes, ratios[-1])])


def _dataset(
    hertz: Array,
    load: Any,
    of: Any,
    loads: dict[str, Any],
    outputs: dict[str, Any],
    values: Array,
    more: dict[str, Any],
) -> xarray.Dataset:
    """The responses over frequency, and over load where several are named."""
    several = isinstance(load, Mapping)
    dims = ("load", "frequency") if several else ("frequency",)
    fields = {}
    for (name, output), value in zip(outputs.items(), values, strict=True):
        attributes = described(output.unit, output.label)
        attributes["load_units"] = ", ".join(dict.fromkeys(item.unit for item in loads.values()))
        fields[name] = (dims, value if several else value[0], attributes)
    coords: dict[str, Any] = {"frequency": ("frequency", hertz, described("Hz", "frequency"))}
    if several:
        coords["load"] = ("load", list(loads))
    return xarray.Dataset(fields, coords, attrs=of_run() | {"title": "frequency response"} | more)
