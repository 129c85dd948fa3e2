"""Nodes and elements that an Abaqus input file generates: *NGEN, *NFILL, *NCOPY, *ELGEN and *ELCOPY.

Sets count as they are at the keyword. What is not read gives one line: parabolas and singular spacings, projections
from a pole and mirrored elements, whose nodes the manual does not say.
Source: Abaqus Keywords Reference Guide; Abaqus Analysis User's Guide, "Node definition", "Element definition".
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.mesh.abaqus.keywords import reals, whole
from arlequin.models.mesh.abaqus.scope import Scope
from arlequin.models.mesh.foreign import damaged
from arlequin.models.types import Array

_MOST_GENERATED = 10_000_000  # nodes or elements of one keyword
_ROUND = 1e-3  # relative difference of the radii of the ends of an arc, which decks give with few digits

Parameters = Mapping[str, str]
Rows = list[list[str]]


def generate(path: Path, scope: Scope, keyword: str, parameters: Parameters, rows: Rows) -> None:
    """Add what a keyword of `GENERATORS` generates to the nodes, elements and sets of a scope."""
    GENERATORS[keyword](path, scope, parameters, rows)


def _refused(path: Path, what: str) -> UserError:
    return UserError(f"{path}: {what} is not read: export the nodes and elements", code=1)


def cartesian(path: Path, keyword: str, system: str, coordinates: list[float]) -> tuple[float, float, float]:
    """Cartesian coordinates of those in SYSTEM= R (or RC), or C: radius, angle in degrees, z."""
    x, y, z = coordinates
    if system[:1] == "C":
        x, y = x * math.cos(math.radians(y)), x * math.sin(math.radians(y))
    elif system[:1] == "S":
        raise UserError(f"{path}: *{keyword} with SYSTEM=S is not read: export Cartesian coordinates", code=1)
    return x, y, z


def _node(path: Path, scope: Scope, keyword: str, number: int) -> Array:
    if number not in scope.tables.nodes:
        raise damaged(path, f"*{keyword} names the node {number}, which is not defined before it")
    return np.array(scope.tables.nodes[number])


def _ngen(path: Path, scope: Scope, parameters: Parameters, rows: Rows) -> None:
    """Nodes between two ends, on a straight line or an arc of a circle (LINE=C), at equal distances."""
    curve = parameters.get("LINE", "").upper()[:1]
    if curve not in ("", "C"):
        raise _refused(path, f"*NGEN, LINE={curve}")
    numbers: list[int] = []
    for row in rows:
        first, last, step = whole(row, 0, 0), whole(row, 1, 0), whole(row, 2, 1)
        ends = _node(path, scope, "NGEN", first), _node(path, scope, "NGEN", last)
        if step == 0 or (last - first) % step or (last - first) // step < 1:
            raise damaged(path, f"*NGEN from node {first} to {last} with the increment {step}")
        line = range(first, last + (1 if step > 0 else -1), step)
        fractions = np.linspace(0.0, 1.0, _plausible(path, "NGEN", len(line)))
        if curve == "C":
            positions = _arc(
                path, ends, _centre(path, scope, parameters, row), np.array(reals(row[7:10], 3)), fractions
            )
        else:
            positions = _straight(ends, fractions)
        for number, (x, y, z) in zip(line[1:-1], positions[1:-1].tolist(), strict=True):
            scope.tables.add_node(number, (x, y, z))
        numbers += line
    if "NSET" in parameters:
        scope.members("NSET", parameters["NSET"]).extend(numbers)


def _plausible(path: Path, keyword: str, count: int) -> int:
    if count > _MOST_GENERATED:
        raise damaged(path, f"*{keyword} generates {count:,} nodes or elements")
    return count


def _straight(ends: tuple[Array, Array], fractions: Array) -> Array:
    return ends[0] + fractions[:, None] * (ends[1] - ends[0])


def _centre(path: Path, scope: Scope, parameters: Parameters, row: list[str]) -> Array:
    number = whole(row, 3, 0)
    if number:
        return _node(path, scope, "NGEN", number)
    return np.array(cartesian(path, "NGEN", parameters.get("SYSTEM", "R").upper(), reals(row[4:7], 3)))


def _arc(path: Path, ends: tuple[Array, Array], centre: Array, normal: Array, fractions: Array) -> Array:
    """Points (n, 3) at fractions (n,) of an arc about a centre.

    The arc turns about its normal by the right-hand rule; without one it is the shorter of the two.
    """
    start, end = ends[0] - centre, ends[1] - centre
    radii = float(np.linalg.norm(start)), float(np.linalg.norm(end))
    where = "the arc of *NGEN about (" + ", ".join(f"{x:.6g}" for x in centre) + ")"
    if min(radii) == 0.0 or abs(radii[1] - radii[0]) > _ROUND * max(radii):
        raise damaged(path, f"{where} has ends at the distances {radii[0]:.6g} and {radii[1]:.6g}")
    across = np.cross(start, end)
    if not normal.any():
        if np.linalg.norm(across) <= 1e-6 * radii[0] * radii[1]:
            raise damaged(path, f"{where} is one of 180° or more, or of 0°, and has no normal")
        normal = across
    normal = normal / np.linalg.norm(normal)
    if max(abs(float(normal @ start)), abs(float(normal @ end))) > _ROUND * max(radii):
        raise damaged(path, f"the normal of {where} is not at right angles to it")
    angle = math.atan2(float(normal @ across), float(start @ end))
    angle += 2.0 * math.pi if angle <= 1e-9 else 0.0  # ends on each other: a whole circle
    turned = np.cross(normal, start)
    along = fractions[:, None] * angle
    radius = 1.0 + fractions[:, None] * (radii[1] / radii[0] - 1.0)
    return np.asarray(centre + radius * (np.cos(along) * start + np.sin(along) * turned))


def _nfill(path: Path, scope: Scope, parameters: Parameters, rows: Rows) -> None:
    """Nodes on the straight lines between corresponding nodes of two sets.

    BIAS is the ratio of each interval to the next one; with TWO STEP it is that of pairs of intervals, in whose
    middles the nodes between them are.
    """
    if "SINGULAR" in parameters:
        raise _refused(path, "*NFILL, SINGULAR")
    for row in rows:
        if len(row) < 3 or not row[0] or not row[1]:
            raise damaged(path, f"*NFILL needs two sets and a number of intervals, not {', '.join(row)}")
        bounds = [scope.nodes_of(path, "NFILL", name) for name in row[:2]]
        count, step = whole(row, 2, 0), whole(row, 3, 1)
        fractions = _spacing(path, count, parameters)
        _plausible(path, "NFILL", count * len(bounds[0]))
        pairs = list(zip(*bounds, strict=False))  # of sets of two lengths the rest is passed over, as Abaqus does
        if len(bounds[0]) != len(bounds[1]):
            scope.tables.leave_out(f"nodes of the longer of the sets {row[0]!r} and {row[1]!r} of *NFILL",
                                   abs(len(bounds[0]) - len(bounds[1])))  # fmt: skip
        generated: list[int] = []
        for first, last in pairs:
            ends = _node(path, scope, "NFILL", first), _node(path, scope, "NFILL", last)
            for k, (x, y, z) in enumerate(_straight(ends, fractions).tolist()[1:-1], 1):
                scope.tables.add_node(first + k * step, (x, y, z))
            generated += [first + k * step for k in range(count)] + [last]
        if "NSET" in parameters:
            scope.members("NSET", parameters["NSET"]).extend(generated)


def _spacing(path: Path, count: int, parameters: Parameters) -> Array:
    """Fractions (count + 1,) of a line at which its nodes are."""
    bias = reals([parameters.get("BIAS", "1")], 1)[0]
    pairs = "TWOSTEP" in parameters
    if count < 1 or bias <= 0.0 or (pairs and count % 2):
        raise damaged(path, f"*NFILL with {count} intervals{' in TWO STEP' * pairs}, BIAS={bias:g}")
    lengths = bias ** -np.arange(count // 2 if pairs else count, dtype=float)
    lengths = np.repeat(lengths, 2) if pairs else lengths
    ends = np.cumsum(np.concatenate([[0.0], lengths]))
    return np.asarray(ends / ends[-1])


def _ncopy(path: Path, scope: Scope, parameters: Parameters, rows: Rows) -> None:
    """Copies of the nodes of a set, shifted and turned, or mirrored, under numbers that grow by CHANGE NUMBER."""
    old, change = _given(path, "NCOPY", parameters, "OLDSET"), int(_given(path, "NCOPY", parameters, "CHANGENUMBER"))
    if "POLE" in parameters:
        raise _refused(path, "*NCOPY, POLE")
    numbers = scope.nodes_of(path, "NCOPY", old)
    lines = [reals(row, 7) for row in rows]
    points = np.array([scope.tables.nodes[number] for number in numbers]).reshape(-1, 3)
    copies = 1
    if "REFLECT" in parameters:
        image: Callable[[Array], Array] = _mirror(path, parameters["REFLECT"].upper(), rows)
    elif "SHIFT" in parameters:
        copies = int(parameters.get("MULTIPLE") or 1)

        def image(points: Array) -> Array:
            return moved(path, "NCOPY", points, lines)
    else:
        raise damaged(path, "*NCOPY has neither SHIFT nor REFLECT")
    _plausible(path, "NCOPY", copies * len(numbers))
    for _ in range(copies):
        points, numbers = image(points), [number + change for number in numbers]
        for number, (x, y, z) in zip(numbers, points.tolist(), strict=True):
            scope.tables.add_node(number, (x, y, z))
        if "NEWSET" in parameters:
            scope.members("NSET", parameters["NEWSET"]).extend(numbers)


def _given(path: Path, keyword: str, parameters: Parameters, name: str) -> str:
    if not parameters.get(name):
        spaced = {"OLDSET": "OLD SET", "CHANGENUMBER": "CHANGE NUMBER", "ELEMENTSHIFT": "ELEMENT SHIFT",
                  "SHIFTNODES": "SHIFT NODES"}  # fmt: skip
        raise damaged(path, f"*{keyword} without {spaced.get(name, name)}=")
    return parameters[name]


def moved(path: Path, keyword: str, points: Array, lines: list[list[float]]) -> Array:
    """Points (n, 3) translated by the first line, then turned by that of an axis a, b and an angle in degrees."""
    if lines:
        points = points + np.array(lines[0][:3])
    if len(lines) > 1 and lines[1][6] != 0.0:
        start, end, angle = np.array(lines[1][:3]), np.array(lines[1][3:6]), math.radians(lines[1][6])
        length = float(np.linalg.norm(end - start))
        if length == 0.0:
            raise damaged(path, f"*{keyword} with an axis of rotation of no length")
        points = start + (points - start) @ _rotation((end - start) / length, angle).T
    return points


def _rotation(axis: Array, angle: float) -> Array:
    """Rotation (3, 3) by an angle (rad) about a unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross)


