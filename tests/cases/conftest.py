"""What tests of cases share: a folder of their own, the line of an error, small Gmsh files written as text."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def gmsh_text(nx: int, ny: int, x: tuple[float, float], y: tuple[float, float], right: str) -> str:
    """A rectangle of nx × ny quadrilaterals in Gmsh's format 2.2; its end at x[1] is the group `right`."""
    xs, ys = np.linspace(*x, nx + 1), np.linspace(*y, ny + 1)
    nodes = [f"{j * (nx + 1) + i + 1} {xs[i]!r} {ys[j]!r} 0" for j in range(ny + 1) for i in range(nx + 1)]

    def node(i: int, j: int) -> int:
        return j * (nx + 1) + i + 1

    cells = [f"1 2 1 1 {node(nx, j)} {node(nx, j + 1)}" for j in range(ny)]
    cells += [
        f"3 2 2 1 {node(i, j)} {node(i + 1, j)} {node(i + 1, j + 1)} {node(i, j + 1)}"
        for j in range(ny)
        for i in range(nx)
    ]
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat"]
    lines += ["$PhysicalNames", "2", f'1 1 "{right}"', '2 2 "tip"', "$EndPhysicalNames"]
    lines += ["$Nodes", str(len(nodes)), *nodes, "$EndNodes"]
    lines += ["$Elements", str(len(cells)), *(f"{n + 1} {cell}" for n, cell in enumerate(cells)), "$EndElements"]
    return "\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but saved as a picture of one pixel: for tests of what is said and written, not of pictures."""
    from matplotlib.figure import Figure
    from PIL import Image

    stream = io.BytesIO()
    Image.new("L", (1, 1)).save(stream, format="png")

    def savefig(self: Figure, target: Any, **options: Any) -> None:
        (target.write if hasattr(target, "write") else Path(target).write_bytes)(stream.getvalue())

    monkeypatch.setattr(Figure, "savefig", savefig)


@pytest.fixture
def one_line(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """one_line(): what the command line has said of an error, which is one line, without its beginning."""

    def said() -> str:
        err = capsys.readouterr().err
        assert err.startswith("arlequin: ") and err.count("\n") == 1 and "Traceback" not in err
        return err.removeprefix("arlequin: ").strip()

    return said


@pytest.fixture
def tip(tmp_path: Path) -> Callable[..., Path]:
    """tip(nx, ny, x=…, y=…, right=…, edit=…): a mesh file of the tip of `multiscale_bar`, as text changed by `edit`."""

    def write(
        nx: int = 40,
        ny: int = 2,
        x: tuple[float, float] = (0.08, 0.1),
        y: tuple[float, float] = (0.0, 0.005),
        right: str = "right",
        edit: Callable[[str], str] = str,
    ) -> Path:
        path = tmp_path / "tip.msh"
        path.write_text(edit(gmsh_text(nx, ny, x, y, right)))
        return path

    return write
