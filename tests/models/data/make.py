"""Writes the Gmsh files of this folder: python make.py, with the `gmsh` package installed."""

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def write(gmsh: Any, name: str, version: float, binary: int = 0) -> None:
    gmsh.option.setNumber("Mesh.MshFileVersion", version)
    gmsh.option.setNumber("Mesh.Binary", binary)
    form = f"_v{version}".replace(".", "") + ("b" if binary else "")
    gmsh.write(str(FOLDER / f"{name}{form}.msh"))


def quarter(gmsh: Any, recombine: bool, across: int, around: int) -> tuple[list[int], int]:
    """Quarter ring 1 < r < 2: its lines (south, outer, west, inner) and its surface."""
    gmsh.clear()
    geo = gmsh.model.geo
    p = [geo.addPoint(*x, 0) for x in ((0, 0), (1, 0), (2, 0), (0, 2), (0, 1))]
    lines = [
        geo.addLine(p[1], p[2]),
        geo.addCircleArc(p[2], p[0], p[3]),
        geo.addLine(p[3], p[4]),
        geo.addCircleArc(p[4], p[0], p[1]),
    ]
    surface = geo.addPlaneSurface([geo.addCurveLoop(lines)])
    for line, cells in zip(lines, (across, around, across, around), strict=True):
        geo.mesh.setTransfiniteCurve(line, cells + 1)
    geo.mesh.setTransfiniteSurface(surface)
    if recombine:
        geo.mesh.setRecombine(2, surface)
    return lines, surface


def ring(gmsh: Any, kind: str, order: int, version: float, binary: int = 0) -> None:
    lines, surface = quarter(gmsh, kind == "quad", 2, 3)
    gmsh.model.geo.synchronize()
    for line, name in zip(lines, ("south", "outer", "west", "inner"), strict=True):
        gmsh.model.addPhysicalGroup(1, [line], name=name)
    gmsh.model.addPhysicalGroup(1, [lines[0], lines[2]], name="cuts")
    gmsh.model.addPhysicalGroup(2, [surface], name="ring")
    gmsh.model.addPhysicalGroup(2, [surface], name="all")
    gmsh.model.mesh.generate(2)
    gmsh.model.mesh.setOrder(order)
    write(gmsh, f"ring_{kind}{order}", version, binary)


def block(gmsh: Any, kind: str, order: int, version: float) -> None:
    lines, surface = quarter(gmsh, kind == "hex", 1, 2)
    drawn = gmsh.model.geo.extrude([(2, surface)], 0, 0, 3, numElements=[2], recombine=kind == "hex")
    gmsh.model.geo.synchronize()
    for name, tag in (("bottom", surface), ("top", drawn[0][1]), ("outer", drawn[3][1])):
        gmsh.model.addPhysicalGroup(2, [tag], name=name)
    gmsh.model.addPhysicalGroup(3, [drawn[1][1]], name="block")
    gmsh.model.addPhysicalGroup(1, [lines[1]], name="rim")
    gmsh.model.mesh.generate(3)
    gmsh.model.mesh.setOrder(order)
    write(gmsh, f"block_{kind}{order}", version)


def square(gmsh: Any) -> tuple[list[int], int]:
    """Unit square of 2 × 2 × 2 triangles: its lines (bottom, right, top, left) and its surface."""
    gmsh.clear()
    geo = gmsh.model.geo
    p = [geo.addPoint(*x, 0) for x in ((0, 0), (1, 0), (1, 1), (0, 1))]
    lines = [geo.addLine(p[i], p[(i + 1) % 4]) for i in range(4)]
    surface = geo.addPlaneSurface([geo.addCurveLoop(lines)])
    for line in lines:
        geo.mesh.setTransfiniteCurve(line, 3)
    geo.mesh.setTransfiniteSurface(surface)
    geo.synchronize()
    return lines, surface


def names(gmsh: Any) -> None:
    lines, surface = square(gmsh)
    gmsh.model.addPhysicalGroup(1, [-lines[1]], tag=7, name="tip")
    gmsh.model.addPhysicalGroup(1, [lines[3]], tag=9)
    gmsh.model.addPhysicalGroup(2, [surface], name="tip")
    gmsh.model.mesh.generate(2)
    write(gmsh, "square", 2.2)
    write(gmsh, "square", 4.1)


def awkward(gmsh: Any) -> None:
    """Only lines; all elements, most without a group; 8-node quadrilaterals."""
    lines, surface = square(gmsh)
    gmsh.model.addPhysicalGroup(1, [lines[1]], name="right")
    gmsh.model.mesh.generate(2)
    write(gmsh, "only_lines", 4.1)
    gmsh.option.setNumber("Mesh.SaveAll", 1)
    write(gmsh, "save_all", 4.1)
    write(gmsh, "save_all", 2.2)
    gmsh.option.setNumber("Mesh.SaveAll", 0)
    gmsh.model.addPhysicalGroup(2, [surface], name="body")
    gmsh.model.mesh.recombine()
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 1)
    gmsh.model.mesh.setOrder(2)
    write(gmsh, "quad8", 2.2)


def line(gmsh: Any) -> None:
    gmsh.clear()
    geo = gmsh.model.geo
    ends = [geo.addPoint(x, 0, 0) for x in (0, 2)]
    bar = geo.addLine(*ends)
    geo.mesh.setTransfiniteCurve(bar, 5)
    geo.synchronize()
    for end, name in zip(ends, ("left", "right"), strict=True):
        gmsh.model.addPhysicalGroup(0, [end], name=name)
    gmsh.model.addPhysicalGroup(1, [bar], name="bar")
    gmsh.model.mesh.generate(1)
    write(gmsh, "line", 4.1)


def main() -> None:
    import gmsh

    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    for version in (2.2, 4.1):
        for order in (1, 2):
            for kind in ("tri", "quad"):
                ring(gmsh, kind, order, version)
            for kind in ("tet", "hex"):
                block(gmsh, kind, order, version)
    ring(gmsh, "quad", 2, 4.1, binary=1)
    ring(gmsh, "tri", 1, 2.2, binary=1)
    line(gmsh)
    names(gmsh)
    awkward(gmsh)


if __name__ == "__main__":
    main()
