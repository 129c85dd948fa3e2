"""`frequency_response`: the harmonic response of a system to harmonic loads."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray
from numpy.typing import ArrayLike

from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.excitation import Excitation, as_excitation
from arlequin.frequency.linearised import ContactState, Linearised, linearised
from arlequin.frequency.outputs import Output, OutputRows
from arlequin.frequency.resolution import check_resolution
from arlequin.frequency.stability import stable_transfer
from arlequin.frequency.transfer import METHODS, LoadColumns, ModalTransfer
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described, of_run
from arlequin.run.progress import Progress, reporting
from arlequin.system.system import System

_RESERVED = ("frequency", "load")  # coordinates of the result


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

    load: `aq.frequency.Force`, `BaseAcceleration` or `SupportMotion`, a list of such that act together, or several load
    cases by name, {"tip": Force(…)}. Under forces of 1 N the response is the receptance (of `Displacement`), mobility
    (`Velocity`) or accelerance (`Acceleration`); under a motion of 1 m of a support it is the transmissibility. of:
    outputs of `aq.frequency`, one or several by name. frequencies: Hz, ≥ 0 and increasing.

    D holds the dashpots, Rayleigh and fluid damping and the absorbers of junctions; H = Σ ηK the `structural` damping,
    the loss factor η of all parts and springs, or by name. D and K have the forces of flows, `System(…, flows=…)`, with
    which they are not symmetric. contact: "stuck", points that touch at the start stay
    closed, and stick where they have friction; "sliding", they stay closed and slip; "open", none acts. Layers and laws
    of springs act with their tangent at the start, which with `System(…, from_result=)` is the last state of a result.
    Steady loads of the parts do not enter: they shape the start.

    method: "direct" factors the equations at each frequency; "modal" takes the modes up to three times the highest
    frequency, or `modes` of them, and the static shapes of the loads and outputs (residual flexibility); in a flow the
    modes are those without it, eight at least, with the static shapes of its forces on them. modal_damping: ratio
    of critical, one for all modes or one for each, in addition to D and H.

    Returns a Dataset over `frequency` (and `load`, where several are named) with a complex variable for each output.
    UserError for frequencies beyond the mesh, resonances without damping, and unstable systems: in a flow those with a
    growing mode of `complex_modes`, of large systems one up to three times the highest frequency, or of the lowest 8.

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
    check_method(method, modes, modal_damping)
    loads, outputs = _named_loads(load), named_outputs(of)
    linear = linearised(system, contact, structural)
    check_resolution(linear, hertz)
    factors, rows, columns = Factors(linear), output_rows(linear, outputs), _load_columns(linear, loads)
    transfer, _ = stable_transfer(factors, rows, [columns], float(hertz[-1]), method, modes, modal_damping)
    values = np.empty((len(outputs), len(loads), hertz.size), dtype=complex)
    with reporting(progress, "frequency response") as report:
        for k, frequency in enumerate(hertz.tolist()):
            values[:, :, k] = transfer.at(frequency)[0]
            if report is not None:
                report(k + 1, hertz.size)
    attributes: dict[str, Any] = {"method": method, "contact": contact}
    if isinstance(transfer, ModalTransfer):
        attributes |= {"modes": transfer.count, "static_shapes": transfer.mass.size - transfer.count}
    return _dataset(hertz, isinstance(load, Mapping), loads, outputs, values, attributes)


def checked_frequencies(name: str, values: ArrayLike) -> Array:
    """Frequencies (k,), Hz, ≥ 0 and increasing."""
    hertz = np.atleast_1d(checks.finite_array(name, values))
    if hertz.ndim != 1 or not hertz.size or (hertz < 0.0).any() or (np.diff(hertz) <= 0.0).any():
        raise UserError.parameter(name, values, "must be increasing frequencies ≥ 0, Hz")
    return hertz


def check_method(method: str, modes: int | None, modal_damping: Any) -> None:
    """UserError for an unknown method, or for parameters of modes with another one."""
    checks.one_of("method", method, METHODS)
    if method == "direct" and (modes is not None or modal_damping is not None):
        raise UserError("modes and modal_damping: need method='modal'")


def named_outputs(of: Any) -> dict[str, Output]:
    """Outputs by name, one without a name as "response"."""
    what = 'must be of aq.frequency, as Displacement(part.boundary("right"), "y"), or several by name'
    outputs: dict[str, Output] = {}
    for name, item in _named("of", of, "response").items():
        if isinstance(item, type) or not isinstance(item, Output):
            raise UserTypeError.parameter(f"of[{name!r}]" if isinstance(of, Mapping) else "of", item, what)
        if name in _RESERVED:
            raise UserError(f"of: no output may be named {name!r}")
        outputs[name] = item
    return outputs


def _named_loads(load: Any) -> dict[str, Excitation]:
    several = isinstance(load, Mapping)
    each = _named("load", load, "load")
    return {name: as_excitation(f"load[{name!r}]" if several else "load", item) for name, item in each.items()}


def _named(name: str, value: Any, single: str) -> dict[str, Any]:
    """Items by name, one without a name as `single`."""
    if not isinstance(value, Mapping):
        return {single: value}
    if not value:
        raise UserError.parameter(name, value, "must not be empty")
    for key in value:
        checks.valid_name(key, f"name in {name}")
    return dict(value)


def _load_columns(linear: Linearised, loads: Mapping[str, Excitation]) -> LoadColumns:
    """Forces (d, k) and prescribed amplitudes (p, k) of the load cases."""
    forces, moved = zip(*(load.amplitudes(linear) for load in loads.values()), strict=True)
    return LoadColumns.of(np.stack(forces, axis=1), np.stack(moved, axis=1))


def output_rows(linear: Linearised, outputs: Mapping[str, Output]) -> OutputRows:
    """The rows of the outputs, one below the other."""
    return OutputRows.stacked([output.rows(linear) for output in outputs.values()])


def _dataset(
    hertz: Array,
    several: bool,
    loads: Mapping[str, Excitation],
    outputs: Mapping[str, Output],
    values: Array,
    more: dict[str, Any],
) -> xarray.Dataset:
    """The responses over frequency, and over load where several are named."""
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