def _mirror(path: Path, mirror: str, rows: Rows) -> Callable[[Array], Array]:
    """Reflection in the line a, b, the plane a, b, c or the point a; a and b stand in the first data line."""
    a, b = np.reshape(reals(rows[0], 6) if rows else [0.0] * 6, (2, 3))
    if mirror == "POINT":
        return lambda points: 2.0 * a - points
    c = np.array(reals(rows[1], 3) if len(rows) > 1 else [0.0] * 3)
    if mirror not in ("LINE", "MIRROR"):
        raise damaged(path, f"*NCOPY, REFLECT={mirror}")
    axis = b - a if mirror == "LINE" else np.cross(b - a, c - a)
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise damaged(
            path, f"*NCOPY, REFLECT={mirror} with points that are no {'line' if mirror == 'LINE' else 'plane'}"
        )
    axis = axis / length
    sign = 1.0 if mirror == "LINE" else -1.0  # along the axis

    def image(points: Array) -> Array:
        along = ((points - a) @ axis)[:, None] * axis
        return np.asarray(a + sign * (2.0 * along - (points - a)))

    return image


def _elgen(path: Path, scope: Scope, parameters: Parameters, rows: Rows) -> None:
    """Rows and layers of elements like a master element, the numbers of their nodes increased."""
    numbers: list[int] = []
    for row in rows:
        master = whole(row, 0, 0)
        if master not in scope.tables.elements:
            raise damaged(path, f"*ELGEN names the element {master}, which is not defined before it")
        # of elements in a row, rows and layers: number, increments of nodes and elements
        counts, nodes, elements = ([whole(row, 1 + 3 * k + j, 1) for k in range(3)] for j in range(3))
        if min(counts) < 1:
            raise damaged(
                path, f"*ELGEN from element {master} with {', '.join(map(str, counts))} elements, rows, layers"
            )
        _plausible(path, "ELGEN", math.prod(counts))
        kind, of_master = scope.tables.elements[master]
        for at in np.ndindex(*counts[::-1]):
            k, j, i = at
            shift = i * nodes[0] + j * nodes[1] + k * nodes[2]
            number = master + i * elements[0] + j * elements[1] + k * elements[2]
            scope.tables.add_cell(kind, number, [node + shift for node in of_master])
            numbers.append(number)
    if "ELSET" in parameters:
        scope.members("ELSET", parameters["ELSET"]).extend(numbers)


def _elcopy(path: Path, scope: Scope, parameters: Parameters, rows: Rows) -> None:
    """Copies of the elements of a set, the numbers of elements and nodes increased."""
    if "REFLECT" in parameters:
        raise _refused(path, "*ELCOPY, REFLECT")
    old = _given(path, "ELCOPY", parameters, "OLDSET")
    shift, nodes = (int(_given(path, "ELCOPY", parameters, name)) for name in ("ELEMENTSHIFT", "SHIFTNODES"))
    numbers = []
    for number in scope.elements_of(path, "ELCOPY", old):
        kind, of_old = scope.tables.elements[number]
        scope.tables.add_cell(kind, number + shift, [node + nodes for node in of_old])
        numbers.append(number + shift)
    if "NEWSET" in parameters:
        scope.members("ELSET", parameters["NEWSET"]).extend(numbers)


GENERATORS = {"NGEN": _ngen, "NFILL": _nfill, "NCOPY": _ncopy, "ELGEN": _elgen, "ELCOPY": _elcopy}
