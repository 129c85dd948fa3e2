"""Interface: a slave surface, its master, and the laws between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from arlequin.models.checks import one_of, positive, valid_name
from arlequin.models.errors import UserError, UserTypeError, short_repr, shown
from arlequin.models.fem.continuum import Continuum
from arlequin.models.part import MeshedPart, Surface
from arlequin.models.rigid.polygon import RigidBody
from arlequin.models.rigid.solid import Rigid
from arlequin.models.signatures import checked_call, takes
from arlequin.models.types import Array
from arlequin.multilevel.laws.base import NormalLaw, RegularLaw, SetValuedLaw
from arlequin.multilevel.laws.friction import FrictionLaw
from arlequin.multilevel.laws.springs import SpringBranch, SpringLaw
from arlequin.multilevel.laws.squeeze_film import SqueezeFilm
from arlequin.multilevel.laws.wear import Archard
from arlequin.multilevel.obstacles.base import Obstacle
from arlequin.multilevel.pairing.collocation import REACH, pair_points
from arlequin.multilevel.pairing.corners import corner_pairing
from arlequin.multilevel.pairing.edges import edge_pairing
from arlequin.multilevel.pairing.frozen import FrozenPairing
from arlequin.multilevel.pairing.interference import Amount, Ramp, check_interference, facet_size, nominal_offset, reach
from arlequin.multilevel.pairing.kinematics import Kinematics, Pairing, PairingMaster
from arlequin.multilevel.pairing.mortar import MortarObstacle, MortarPairing
from arlequin.multilevel.pairing.offset import OffsetPairing
from arlequin.multilevel.pairing.stacked import stacked
from arlequin.multilevel.search.corners import sharp_edges
from arlequin.multilevel.search.facets import FacetMesh

MULTIPLIERS = ("nodes", "gauss", "P0", "P1", "P2")


@checked_call
@dataclass(frozen=True)
class Interface:
    """Contact between a slave surface and a master: a rigid obstacle, guides, or the surface of a deformable part.

    normal: one law or several, which add up; at most one of them set-valued (unilateral). friction: `Coulomb` or
    another `FrictionLaw`, on the sum of their pressures. multiplier: where the laws hold: collocated at the "nodes" or
    "gauss" points of the slave surface, or weakly against functions on it, "P0" (one per facet), "P1" (one per corner)
    or "P2" (one per node of second-order cells). Default: the nodes of rigid bodies, and of other parts against an
    obstacle where all have an area; otherwise P1, which passes the patch test on non-matching meshes. sliding: "large"
    pairs the surfaces anew in each step, "small" keeps the pairing of the start. wear: `Archard`'s law at the points
    where the laws hold, on the slip of friction (`Coulomb(0.0)` for none). direction, from slave to master: collocated
    points are projected along it, not onto the closest point; contact between two points (masses, ends of beams) needs
    it, see `arlequin.multilevel.pairing.collocation.PointPairing`. area: of each contact node, m², instead of its share
    of the surface (1 m² for point masses, the section for ends of bars and beams): with area=1.0 the laws are in N, N/m
    and N·s/m for Pa, Pa/m and Pa·s/m. Unilateral laws hold at sharp corners and edges of both sides, too (large
    sliding, without a direction).

    interference, of press fits, in statics: "resolve" closes the overlap δ₀ that the geometry has at the start; a
    length δ, m, is that of surfaces that touch nominally, whose gap at the start is taken for 0 (chords of curved
    surfaces). The laws see the gap g(u) + δ₀ (1 − s(t)), or g(u) − g(0) − δ s(t): s rises from 0 to 1 over the first
    load step, over `ramp` seconds, or as the function ramp(t). Σ P_n δ ds is external work. Dynamics starts from
    the result of statics, at s = 1.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.05), cells=(4, 2)), steel, plane="strain")
    >>> floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    >>> foot = aq.Interface("foot", block.boundary("bottom"), floor, aq.Unilateral("gap"), friction=aq.Coulomb(0.3))
    >>> system = aq.System([block], interfaces=[foot], gravity=lambda t: (0.0, -10.0 * t))  # m/s²
    >>> result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0)
    >>> round(float(result["interface/foot"]["force"].sel(component="y")[-1]), 6)  # ρ g · 0.1 · 0.05, N/m
    390.0
    """

    name: str
    slave: Surface
    master: Obstacle | PairingMaster | Surface
    normal: NormalLaw | Sequence[NormalLaw]
    friction: FrictionLaw | None = None
    multiplier: Literal["nodes", "gauss", "P0", "P1", "P2"] | None = None
    sliding: Literal["large", "small"] = "large"
    direction: Any = None
    wear: Archard | None = None
    area: float | None = None
    interference: Amount = field(default=None, kw_only=True)
    ramp: Ramp = field(default=None, kw_only=True)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        valid_name(self.name, "name of an interface")
        several = isinstance(self.normal, Sequence) and not isinstance(self.normal, str)
        laws = tuple(self.normal) if several else (self.normal,)  # type: ignore[arg-type]
        for law in laws:
            self._check_law(law, RegularLaw | SetValuedLaw, "normal contact, as Unilateral()")
            if type(law).__hash__ is None:
                raise UserTypeError(
                    f"interface '{self.name}': the law {type(law).__name__} can change, and laws are compared: write "
                    "@dataclass(frozen=True)"
                )
        if not laws:
            raise UserError(f"interface '{self.name}': needs at least one normal law")
        if sum(isinstance(law, SetValuedLaw) for law in laws) > 1:
            raise UserError(f"interface '{self.name}': at most one unilateral law, as each imposes the multiplier")
        object.__setattr__(self, "normal", laws)
        if self.friction is not None:
            self._check_law(self.friction, FrictionLaw, "friction, as Coulomb(0.3)")
            takes(f"mu() of the law {type(self.friction).__name__}", self.friction.mu, state="the SlidingState")
        if any(isinstance(law, SqueezeFilm) for law in laws):
            damped = [law for law in laws if isinstance(law, RegularLaw) and law.damped]
            if self.friction is not None or len(damped) > 1:
                what = "friction" if self.friction is not None else "another law with damping"
                raise UserError(
                    f"interface '{self.name}': a SqueezeFilm beside {what}: give the film an interface of its own"
                )
        if self.wear is not None:
            self._check_law(self.wear, Archard, "wear, as Archard(1e-12)")
        if self.wear is not None and self.friction is None:
            raise UserError(
                f"interface '{self.name}': wear needs friction, whose slip it takes (Coulomb(0.0) for none)"
            )
        if self.multiplier is not None:
            one_of("multiplier", self.multiplier, MULTIPLIERS)
        one_of("sliding", self.sliding, ("large", "small"))
        if isinstance(self.slave, Obstacle | PairingMaster) and not isinstance(self.slave, type):
            raise UserTypeError(
                f"interface '{self.name}': the slave {shown(self.slave)} is an obstacle: obstacles are masters; make "
                'the part\'s boundary the slave: Interface(name, part.boundary("name"), obstacle, …)'
            )
        if not isinstance(self.slave, Surface):
            raise UserTypeError(
                f"interface '{self.name}': the slave = {shown(self.slave)} must be a part's boundary: "
                'part.boundary("name")'
            )
        self._check_sides()

    def _check_law(self, law: Any, kinds: Any, kind: str) -> None:
        """Raise `UserTypeError` where a law is not of these kinds, or a class instead of an object."""
        if isinstance(law, type):
            raise UserTypeError(
                f"interface '{self.name}': {law.__name__} is a class, not a law: write {law.__name__}(…)"
            )
        if isinstance(law, SpringBranch | SpringLaw):
            raise UserTypeError(
                f"interface '{self.name}': {shown(law)} is a law of springs: Spring(name, first, second, law=…)"
            )
        if not isinstance(law, kinds):
            raise UserTypeError(f"interface '{self.name}': {shown(law)} is not a law of {kind}")

    def _check_sides(self) -> None:
        axes, master = self.slave.positions.shape[1], self.master
        if not isinstance(master, Surface):
            if isinstance(master, type) or not isinstance(master, Obstacle | PairingMaster):
                raise UserTypeError(
                    f"interface '{self.name}': the master = {shown(master)} must be a rigid obstacle, guides or a "
                    'part\'s boundary: part.boundary("name")'
                )
            if master.axes != axes:
                raise UserError(
                    f"interface '{self.name}': the obstacle is {master.axes}D, part '{self.slave.part.name}' {axes}D"
                )
        elif master.positions.shape[1] != axes:
            raise UserError(
                f"interface '{self.name}': part '{master.part.name}' is {master.positions.shape[1]}D, "
                f"part '{self.slave.part.name}' {axes}D"
            )
        elif master.part is self.slave.part and set(master.nodes) & set(self.slave.nodes):
            raise UserError(
                f"interface '{self.name}': slave '{self.slave.name}' and master '{master.name}' have nodes in common"
            )
        is_point = (
            isinstance(master, Surface) and master.facets.shape[1] == 1 and (axes > 1 or not master.normals.any())
        )
        if isinstance(master, Surface) and is_point and self.direction is None:
            raise UserError(
                f"interface '{self.name}': '{master.name}' of '{master.part.name}' is a point: make it the slave, or "
                "between two points give the direction from slave to master"
            )
        if axes == 1 and (self.friction is not None or self.multiplier not in (None, "nodes")):
            raise UserError(f"interface '{self.name}': the end of a bar has no friction and no multiplier functions")
        is_pairing = isinstance(master, PairingMaster)
        if is_pairing and (self.multiplier is not None or self.direction is not None):
            raise UserError(f"interface '{self.name}': guides are the contact points: no multiplier, no direction")
        if self.direction is not None and self.weak:
            raise UserError(f"interface '{self.name}': a direction is for multiplier nodes or gauss")
        if self.area is not None:
            object.__setattr__(self, "area", positive("area", self.area))
            if is_pairing or self._space != "nodes":
                kind = "guides have 1 m²" if is_pairing else f"multiplier {self._space} integrates over the surface"
                raise UserError(f"interface '{self.name}': an area is for contact at nodes: {kind}")
        amount, ramp = check_interference(self.name, self.interference, self.ramp)
        if amount is not None and is_pairing:
            raise UserError(f"interface '{self.name}': guides have no interference")
        object.__setattr__(self, "interference", amount)
        object.__setattr__(self, "ramp", ramp)

    @property
    def laws(self) -> tuple[NormalLaw, ...]:
        return tuple(self.normal)  # type: ignore[arg-type]

    @property
    def acting(self) -> tuple[Any, ...]:
        """What its forces depend on beside its surfaces."""
        return self.normal, self.friction, self.wear, self.multiplier, self.sliding, self.direction

    def point_laws(self, count: int) -> list[tuple[NormalLaw, ...]]:
        """The normal laws of each of `count` points."""
        return [self.laws] * count

    @property
    def _space(self) -> str:
        if self.multiplier is not None:
            return self.multiplier
        if isinstance(self.master, PairingMaster):
            return "nodes"
        areas = self.slave.areas
        # the end of a bar or beam is one point, and the facets of a rigid body have no shape functions
        collocated = self.slave.facets.shape[1] == 1 or not isinstance(self.master, Surface)
        part = self.slave.part
        collocated = collocated or not (isinstance(part, MeshedPart) and isinstance(part.model, Continuum))
        return "nodes" if collocated and areas.min() > 1e-3 * areas.max() else "P1"

    @property
    def _side(self) -> Surface:
        """The slave, with the areas of its contact points."""
        if self.area is None:
            return self.slave
        return replace(self.slave, areas=np.full(len(self.slave.nodes), self.area))

    @property
    def weak(self) -> bool:
        """Whether the laws hold weakly, against functions on the slave surface: gaps are means with their weights."""
        return self._space not in ("nodes", "gauss")

    def _corners(self, slave: Surface) -> list[Pairing]:
        """Pairings of sharp corners, edges and ends of both sides that are not among the slave's contact points."""
        if isinstance(self.master, PairingMaster) or self.direction is not None:
            return []
        if not all(isinstance(law, SetValuedLaw) for law in self.laws):
            return []
        pairings = list[Pairing | None]()
        contact_nodes = np.full(len(slave.nodes), self._space == "nodes")
        if self._space != "nodes" and FacetMesh.suits(slave):
            sharp = np.unique(sharp_edges(FacetMesh.of(slave)).nodes)
            contact_nodes[sharp] = True
            pairings += [pair_points(slave, self.master, nodes=sharp)] if sharp.size else []
        # the facets of rigid bodies are whole faces, which may extend far past the ends of other surfaces
        free = self._space == "nodes" and isinstance(slave.part, RigidBody | Rigid)
        pairings += [
            corner_pairing(slave, self.master, contact_nodes, REACH, free),
            edge_pairing(slave, self.master, free),
        ]
        return [pairing for pairing in pairings if pairing is not None]

    def overlap(self, kin: Kinematics) -> Array:
        """Interference (k,), m, at s = 0, so that no law acts on the gap at the start: h − g there, or 0 where g > h.

        h: the gap at which the laws start to act, 0 of unilateral contact; kin: the kinematics of the reference
        configuration.
        """
        size, gap = facet_size(self.slave, self.master), np.where(kin.paired, kin.gap, np.inf)
        return np.maximum(reach(self.name, self.laws, size) - gap, 0.0)

    def pairing(self) -> Pairing:
        """The pairing of the slave's contact points with the master."""
        pairing = self._geometric_pairing()
        if self.interference is None or self.interference == "resolve":
            return pairing
        kin = pairing.at(*self.reference_positions)
        size = facet_size(self.slave, self.master)
        return OffsetPairing(pairing, nominal_offset(self.name, float(self.interference), kin, size))

    @property
    def reference_positions(self) -> tuple[Array, Array]:
        """Reference positions (n, a), m, of the nodes of slave and master; none of an obstacle."""
        master = self.master.positions if isinstance(self.master, Surface) else np.zeros((0, 1))
        return self.slave.positions, master

    def _geometric_pairing(self) -> Pairing:
        pairing: Pairing
        slave = self._side
        if isinstance(self.master, PairingMaster):
            pairing = self.master.pairing(slave)
        elif not self.weak:
            kind: Any = self._space
            pairing = pair_points(slave, self.master, kind, direction=self.direction)
        elif isinstance(self.master, Surface):
            pairing = MortarPairing(slave, self.master, self._space)
        else:
            pairing = MortarObstacle(slave, self.master, self._space)
        if self.sliding == "large":
            return stacked([pairing], self._corners(slave))
        if pairing.fixed:
            return pairing
        frozen = FrozenPairing.of(pairing, self)
        if not frozen.reference.paired.any():
            raise UserError(
                f"interface '{self.name}': no point of '{self.slave.name}' has a partner at the start, and "
                'sliding="small" keeps to those of the start: move the surfaces nearer, or take sliding="large"'
            )
        return frozen
