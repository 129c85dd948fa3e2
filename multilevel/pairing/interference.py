"""Interference fits: which overlap of an interface is closed, and by what course."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.part import Surface
from arlequin.models.signatures import takes
from arlequin.models.types import Array
from arlequin.multilevel.laws.base import NormalLaw, RegularLaw
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.multilevel.search.facets import FacetMesh

Amount = Literal["resolve"] | float | None
Ramp = Callable[[float], float] | float | None
_NOMINAL = 0.1  # gap, in sizes of a facet, up to which surfaces touch nominally: curved ones have chords for arcs
_HALVINGS = 200


def check_interference(name: str, amount: Any, ramp: Any) -> tuple[Amount, Ramp]:
    """The amount, m, and the ramp of an interference; UserError where they are not valid."""
    rule = f"interface '{name}': must be \"resolve\", a length of at least 0 in m, or None"
    if isinstance(amount, str):
        if amount != "resolve":
            raise UserError.parameter("interference", amount, rule)
    elif amount is not None:
        if isinstance(amount, bool) or not isinstance(amount, int | float | np.number):
            raise UserTypeError.parameter("interference", amount, rule)
        if not 0.0 <= amount < np.inf:
            raise UserError.parameter("interference", amount, rule)
        amount = float(amount)
    if ramp is None:
        return amount, None
    if amount is None:
        raise UserError(f"interface '{name}': ramp is for an interference: give interference=\"resolve\" or a length")
    if callable(ramp):
        takes("ramp", ramp, t="the time, s")
        return amount, ramp
    return amount, checks.positive("ramp", ramp)


def ramp_share(name: str, ramp: Ramp, t: float, first_step: float) -> float:
    """Share s of the interference that is closed at the time t, from 0 to 1; by default linear over the first step."""
    if not callable(ramp):
        return min(t / (first_step if ramp is None else ramp), 1.0)
    share = checks.finite(f"interface '{name}': ramp({t:.6g})", ramp(t))
    if not 0.0 <= share <= 1.0 or (t == 0.0 and share != 0.0):
        rule = "must rise from 0 at t = 0 to 1"
        raise UserError.parameter(f"interface '{name}': ramp({t:.6g})", share, rule)
    return share


def reach(name: str, laws: Sequence[NormalLaw], far: float) -> float:
    """Smallest gap, m, from which on the laws exert no pressure; far: a gap where none should, m."""
    low, high = np.array([0.0]), np.array([far])
    regular = [law for law in laws if isinstance(law, RegularLaw)]

    def pressed(gap: Array) -> bool:
        return any(float(law.pressure(gap)[0]) > 0.0 for law in regular)

    if not pressed(low):
        return 0.0
    if pressed(high):
        raise UserError(f"interface '{name}': interference needs laws without pressure at gaps above {far:.3g} m")
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if not low[0] < middle[0] < high[0]:
            break
        low, high = (middle, high) if pressed(middle) else (low, middle)
    return float(high[0])


def facet_size(slave: Surface, master: Any) -> float:
    """Size of the largest facet of both surfaces, m; of a point the distance to the next node of its part, or 1 m."""
    sides = [side for side in (slave, master) if isinstance(side, Surface)]
    sizes = [float(FacetMesh.of(side).size.max()) for side in sides if FacetMesh.suits(side)]
    return max(sizes, default=0.0) or max(map(_next_node, sides)) or 1.0


def _next_node(surface: Surface) -> float:
    """Distance from the first node of a surface to the next node of its part, m; 0 of a part of one node."""
    distances = np.linalg.norm(surface.part.positions - surface.positions[0], axis=1)
    return float(distances[distances > 0.0].min(initial=np.inf)) if distances.any() else 0.0


def nominal_offset(name: str, amount: float, kin: Kinematics, size: float) -> Array:
    """Offset (k,), m, of the gaps for a given interference: −δ − g₀ at points that touch nominally, 0 elsewhere.

    The gap g₀ of the reference configuration, of chords for arcs, is taken for 0. size: of a facet, m.
    """
    touching = kin.paired & (np.abs(np.where(kin.paired, kin.gap, 0.0)) <= _NOMINAL * size)
    deepest = float(kin.gap.min(initial=0.0))
    if deepest < -_NOMINAL * size:
        raise UserError(
            f"interface '{name}': interference = {amount:g}: is for surfaces that touch nominally, these overlap by "
            f'{-deepest:.3g} m: interference="resolve" closes an overlap of the geometry'
        )
    if not touching.any():
        raise UserError(
            f"interface '{name}': interference = {amount:g}: is for surfaces that touch nominally, and these are "
            f"{float(kin.gap.min(initial=np.inf)):.3g} m apart"
        )
    return np.where(touching, -amount - np.where(touching, kin.gap, 0.0), 0.0)
