"""Transfer functions of systems that have a steady oscillation: none of their modes grows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from arlequin.frequency.complex_factor import UNSTABLE, Factors
from arlequin.frequency.outputs import OutputRows
from arlequin.frequency.quadratic_pencil import Complex, QuadraticPencil, grows
from arlequin.frequency.transfer import (
    BEYOND,
    LEAST_IN_FLOW,
    LoadColumns,
    ModalTransfer,
    Transfer,
    chosen_modes,
    transfer_of,
)
from arlequin.models.errors import UserError
from arlequin.models.types import Array


def stable_transfer(
    factors: Factors,
    rows: OutputRows,
    loads: Sequence[LoadColumns],
    highest: float,
    method: str,
    modes: int | None,
    modal_damping: float | Sequence[float] | None,
) -> tuple[Transfer, Array | None]:
    """The transfer functions of a stable system up to a frequency, Hz, and natural frequencies (k,), Hz, where they are
    by-products: of the modes, or of a system in a flow.

    UserError for unstable systems: without flows where K is not positive semidefinite, in a flow where an eigenvalue of
    `complex_modes` grows: all are computed in small systems, in others those up to three times the highest frequency,
    and eight at least; with modal damping those of the reduced equations. Structural damping acts on oscillations, not
    on a divergence.
    """
    linear = factors.linear
    if linear.flow is None:
        factors.check_definite()
    basis = None
    if method == "modal":
        if linear.flow is not None:
            _check_still(factors)
        basis = chosen_modes(factors, highest, modes)
    transfer = transfer_of(factors, rows, loads, basis, modal_damping)
    if linear.flow is None:
        return transfer, None if basis is None else basis[0] / (2.0 * np.pi)
    scale = QuadraticPencil(factors).scale

    def eigenvalues(structural: bool) -> Complex:
        if isinstance(transfer, ModalTransfer) and modal_damping is not None:
            return transfer.eigenvalues(scale, structural)
        return _up_to(QuadraticPencil(factors, structural), scale, 2.0 * np.pi * BEYOND * highest)

    static = moving = eigenvalues(structural=False)
    if any(linear.loss_factors.values()):  # which leave a divergence alone
        moving = eigenvalues(structural=True)
    static, moving = static[static.imag == 0.0], moving[moving.imag > 0.0]
    growing = np.concatenate([static[grows(static, scale)], moving[grows(moving, scale)]])
    if growing.size:
        raise UserError(_unstable(factors, growing[np.argmax(growing.real)]))
    return transfer, moving.imag / (2.0 * np.pi)


def _check_still(factors: Factors) -> None:
    """UserError where a system that is stable in its flow only has no modes without it."""
    try:
        factors.still.check_definite()
    except UserError:
        raise UserError(
            f"{UNSTABLE}; where its flow makes it stable take method='direct', as it has no modes without"
        ) from None


def _up_to(pencil: QuadraticPencil, scale: float, reach: float) -> Complex:
    """The eigenvalues closest to the scale: all of them, or those up to |λ| = reach at least."""
    count = LEAST_IN_FLOW
    while True:
        values = pencil.near(scale, count)[0]
        if pencil.all_of(count) or values.size < count or np.abs(values - scale).max() > reach + scale:
            return values
        count *= 2


def _unstable(factors: Factors, value: Any) -> str:
    """The message on a growing eigenvalue."""
    flows = factors.linear.assembly.system.flows
    each = ", ".join(f"'{flow.name}' of {flow.velocity:.6g} m/s" for flow in flows)
    frequency = f"{value.imag / (2.0 * np.pi):.4g} Hz"
    return (
        f"flow {each}: the system is unstable in it, a mode of {frequency} grows by {value.real:.4g} 1/s, so it has no "
        "steady oscillation: aq.critical_velocity finds the velocity up to which it has one"
    )
