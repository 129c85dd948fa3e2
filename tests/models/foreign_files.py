"""Meshes of a box 3 × 2 × 1 in cells of each kind, and writers of the formats of other programs.

The tables of nodes and faces are those of the manuals, counted from 1, and are independent of the package.
"""

from dataclasses import dataclass

import numpy as np
import skfem

EDGES = {
    "tetra": "12 23 31 14 24 34", "pyramid": "12 23 34 41 15 25 35 45", "wedge": "12 23 31 45 56 64 14 25 36",
    "hexahedron": "12 23 34 41 56 67 78 85 15 26 37 48", "triangle": "12 23 31", "quad": "12 23 34 41",
}  # fmt: skip
ABAQUS_FACES = {
    "tetra": "123 142 243 341", "wedge": "123 465 1452 2563 3641", "pyramid": "1234 152 253 354 451",
    "hexahedron": "1234 5876 1562 2673 3784 4851", "quad": "12 23 34 41", "triangle": "12 23 31",
}  # fmt: skip
EXODUS_FACES = {
    "tetra": "124 234 143 132", "wedge": "1254 2365 1463 132 456", "pyramid": "125 235 345 154 1432",
    "hexahedron": "1265 2376 3487 1584 1432 5678", "quad": "12 23 34 41", "triangle": "12 23 31",
}  # fmt: skip
ORDER2 = {"tetra": 10, "pyramid": 13, "wedge": 15, "hexahedron": 20, "triangle": 6, "quad": 8}
KINDS = ["hexahedron", "tetra", "wedge", "pyramid"]


def local(text):
    return [[int(digit) - 1 for digit in word] for word in text.split()]


@dataclass
class Model:
    """Points (p, 3), cells (c, n) of a kind in VTK's order; numbers of nodes and elements in the file."""

    shape: str
    points: np.ndarray
    cells: np.ndarray
    numbers: np.ndarray
    elements: np.ndarray

    @property
    def kind(self):
        corners = {"tetra": 4, "pyramid": 5, "wedge": 6, "hexahedron": 8, "triangle": 3, "quad": 4}[self.shape]
        return self.shape if self.cells.shape[1] == corners else f"{self.shape}{ORDER2[self.shape]}"

    @property
    def left(self):
        return np.flatnonzero(self.points[:, 0] < 1e-9)

    @property
    def rod(self):
        """Cells of x < 1."""
        return self.points[self.cells].mean(axis=1)[:, 0] < 1.0

    def right_faces(self, faces):
        """Elements and faces, counted from 1, on x = 3."""
        at_end = self.points[:, 0] > 3 - 1e-9
        return [
            (cell, number + 1)
            for number, face in enumerate(local(faces[self.shape]))
            for cell in np.flatnonzero(at_end[self.cells[:, face]].all(axis=1))
        ]


def model(shape, order=1):
    """The box in cells of a shape."""
    axes = np.linspace(0, 3, 4), np.linspace(0, 2, 3), np.linspace(0, 1, 2)
    if shape == "tetra":
        mesh = skfem.MeshTet.init_tensor(*axes)
        points, cells = mesh.p.T, mesh.t.T
    else:
        x, y, z = (grid.ravel() for grid in np.meshgrid(*axes, indexing="ij"))
        points = np.stack([x, y, z], axis=1)
        i, j = (grid.ravel() for grid in np.meshgrid(range(3), range(2), indexing="ij"))
        corner = lambda a, b, c: ((i + a) * 3 + j + b) * 2 + c  # noqa: E731
        foot = [(0, 0), (1, 0), (1, 1), (0, 1)]
        cells = np.stack([corner(a, b, c) for c in (0, 1) for a, b in foot], axis=1)
        if shape == "wedge":
            cells = np.vstack([cells[:, [0, 1, 2, 4, 5, 6]], cells[:, [0, 2, 3, 4, 6, 7]]])
        elif shape == "pyramid":
            centres = len(points) + np.arange(len(cells))
            points = np.vstack([points, points[cells].mean(axis=1)])
            faces = local(ABAQUS_FACES["hexahedron"])
            cells = np.vstack([np.column_stack([cells[:, face], centres]) for face in faces])
    if order == 2:
        points, cells = second_order(points, cells, shape)
    rng = np.random.default_rng(3)
    numbers = 10 + 3 * rng.permutation(len(points))
    return Model(shape, points, cells, numbers, 100 + 2 * rng.permutation(len(cells)))


