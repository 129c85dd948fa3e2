"""Spacer grids around a rod: in each direction one spring against two dimples, as laws of contact on the rod's skin."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

import arlequin as aq
from multilevel.law import RegularLaw

CROSS = np.array([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])  # the springs push along −x and −y, the dimples along x and y
_LAYER = 60  # points of the table of a spring under asperities


@dataclass(frozen=True)
class Support:
    """A spring or a dimple: stiffness K, N/m; damping C of the shock, N·s/m; asperities before it, or none.

    Elastic contact takes K and C side by side, without pull (`aq.Shock`). With an asperity layer of height a and
    F = κ s^m, κ in N/m^m, the two stand in series, and the layer is crushed for good at s = a:

        g = a − s − F/K,   F = κ s^m (s < a);      F = −K g − … beyond, with the slope K.
    """

    stiffness: float
    damping: float
    layer: tuple[float, float, float] | None = None  # κ, m, a

    @cached_property
    def elastic(self) -> RegularLaw:
        """Without loss."""
        if self.layer is None:
            return aq.Shock(self.stiffness)
        kappa, exponent, height = self.layer
        crush = height * np.geomspace(1e-3, 1.0, _LAYER)
        soft = kappa * crush**exponent
        hard = soft[-1] * np.geomspace(1.0, 1e4, _LAYER)[1:]
        forces = np.concatenate([soft, hard])
        gaps = height - np.concatenate([crush, np.full(hard.size, height)]) - forces / self.stiffness
        order = np.argsort(gaps)
        return aq.AsperityTable(gaps[order].tolist(), forces[order].tolist())

    @cached_property
    def law(self) -> RegularLaw:
        """With its loss; under asperities as a loss factor ωC/K at 1 kHz."""
        if self.layer is None:
            return aq.Shock(self.stiffness, self.damping)
        table = self.elastic
        assert isinstance(table, aq.AsperityTable)
        frequency = 1e3
        loss = 2.0 * np.pi * frequency * self.damping / self.stiffness
        return aq.AsperityTable(table.gaps, table.pressures, loss_factor=loss, frequency=frequency)

    @property
    def height(self) -> float:
        """The gap from which on it does not push, m."""
        return self.elastic.height if isinstance(self.elastic, aq.AsperityTable) else 0.0

    def gap(self, force: float) -> float:
        """The gap at which it pushes with the force, N; 0 where that is 0."""
        if force == 0.0:
            return 0.0
        if self.layer is None:
            return -force / self.stiffness
        law = self.elastic
        low, within = -2.0 * force / self.stiffness, 1e-14 * self.height
        return float(brentq(lambda g: float(law.pressure(np.array([g]))[0]) - force, low, self.height, xtol=within))


@dataclass(frozen=True)
class Grid:
    """A spacer grid at the height z of a rod of the radius: the preload, N, or the gap, m, on every side.

    shift: how far along x it stands off the axis, m.
    """

    number: int
    z: float
    radius: float
    half: float
    spring: Support
    dimple: Support
    preload: float
    gap: float
    shift: float = 0.0

    @property
    def springs(self) -> aq.SectionPoints:
        """Where the springs touch: at +x and +y."""
        return aq.SectionPoints([self.z] * 2, self.radius * CROSS)

    @property
    def dimples(self) -> aq.SectionPoints:
        """Where the dimples touch, at −x below and above, then at −y."""
        return aq.SectionPoints(
            [self.z - self.half, self.z + self.half] * 2, -self.radius * np.repeat(CROSS, 2, axis=0)
        )

    @property
    def names(self) -> tuple[str, str]:
        """Of the boundaries and interfaces."""
        return f"grid{self.number}_springs", f"grid{self.number}_dimples"

    @property
    def reach(self) -> tuple[float, float]:
        """How far springs and dimples stand in the way of the rod at its axis, m: less than 0 for a gap."""
        if self.gap > 0.0:
            return -self.gap, -self.gap
        return -self.spring.gap(self.preload), -self.dimple.gap(0.5 * self.preload)

    def interfaces(self, rod: aq.Beam | aq.Modal, friction: float, tangential: float) -> list[aq.Interface]:
        """The two interfaces of the grid; tangential: stiffness of the sticking support over its normal one."""
        found = []
        for name, side, support, reach in zip(
            self.names, (-1.0, 1.0), (self.spring, self.dimple), self.reach, strict=True
        ):
            skin = rod.boundary(name)
            normals = side * np.repeat(CROSS, len(skin.nodes) // 2, axis=0)
            planes = aq.RigidPlanes(skin.positions + reach * normals + self.shift * CROSS[0], normals)
            stick = tangential * support.stiffness
            rubs = aq.Coulomb(friction, stiffness=stick, damping=tangential * support.damping)
            found.append(aq.Interface(name, skin, planes, support.law, friction=rubs if friction else None))
        return found


def insertion(rod: aq.Beam | aq.Modal, grids: list[Grid]) -> aq.Study:
    """Statics: the supports, which just touch the rod at its axis, move in until it is held, without friction."""
    found = [moving(rod, grid) for grid in grids]
    masses, interfaces = [one for own, _ in found for one in own], [one for _, own in found for one in own]
    return aq.Study(aq.System([rod, *masses], interfaces=interfaces), aq.Static(), duration=1.0, step=0.25)


def moving(rod: aq.Beam | aq.Modal, grid: Grid) -> tuple[list[aq.PointMasses], list[aq.Interface]]:
    """Supports of a grid that move in as t goes to 1, without friction and loss, and their contact with the rod.

    The interfaces are `grid1_springs_x`, `grid1_dimples_x` and so on, of one direction each.
    """
    masses, interfaces = [], []
    for name, side, support, reach in zip(grid.names, (-1.0, 1.0), (grid.spring, grid.dimple), grid.reach, strict=True):
        for axis, letter in enumerate("xy"):
            own = f"{name}_{letter}"
            skin, normal = rod.boundary(own), side * CROSS[axis]
            way = (reach + support.height) * normal
            way[0] += grid.shift
            moved = {c: (lambda t, w=w: w * t) for c, w in zip("xyz", way.tolist(), strict=True)}
            place = skin.positions - support.height * normal
            held = aq.PointMasses(f"{own}_held", place, 1.0, imposed={"all": moved})
            masses.append(held)
            interfaces.append(aq.Interface(own, skin, held.boundary("all"), support.elastic, direction=-normal))
    return masses, interfaces


def points(grids: list[Grid]) -> dict[str, aq.SectionPoints]:
    """Named points of all supports: those of the interfaces, and of each direction alone."""
    found = {}
    for grid in grids:
        for name, own in zip(grid.names, (grid.springs, grid.dimples), strict=True):
            found[name] = own
            for half, letter in zip(np.array_split(np.arange(own.at.size), 2), "xy", strict=True):
                found[f"{name}_{letter}"] = aq.SectionPoints(own.at[half], np.asarray(own.offsets)[half])
    return found
