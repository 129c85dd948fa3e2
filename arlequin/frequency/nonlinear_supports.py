"""The nonlinear supports of a system: contact points with gaps, layers and friction, and springs with a law."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.frequency.equivalents import (
    Equivalent,
    PlanarEquivalent,
    of_displacement,
    of_friction,
    of_radius,
    of_rate,
    of_spring_memory,
    planar_shares,
)
from arlequin.frequency.linearised import LinearContact, Linearised, contact_rows
from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.asperity_table import AsperityTable
from arlequin.multilevel.laws.friction import Coulomb
from arlequin.multilevel.laws.springs import BoucWen, Jenkins, SpringBranch
from arlequin.multilevel.laws.squeeze_film import SqueezeFilm
from arlequin.multilevel.obstacles.primitives import RigidCylinder, RigidSphere
from arlequin.multilevel.pairing.collocation import ObstaclePairing
from arlequin.multilevel.pairing.guides import GuidePairing
from arlequin.system.contact import Contact
from arlequin.system.contact_start import ContactStart

_TINY = 1e-6  # rms, relative to the distance of the mean from the next kink: the law is straight over it
_BESIDE = 1e-6  # of the distance of two kinks: where the sides of a kink are looked at


@dataclass(frozen=True, eq=False)
class NonlinearSupport:
    """A contact point or a row of a spring with a law, whose gap or elongation is x = gap + row·(u − u₀).

    normal: number of its row among those of the supports, or −1 of closed rigid contact, a constraint with the number
    `tied` among these; tangents: rows of the slip. laws: regular laws, of the area `area`; level and compliance of a
    multiplier, as of `PointLaws`.
    """

    name: str
    normal: int
    tangents: tuple[int, ...]
    tied: int
    gap: float
    laws: tuple[Any, ...]
    area: float
    level: int
    compliance: float
    friction: Coulomb | None

    @property
    def memories(self) -> list[Jenkins | BoucWen]:
        """The hysteretic branches of a spring."""
        return [law for law in self.laws if isinstance(law, Jenkins | BoucWen)]

    @property
    def kinks(self) -> list[float] | None:
        """Values of x at which the stiffness jumps, None where they are not known."""
        kinks = [0.0] if self.level else []
        for law in self.laws:
            if isinstance(law, SpringBranch):
                kinks += law.kinks
            elif isinstance(law, Asperities):
                kinks.append(law.height)
            elif isinstance(law, AsperityTable):
                kinks += [*law.gaps, law.height]
            else:
                return None
        return sorted(set(kinks))

    @property
    def rate_dependent(self) -> bool:
        """Whether the force depends on the rate of x."""
        viscous = any(law.damped and not isinstance(law, SpringBranch) for law in self.laws)
        return viscous or self.level == 2

    @property
    def moving(self) -> tuple[int, ...]:
        """Rows whose displacements its elastic force resists."""
        return () if self.normal < 0 else (self.normal,)

    @property
    def place(self) -> Array:
        """Gap or elongation at the start as a vector over `moving`, m."""
        return np.full(len(self.moving), self.gap)

    @property
    def dashpots(self) -> tuple[int, ...]:
        """Rows beside `moving` of its damping."""
        return ()

    def gap_at(self, place: Array) -> float:
        """Gap or elongation of the vector over `moving`, m."""
        return float(place[0])

    @property
    def pair(self) -> tuple[int, ...]:
        """Two rows whose motions are correlated."""
        return self.tangents if len(self.tangents) == 2 else ()

    def planar(self, mean: Array, covariance: Array, rates: Array) -> PlanarEquivalent:
        """`equivalent` as vectors and matrices over `moving`, none of closed rigid contact."""
        if not self.moving:
            return PlanarEquivalent(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)), 0.0, 1.0)
        each = self.equivalent(float(mean[0]), math.sqrt(covariance[0, 0]), math.sqrt(rates[0, 0]))
        matrices = np.full((1, 1), each.stiffness), np.full((1, 1), each.damping)
        return PlanarEquivalent(np.full(1, each.force), *matrices, each.square, each.acting)

    def force(self, x: Array, rate: Array) -> Array:
        """f(x, ẋ), N, which resists x: that of the laws without memory."""
        x, rate = np.broadcast_arrays(x, rate)
        flat, rates = x.ravel(), rate.ravel()
        pressure = np.zeros(flat.size)
        for law in self.laws:
            pressure += law.pressure(flat)
            if law.damped and not isinstance(law, SpringBranch):
                pressure += law.damping_pressure(flat, rates)
        if self.level == 1:
            pressure += np.maximum(-flat, 0.0) / self.compliance
        elif self.level == 2:
            pressure += (flat <= 0.0) * np.maximum(-rates, 0.0) / self.compliance
        return np.asarray(-self.area * pressure).reshape(x.shape)

    def equivalent(self, mean: float, deviation: float, rate_deviation: float) -> Equivalent:
        """The equivalent of its normal force.

        Where the motion is tiny beside the distance from the next kink, differences of forces are round-off: then the
        slope is that of a larger motion.
        """
        kinks = self.kinks
        distance = min((abs(kink - mean) for kink in kinks or [0.0]), default=0.0)
        used = max(deviation, _TINY * distance)
        if self.rate_dependent:
            out = of_rate(self.force, mean, used, rate_deviation, kinks)
        else:
            out = of_displacement(lambda x: self.force(x, np.zeros(1)), mean, used, kinks)
        if used > deviation:
            variance = max(out.square - out.force**2, 0.0) * (deviation / used) ** 2
            out = replace(out, square=out.force**2 + variance)
        if not self.memories:
            return out
        k, c = np.sum([of_spring_memory(law, deviation, rate_deviation) for law in self.memories], axis=0) * self.area
        # the hysteretic force beside the others: its square is that of its linear equivalent
        square = out.square + (k * deviation) ** 2 + (c * rate_deviation) ** 2
        return Equivalent(out.force, out.stiffness + float(k), out.damping + float(c), float(square), 1.0)

    def friction_equivalents(
        self, limit: float, acting: float, displacements: Array, rates: Array
    ) -> tuple[Array, Array, Array]:
        """Principal axes (t, t) of the slip velocity, its columns, with stiffness, N/m, and damping, N·s/m, (t,).

        limit: μN, N; acting: share of the time in contact; displacements, rates (t, t): covariances of the slip. In a
        plane each axis has its share of the limit, that of friction without elastic stick.
        """
        law = self.friction
        assert law is not None
        variances, axes = np.linalg.eigh(rates)
        deviations = np.sqrt(np.maximum(variances, 1e-300))
        slips = np.sqrt(np.maximum(np.einsum("ai,ab,bi->i", axes, displacements, axes), 1e-300))
        shares = planar_shares(deviations)[0] if deviations.size == 2 else np.ones(1)
        stiffness = law.stiffness * self.area * (acting if math.isfinite(law.stiffness) else 1.0)
        damping, compliance = law.damping * self.area * acting, law.compliance / self.area
        each = [
            of_friction(limit * share, stiffness, damping, compliance, slip, rate)
            for share, slip, rate in zip(shares.tolist(), slips.tolist(), deviations.tolist(), strict=True)
        ]
        k, c = np.array(each).T
        return axes, k, c

    def clearance(self, mean: float) -> float:
        """Distance, m, of x = mean from where the force starts, negative in contact; nan of forces without a gap."""
        kinks = self.kinks
        if not kinks:
            return math.nan
        scale = float(np.diff(kinks).min()) if len(kinks) > 1 else max(abs(kinks[0]), abs(mean), 1e-9)
        beside = _BESIDE * scale * np.array([-1.0, 1.0])
        none = np.zeros(1)
        starts = [kink for kink in kinks if (self.force(kink + beside, none) == 0.0).sum() == 1]
        if not starts:
            return math.nan
        distance = min(abs(kink - mean) for kink in starts)
        return distance if float(self.force(np.array([mean]), none)[0]) == 0.0 else -distance


@dataclass(frozen=True, eq=False)
class RadialSupport:
    """A point in a round hole about its centre, without friction: the force p(g) of the gap g = clearance − r, along r̂.

    law: of the gap; moving: its rows, of the displacements along two directions across the axis, and `dashpots` the
    same again, where the force depends on the rate; place (2,): offset from the centre at the start, m; radius: the
    clearance, m.
    """

    law: NonlinearSupport
    moving: tuple[int, ...]
    dashpots: tuple[int, ...]
    place: Array
    radius: float
    normal: int = -1
    tied: int = -1
    tangents: tuple[int, ...] = ()
    friction: None = None

    @property
    def name(self) -> str:
        return self.law.name

    @property
    def pair(self) -> tuple[int, ...]:
        return self.moving

    @property
    def gap(self) -> float:
        """Gap at the start, m."""
        return self.law.gap

    @property
    def memories(self) -> list[Any]:
        return []

    @property
    def rate_dependent(self) -> bool:
        return self.law.rate_dependent

    def gap_at(self, place: Array) -> float:
        """Gap at a place (2,), m."""
        return self.radius - float(np.hypot(*place))

    def clearance(self, gap: float) -> float:
        """As of the law."""
        return self.law.clearance(gap)

    def planar(self, mean: Array, covariance: Array, rates: Array) -> PlanarEquivalent:
        """The equivalent at the mean place (2,), m; of motions tiny beside the radius, that of a larger one."""
        kinks = self.law.kinks
        radii = self.radius - np.array([0.0] if kinks is None else kinks)
        least = (_TINY * self.radius) ** 2
        used = covariance + max(least - float(np.linalg.eigvalsh(covariance)[0]), 0.0) * np.eye(2)

        def outwards(r: Array, rate: Array) -> Array:
            return -self.law.force(self.radius - r, -rate)

        return of_radius(outwards, mean, used, rates, radii[radii > 0.0], self.rate_dependent)


@dataclass(frozen=True, eq=False)
class NonlinearSupports:
    """The supports, their rows (s, d), and the constraints (t, d) of closed rigid contact.

    points (s + t,): the contact point of each row; normal (s + t,): whether it is along the normal; directions
    (s + t, axis): of its displacement.
    """

    supports: Sequence[NonlinearSupport | RadialSupport]
    rows: sp.csr_array
    tied: sp.csr_array
    points: Indices
    normal: NDArray[np.bool_]
    directions: Array

    @classmethod
    def of(cls, linear: Linearised) -> "NonlinearSupports":
        """The supports of a system about its start; UserError where there are none, or one is rigid and open."""
        assembly = linear.assembly
        contact, laws = assembly.contact, assembly.laws
        start = ContactStart.of(contact, linear.state, assembly.system.from_result)
        kinematics = start.kinematics
        supports: list[NonlinearSupport | RadialSupport] = []
        in_holes: list[tuple[int, int, sp.csr_array, Array]] = []  # support, point, rows and directions
        rows: list[int] = []
        tied: list[int] = []
        bounds = pairwise(contact.start.tolist())
        for i, (item, steady, (a, b)) in enumerate(zip(contact.items, contact.steady, bounds, strict=True)):
            hole = None if steady else _round_hole(contact.pairings[i])
            if not steady and hole is None:
                raise UserError(
                    f"interface '{item.name}': statistical linearisation needs contact points and normals that stay as "
                    'they are: flat obstacles, round holes, or sliding="small"'
                )
            for k in range(a, b):
                if not kinematics.paired[k]:
                    continue
                rigid = laws.level[k] > 0 and laws.compliance[k] == 0.0
                law = laws.friction_laws[k]
                _check_laws(item.name, laws.regular[k], law, rigid and start.gaps[k] > contact.scale.touching)
                first, last = int(laws.first[k]), int(laws.first[k + 1])
                friction = law if isinstance(law, Coulomb) and law.coefficient > 0.0 else None
                slips = friction is not None
                if hole is not None:
                    if slips or rigid:
                        raise UserError(
                            f"interface '{item.name}': in a round hole statistical linearisation takes a stiffness "
                            "without friction: Penalty(…) or ImpactElement(…)"
                        )
                    in_plane, directions, place = _across(contact, i, k - a, hole[0], hole[1][k - a])
                    in_holes.append((len(supports), k, in_plane, directions))
                if rigid:
                    tied.append(first)
                    if not slips:  # a constraint without a force that depends on the motion
                        continue
                normal = -1 if rigid or hole is not None else len(rows)
                rows += [] if rigid or hole is not None else [first]
                tangents = tuple(range(len(rows), len(rows) + last - first - 1)) if slips else ()
                rows += range(first + 1, last) if slips else []
                law_of_point = NonlinearSupport(
                    name=item.name if b - a == 1 else f"{item.name}[{k - a}]",
                    normal=normal,
                    tangents=tangents,
                    tied=len(tied) - 1 if rigid else -1,
                    gap=float(start.gaps[k]),
                    laws=() if rigid else laws.regular[k],
                    area=float(laws.area[k]),
                    level=0 if rigid else int(laws.level[k]),
                    compliance=float(laws.compliance[k]),
                    friction=friction,
                )
                if hole is None:
                    supports.append(law_of_point)
                else:
                    supports.append(
                        RadialSupport(law_of_point, (), (), place + in_plane @ linear.state, float(hole[1][k - a]))
                    )
        if not supports:
            raise UserError(
                "system: has no support with a gap, a layer, friction or a law of its force: take random_response"
            )
        of_all = np.array(rows + tied, dtype=np.int64)
        points = np.searchsorted(laws.first, of_all, side="right") - 1
        along = of_all - laws.first[points]  # 0 of the normal
        frames = np.concatenate([kinematics.normals[:, None], kinematics.tangents], axis=1)
        directions, every, count = frames[points, along], contact_rows(kinematics, of_all), len(rows)
        blocks, ways, at = [every[:count]], [directions[:count]], [points[:count]]
        for support, k, in_plane, across in in_holes:
            radial = supports[support]
            assert isinstance(radial, RadialSupport)
            each = 2 if radial.rate_dependent else 1  # again for the dashpots, whose principal axes are others
            numbers = range(count, count + 2 * each)
            supports[support] = replace(radial, moving=tuple(numbers[:2]), dashpots=tuple(numbers[2:]))
            blocks += each * [in_plane]
            ways += each * [across]
            at.append(np.full(2 * each, k))
            count += 2 * each
        normal_ones = np.concatenate(
            [along[: len(rows)] == 0, np.zeros(count - len(rows), dtype=bool), along[len(rows) :] == 0]
        )
        return cls(
            supports,
            sp.csr_array(sp.vstack(blocks, format="csr")),
            every[len(rows) :],
            np.concatenate([*at, points[len(rows) :]]),
            normal_ones,
            np.concatenate([*ways, directions[len(rows) :]]),
        )

    def linear(self, axes: Array, stiffness: Array, damping: Array) -> LinearContact:
        """As linear contact: springs, N/m, and dashpots, N·s/m, (s,) along the rows axesᵀ H, axes (s, s) orthogonal,
        and the constraints."""
        fixed, count = self.tied.shape[0], self.rows.shape[0]
        turned = sp.csr_array(sp.csr_array(axes.T) @ self.rows)
        none = np.zeros(fixed)
        return LinearContact(
            rows=sp.csr_array(sp.vstack([turned, self.tied], format="csr")),
            stiffness=np.concatenate([stiffness, none]),
            damping=np.concatenate([damping, none]),
            tied=np.arange(count + fixed) >= count,
            points=self.points,
            normal=self.normal,
            directions=np.concatenate([axes.T @ self.directions[:count], self.directions[count:]]),
        )


def _round_hole(pairing: Any) -> tuple[Array | None, Array] | None:
    """Axis (3,), None in 2D, and clearances (k,), m, of points in round holes; None of other pairings."""
    if isinstance(pairing, GuidePairing) and pairing.guides.axes == 3 and pairing.guides.nose is None:
        return pairing.guides.axis, pairing.guides.clearance
    obstacle = pairing.obstacle if isinstance(pairing, ObstaclePairing) else None
    if isinstance(obstacle, RigidCylinder) and obstacle.inside:
        return obstacle.axis, np.full(len(pairing.areas), obstacle.radius)
    if isinstance(obstacle, RigidSphere) and obstacle.inside and obstacle.axes == 2:
        return None, np.full(len(pairing.areas), obstacle.radius)
    return None


def _across(
    contact: Contact, item: int, point: int, axis: Array | None, radius: float
) -> tuple[sp.csr_array, Array, Array]:
    """Rows (2, d) of the displacements of a point along two directions across the axis of its hole, these (2, a), and
    the initial offset (2,), m, from the axis along them."""
    reference, axes = contact.reference[item], contact.reference[item].normals.shape[1]
    frame = np.concatenate([reference.normals[point][None], reference.tangents[point]])
    normal = frame[0]
    around = np.array([-normal[1], normal[0]]) if axis is None else np.cross(axis, normal)
    directions = np.stack([normal, around])
    first, last = contact.span[item], contact.span[item + 1]
    of_point = sp.csr_array(reference.rows[point * axes : (point + 1) * axes]) @ contact.basis[first:last]
    rows = sp.csr_array(sp.csr_array(directions @ frame.T) @ of_point)
    return rows, directions, np.array([reference.gap[point] - radius, 0.0])


def _check_laws(name: str, regular: tuple[Any, ...], friction: Any, open_rigid: bool) -> None:
    """UserError for laws of a point without equivalent."""
    if open_rigid:
        raise UserError(
            f"interface '{name}': a rigid stop with a gap has no equivalent stiffness: give it one, as Penalty(…) or "
            "ImpactElement(…)"
        )
    if any(isinstance(law, SqueezeFilm) for law in regular):
        raise UserError(
            f"interface '{name}': a squeeze film has no equivalent damping, as the mean of 1/hⁿ over Gaussian gaps is "
            "not finite"
        )
    if friction is not None and not isinstance(friction, Coulomb):
        raise UserError(
            f"interface '{name}': statistical linearisation takes Coulomb friction, not {type(friction).__name__}"
        )