def second_order(points, cells, shape):
    pairs = np.stack([np.sort(cells[:, edge], axis=1) for edge in local(EDGES[shape])], axis=1)
    ends, number = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    middles = number.reshape(len(cells), -1) + len(points)
    return np.vstack([points, points[ends].mean(axis=1)]), np.column_stack([cells, middles])


ABAQUS = {
    "tetra": "C3D4", "tetra10": "C3D10", "wedge": "C3D6", "wedge15": "C3D15", "pyramid": "C3D5",
    "pyramid13": "C3D13", "hexahedron": "C3D8R", "hexahedron20": "C3D20",
}  # fmt: skip


def rows(values, width=8):
    values = [str(value) for value in values]
    return "\n".join(", ".join(values[k : k + width]) for k in range(0, len(values), width))


def abaqus(m):
    lines = ["*HEADING", " a box", "** nodes", "*Node, nset=every"]
    lines += [f"{n}, {x:.12g}, {y:.12g}, {z:.12g}" for n, (x, y, z) in zip(m.numbers, m.points, strict=True)]
    lines += ["9999, 7., 7., 7.", f"*ELEMENT, type={ABAQUS[m.kind]},", "  elset=all"]
    for number, cell in zip(m.elements, m.cells, strict=True):  # long rows go on in the next line
        words = [str(number), *map(str, m.numbers[cell])]
        lines += [", ".join(words[:9]) + ("," if words[9:] else ""), *([", ".join(words[9:])] if words[9:] else [])]
    lines += ["*nset, NSET=left", rows(m.numbers[m.left]), "*Elset, elset=rod", rows(m.elements[m.rod])]
    lines += ["*ELSET, ELSET=cap", rows(m.elements[~m.rod]), "*Surface, name=right, type=Element"]
    lines += [f"{m.elements[cell]}, S{face}" for cell, face in m.right_faces(ABAQUS_FACES)]
    return "\n".join(lines).encode()


NASTRAN = {
    "tetra": "CTETRA", "wedge": "CPENTA", "pyramid": "CPYRAM", "hexahedron": "CHEXA",
}  # fmt: skip


def nastran_order(kind, cell):
    if kind == "hexahedron20":  # foot, uprights, top
        return [*cell[:12], *cell[16:], *cell[12:16]]
    if kind == "wedge15":
        return [*cell[:9], *cell[12:], *cell[9:12]]
    return list(cell)


def nastran(m, free=False):
    lines = ["SOL 101", "CEND", f"SET 7 = {','.join(map(str, m.numbers[m.left]))}", "BEGIN BULK"]
    for n, (x, y, z) in zip(m.numbers, m.points, strict=True):
        if free:
            lines.append(f"GRID,{n},,{x:.6f},{y:.6f},{z:.6f}")
        else:
            lines += [f"GRID*   {n:16d}{'':16}{x:16.8E}{y:16.8E}*", f"*       {z:16.8E}"]
    lines += ["PSOLID         1       1", "PSOLID         2       1", "MAT1           1   2.1+5             0.3"]
    for number, cell, rod in zip(m.elements, m.cells, m.rod, strict=True):
        words = [NASTRAN[m.shape], number, 1 if rod else 2, *m.numbers[nastran_order(m.kind, cell)]]
        if free:
            fields = [str(word) for word in words]
            lines.append(",".join(fields[:9]))
            lines += ["," + ",".join(fields[k : k + 8]) for k in range(9, len(fields), 8)]
        else:
            fields = [f"{word!s:<8}" for word in words]
            lines.append("".join(fields[:9]))
            lines += [" " * 8 + "".join(fields[k : k + 8]) for k in range(9, len(fields), 8)]
    return "\n".join([*lines, "ENDDATA"]).encode()


