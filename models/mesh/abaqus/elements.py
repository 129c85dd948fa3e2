"""Element types of Abaqus: the cells that they are, and the numbers of their nodes."""

import re

from arlequin.models.mesh.foreign import node_count

_SOLIDS = {
    4: "tetra", 5: "pyramid", 6: "wedge", 8: "hexahedron", 10: "tetra10", 13: "pyramid13", 15: "wedge15",
    20: "hexahedron20", 27: "hexahedron20",
}  # fmt: skip
_PLANE = {3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8", 9: "quad9"}
_LINES = {2: "line", 3: "line3"}
# families of element types: what stands before the number of nodes
_FAMILIES = (
    (re.compile(r"(?:AC|DC|DCC|C|GK|Q|CC|EC|EM|PE)3D(\d+)"), _SOLIDS),
    (re.compile(r"(?:CS|SC)(6|8)"), _SOLIDS),
    (re.compile(r"(?:CPS|CPE|CPEG|CAX|CGAX|CAXA|DC2D|DCAX|AC2D|ACAX|DS|S|STRI|M3D|R3D|SFM3D|F3D)([34689])"), _PLANE),
    (re.compile(r"(?:T2D|T3D|R2D|RAX|SAX|MAX)([23])"), _LINES),
    (re.compile(r"B[23]([12])"), {1: "line", 2: "line3"}),
)
_STRUCTURAL = re.compile(r"(?:DS|S|STRI|M3D|R3D)\d|(?:T[23]D|R2D|RAX|SAX|MAX|B[23])\d?")


def kind_of(element: str) -> str | None:
    """meshio's name of the cells of an element type of Abaqus; None where it is no mesh of a continuum or beam.

    >>> [kind_of(name) for name in ("C3D20R", "CPE4H", "S8R", "STRI65", "SC8R", "COH3D8", "SPRING1")]
    ['hexahedron20', 'quad', 'quad8', 'triangle6', 'hexahedron', None, None]
    """
    element = element.upper()
    if element == "STRI65":
        return "triangle6"
    for family, kinds in _FAMILIES:
        match = family.match(element)
        if match is not None:
            return kinds.get(int(match[1]))
    return None


def is_structural(element: str) -> bool:
    """Whether the elements of a type are shells, membranes, rigid surfaces, beams or bars.

    >>> [is_structural(name) for name in ("S4R", "M3D4", "B31", "T3D2", "CPS4", "SFM3D4", "SC8R", "C3D8")]
    [True, True, True, True, False, False, False, False]
    """
    return _STRUCTURAL.match(element.upper()) is not None


def node_counts(element: str, kind: str) -> tuple[int, int]:
    """The least and the most nodes of an element of a type in the file, those that are not taken over included.

    >>> node_counts("C3D27", "hexahedron20"), node_counts("B31", "line"), node_counts("C3D8R", "hexahedron")
    ((27, 27), (2, 3), (8, 8))
    """
    element, count = element.upper(), node_count(kind)
    if element.startswith("C3D27"):
        return 27, 27
    if element.startswith("C3D15V"):
        return 18, 18
    if element.startswith("C3D8I"):  # CalculiX has decks with the nodes of the incompatible modes
        return 8, 11
    # beams may have a node for their orientation, generalised plane strain reference nodes
    return count, count + (1 if element.startswith("B") else 2 if element.startswith("CPEG") else 0)
