"""Complex modes of damped, gyroscopic and non-conservative systems."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.linearised import ContactState, linearised
from arlequin.frequency.quadratic_pencil import Complex, QuadraticPencil
from arlequin.models.checks import finite, positive_integer
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.system.system import System


class ComplexModes(NamedTuple):
    """eigenvalues λ (m,), 1/s, of u = Re φ e^{λt}, with |λ| increasing; shapes φ (d, m), of unit largest entry.

    One of each pair of conjugate eigenvalues, that with Im λ > 0; real eigenvalues each.
    """

    eigenvalues: Complex
    shapes: Complex

    @property
    def frequencies(self) -> Array:
        """Im λ/2π (m,), Hz: frequencies of the damped motion."""
        return np.asarray(self.eigenvalues.imag / (2.0 * np.pi))

    @property
    def damping_ratios(self) -> Array:
        """ζ = −Re λ/|λ| (m,): below 0 of unstable modes, ±1 of motions that do not oscillate."""
        size = np.abs(self.eigenvalues)
        return np.divide(-self.eigenvalues.real, size, out=np.zeros_like(size), where=size > 0.0)


@checked_call
def complex_modes(
    system: System,
    count: int = 5,
    *,
    shift: float | None = None,
    contact: ContactState = "open",
    structural: float | Mapping[str, float] = 0.0,
) -> ComplexModes:
    """The lowest complex modes u = Re φ e^{λt} of a system with damping and flows, linearised at its start,

        (λ²M + λ(D + C_f) + K + K_f + iH) φ = Cᵀφ_c,   C φ = 0,   imposed dofs at rest,

    with Rayleigh damping, dashpots, drag, absorbing junctions, and the matrices C_f, K_f of `System(…, flows=…)`, which
    are not symmetric. count: number of modes, a pair of conjugate eigenvalues as one. shift σ > 0, 1/s: the modes
    closest to it are found; by default near the lowest |λ|. contact, and structural, the loss factors of H: as of
    `frequency_response`; by default no contact acts, and of modes with structural damping those that oscillate are
    found. All eigenvalues of small systems are computed, those of others by shift-invert Arnoldi iteration on the
    linearised pencil.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 1.0)  # m, kg
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=100.0, damping=1.0)  # N/m, N·s/m
    >>> modes = aq.complex_modes(aq.System([mass], springs=[spring]), count=1)
    >>> modes.eigenvalues.round(6).tolist(), modes.damping_ratios.round(6).tolist()  # ω √(1 − ζ²), ζ = c/(2 √(k m))
    ([(-0.5+9.987492j)], [0.05])

    Source: Tisseur & Meerbergen, SIAM Rev. 43 (2001) 235–286.
    """
    positive_integer("count", count)
    linear = linearised(system, contact, structural)
    pencil = QuadraticPencil(Factors(linear), any(linear.loss_factors.values()))
    sigma = pencil.scale if shift is None else finite("shift", shift)
    if sigma <= 0.0:
        raise UserError.parameter("shift", shift, "must be above 0, 1/s")
    values, vectors = pencil.near(sigma, count)
    order = np.argsort(np.abs(values) if shift is None else np.abs(values - sigma), kind="stable")
    if order.size < count:
        raise UserError.parameter("count", count, f"must be at most {order.size} for this system")
    order = order[:count]
    shapes: Complex = np.zeros((linear.dof_count, count), dtype=np.complex128)
    shapes[linear.free] = vectors[:, order]
    largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(count)]
    shapes /= np.where(largest == 0.0, 1.0, largest)
    return ComplexModes(values[order], shapes)