ANSYS_TYPES = {"tetra": 285, "tetra10": 187, "hexahedron": 185, "hexahedron20": 186}


def collapsed(m):
    """Cells as hexahedra of 8 or 20 nodes with repeated ones, as ANSYS and Abaqus have them."""
    if m.shape in ("hexahedron",) or m.kind in ("tetra10",):
        return m.cells, m.kind
    corners = {
        "wedge": [0, 1, 2, 2, 3, 4, 5, 5],
        "pyramid": [0, 1, 2, 3, 4, 4, 4, 4],
        "tetra": [0, 1, 2, 2, 3, 3, 3, 3],
    }
    order = corners[m.shape]
    if m.kind == m.shape:
        return m.cells[:, order], "hexahedron"
    count = {"wedge": 6, "pyramid": 5, "tetra": 4}[m.shape]
    middle = {tuple(sorted(edge)): count + k for k, edge in enumerate(local(EDGES[m.shape]))}
    columns = list(order)
    for edge in local(EDGES["hexahedron"]):
        ends = sorted(order[k] for k in edge)
        columns.append(ends[0] if ends[0] == ends[1] else middle[tuple(ends)])
    return m.cells[:, columns], "hexahedron20"


def ansys(m):
    cells, kind = collapsed(m)
    lines = ["/PREP7", f"ET,1,{ANSYS_TYPES[kind]}", f"NBLOCK,6,SOLID,{m.numbers.max():10d},{len(m.points):10d}"]
    lines.append("(3i9,6e21.13e3)")
    lines += [
        f"{n:9d}{0:9d}{0:9d}" + "".join(f"{value:21.13E}" for value in xyz).rstrip()
        for n, xyz in zip(m.numbers, m.points, strict=True)
    ]
    lines += ["N,R5.3,LOC,       -1,", f"EBLOCK,19,SOLID,{m.elements.max():10d},{len(cells):10d}", "(19i9)"]
    for number, cell in zip(m.elements, cells, strict=True):
        words = [1, 1, 1, 1, 0, 0, 0, 0, len(cell), 0, number, *m.numbers[cell]]
        lines += ["".join(f"{word:9d}" for word in words[k : k + 19]) for k in range(0, len(words), 19)]
    lines.append("       -1")
    for name, what, values in (
        ("LEFT", "NODE", np.sort(m.numbers[m.left])), ("ROD", "ELEM", np.sort(m.elements[m.rod])),
        ("CAP", "ELEM", np.sort(m.elements[~m.rod])),
    ):  # fmt: skip
        lines += [f"CMBLOCK,{name:<8},{what:<4},{len(values):8d}", "(8i10)"]
        lines += ["".join(f"{value:10d}" for value in values[k : k + 8]) for k in range(0, len(values), 8)]
    return "\n".join(lines).encode()


EXODUS = {"tetra": "TETRA", "wedge": "WEDGE", "pyramid": "PYRAMID", "hexahedron": "HEX"}


def exodus(m, file, attribute):
    """Write by `file[name] = array` and `attribute(name, key, text)`; the blocks are the rod and the cap."""
    for axis, values in zip("xyz", m.points.T, strict=True):
        file(f"coord{axis}", values)
    order = np.concatenate([np.flatnonzero(m.rod), np.flatnonzero(~m.rod)])
    names = lambda *texts: np.array([list(text.ljust(33, "\0")) for text in texts], dtype="S1")  # noqa: E731
    file("eb_names", names("rod", "cap"))
    file("eb_prop1", np.array([10, 20], dtype=np.int32))
    for number, chosen in enumerate((np.flatnonzero(m.rod), np.flatnonzero(~m.rod)), 1):
        cells = np.array([nastran_order(m.kind, cell) for cell in m.cells[chosen]], dtype=np.int32) + 1
        file(f"connect{number}", cells)
        attribute(f"connect{number}", "elem_type", f"{EXODUS[m.shape]}{cells.shape[1]}")
    place = np.argsort(order)
    faces = m.right_faces(EXODUS_FACES)
    file("ss_names", names("right"))
    file("ss_prop1", np.array([4], dtype=np.int32))
    file("elem_ss1", np.array([place[cell] + 1 for cell, _ in faces], dtype=np.int32))
    file("side_ss1", np.array([face for _, face in faces], dtype=np.int32))
    file("ns_names", names("left"))
    file("ns_prop1", np.array([4], dtype=np.int32))
    file("node_ns1", (m.left + 1).astype(np.int32))


def exodus_hdf(m, path):
    import h5py

    with h5py.File(path, "w") as file:
        exodus(
            m,
            lambda name, values: file.create_dataset(name, data=values),
            lambda name, key, text: file[name].attrs.__setitem__(key, np.bytes_(text)),
        )


def exodus_classic(m, path):
    from scipy.io import netcdf_file

    with netcdf_file(path, "w") as file:

        def put(name, values):
            dimensions = [f"{name}_{k}" for k in range(values.ndim)]
            for dimension, size in zip(dimensions, values.shape, strict=True):
                file.createDimension(dimension, size)
            file.createVariable(name, values.dtype.char if values.dtype.kind != "S" else "c", dimensions)[:] = values

        exodus(m, put, lambda name, key, text: setattr(file.variables[name], key, text))


MED = {
    "tetra": "TE4", "tetra10": "T10", "wedge": "PE6", "wedge15": "P15", "pyramid": "PY5", "pyramid13": "P13",
    "hexahedron": "HE8", "hexahedron20": "H20",
}  # fmt: skip


def med(m, path):
    import h5py

    with h5py.File(path, "w") as file:
        mesh = file.create_group("ENS_MAA/box")
        mesh.attrs["ESP"] = 3
        step = mesh.create_group("-0000000000000000001-0000000000000000001")
        nodes = step.create_group("NOE")
        nodes.create_dataset("COO", data=m.points.T.ravel()).attrs["NBR"] = len(m.points)
        family = np.zeros(len(m.points), dtype=int)
        family[m.left] = 3
        nodes.create_dataset("FAM", data=family)
        nodes.create_dataset("NUM", data=m.numbers)
        cells = step.create_group(f"MAI/{MED[m.kind]}")
        cells.create_dataset("NOD", data=(m.cells.T + 1).ravel()).attrs["NBR"] = len(m.cells)
        cells.create_dataset("FAM", data=np.where(m.rod, -1, -2))
        for kind, number, names in (
            ("NOEUD", 3, ["left"]),
            ("ELEME", -1, ["rod", "all"]),
            ("ELEME", -2, ["cap", "all"]),
        ):
            group = file.create_group(f"FAS/box/{kind}/FAM_{number}")
            group.attrs["NUM"] = number
            letters = [list(name.encode().ljust(80, b"\0")) for name in names]
            group.create_dataset("GRO/NOM", data=np.array(letters, dtype=np.int8))


def vtu(m, path):
    import meshio

    left = np.zeros(len(m.points), dtype=int)
    left[m.left] = 1
    data = {"rod": [m.rod.astype(int)], "cap": [(~m.rod).astype(int)], "material": [np.where(m.rod, 4, 7)]}
    meshio.vtu.write(path, meshio.Mesh(m.points, [(m.kind, m.cells)], point_data={"left": left}, cell_data=data))
