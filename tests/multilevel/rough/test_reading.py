"""Topographies from files, against the heights that were written."""

import struct
import sys

import numpy as np
import pytest

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.reading import read
from arlequin.multilevel.rough.topography import TopographyWarning

SIZE = (8e-4, 5e-4)
MICRO = 1e-6


@pytest.fixture
def heights():
    """(8, 5) heights in µm, over pixels of 0.1 mm."""
    return np.random.default_rng(0).standard_normal((8, 5)).round(6)


def lines(heights, order=None, separator=" "):
    """x, y, z with x and y in mm, z in µm."""
    rows = [f"{0.1 * i:.4f}{separator}{3 + 0.1 * j:.4f}{separator}{z:.6f}" for (i, j), z in np.ndenumerate(heights)]
    return "\n".join(rows if order is None else [rows[n] for n in order])


def test_npy(tmp_path, heights):
    np.save(tmp_path / "a.npy", heights)
    t = read(tmp_path / "a.npy", unit="µm", size=SIZE, periodic=True)
    assert t.heights == pytest.approx(heights * MICRO, rel=1e-14) and t.size == SIZE and t.periodic
    assert t.corrections == ("read: a.npy, heights in µm",)


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";", "  "])
@pytest.mark.parametrize("unit", ["µm", "um", "μm"])
def test_a_matrix(tmp_path, heights, separator, unit):
    file = tmp_path / "a.csv"
    np.savetxt(file, heights, delimiter=separator, header="heights of a sample", fmt="%.6f")
    assert read(file, unit=unit, size=SIZE).heights == pytest.approx(heights * MICRO, rel=1e-14)


def test_a_matrix_with_headings_decimal_commas_and_trailing_marks(tmp_path, heights):
    text = "\n".join(";".join(f"{z:.6f}".replace(".", ",") for z in row) + ";" for row in heights)
    (tmp_path / "a.txt").write_text("Height map;12\nUnit: 3 µm\n\n" + text + "\n", encoding="utf-8")
    assert read(tmp_path / "a.txt", unit="um", size=SIZE).heights == pytest.approx(heights * MICRO, rel=1e-14)


def test_a_matrix_of_three_columns_has_a_size(tmp_path, heights):
    np.savetxt(tmp_path / "a.csv", heights[:, :3], delimiter=",")
    assert read(tmp_path / "a.csv", unit="µm", size=(8e-4, 3e-4)).shape == (8, 3)


@pytest.mark.parametrize("name", ["a.xyz", "a.csv", "a.txt"])
@pytest.mark.parametrize("separator", [" ", ",", "\t"])
def test_a_table_in_any_order(tmp_path, heights, name, separator):
    order = np.random.default_rng(1).permutation(heights.size)
    (tmp_path / name).write_text("x y z\n" + lines(heights, order, separator), encoding="utf-8")
    t = read(tmp_path / name, unit=("mm", "µm"))
    assert t.heights == pytest.approx(heights * MICRO, rel=1e-14) and t.size == pytest.approx(SIZE, rel=1e-9)


def test_a_table_with_rounded_coordinates(tmp_path):
    """Thirds of a micrometre with three decimals: lines drift off the usual gap, not off the grid."""
    i, j = np.meshgrid(np.arange(300), np.arange(4), indexing="ij")
    rows = [f"{a / 3:.3f} {b / 3:.3f} {a + 10 * b}" for a, b in zip(i.ravel(), j.ravel(), strict=True)]
    (tmp_path / "a.xyz").write_text("\n".join(rows), encoding="utf-8")
    t = read(tmp_path / "a.xyz", unit=("µm", "nm"))
    assert t.heights == pytest.approx(1e-9 * (i + 10 * j)) and t.pixel[0] == pytest.approx(1e-6 / 3, rel=1e-5)


def test_missing_points_are_holes(tmp_path, heights):
    rows = lines(heights).splitlines()
    rows[7] = rows[7].rsplit(" ", 1)[0] + " NaN"
    (tmp_path / "a.xyz").write_text("\n".join(rows[:20] + rows[21:]), encoding="utf-8")
    with pytest.raises(UserError, match="2 of 40 points"):
        read(tmp_path / "a.xyz", unit=("mm", "µm"))
    t = read(tmp_path / "a.xyz", unit=("mm", "µm"), fill=True)
    assert t.corrections[0].startswith("read: a.xyz") and t.corrections[1].startswith("filled: 2 points")
    kept = np.ones(40, bool)
    kept[[7, 20]] = False
    assert t.heights.ravel()[kept] == pytest.approx(heights.ravel()[kept] * MICRO)


def test_a_line_of_the_grid_may_be_missing(tmp_path, heights):
    rows = [row for row in lines(heights).splitlines() if not row.startswith("0.3000")]
    (tmp_path / "a.xyz").write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(UserError, match="5 of 40 points"):
        read(tmp_path / "a.xyz", unit=("mm", "µm"))


def test_empty_cells_and_words_are_holes(tmp_path, heights):
    rows = [[f"{z:.6f}" for z in row] for row in heights]
    rows[0][0], rows[2][1], rows[7][4] = "", "BAD", ""
    (tmp_path / "a.csv").write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    with pytest.raises(UserError, match="3 of 40 points"):
        read(tmp_path / "a.csv", unit="µm", size=SIZE)


def test_a_confused_unit_is_doubted(tmp_path, heights):
    np.save(tmp_path / "a.npy", heights)
    with pytest.warns(TopographyWarning) as caught:
        read(tmp_path / "a.npy", unit="m", size=SIZE)
    assert "the heights seem 1e6 times too large" in str(caught[0].message)


@pytest.mark.parametrize(
    ("name", "text", "given", "said"),
    [
        ("a.csv", "1,2\n3,4", {"size": SIZE}, "unit = None: the file has none: must be one of m, mm"),
        ("a.csv", "1,2\n3,4", {"unit": "inch", "size": SIZE}, "unit = 'inch': must be one of m, mm"),
        ("a.csv", "1,2\n3,4", {"unit": ("m", "m", "m"), "size": SIZE}, "must be one unit, or two"),
        ("a.csv", "1,2\n3,4", {"unit": "µm"}, "size = None: the file has none: must be (Lx, Ly) in m"),
        ("a.csv", "1,2\n3", {"unit": "µm", "size": SIZE}, "different numbers of columns"),
        ("a.csv", "1,2,4\n1,2,3\n1,2", {"unit": "µm", "size": SIZE}, "different numbers of columns"),
        ("a.csv", "", {"unit": "µm", "size": SIZE}, "holds no numbers"),
        ("a.txt", "just words", {"unit": "µm", "size": SIZE}, "holds no numbers"),
        ("a.csv", "1\n2\n3", {"unit": "µm", "size": SIZE}, "a profile is no topography"),
        ("a.xyz", "0 0 1\n1 0 2\n2 0 3", {"unit": "µm"}, "a profile is no topography"),
        ("a.xyz", "0 0 1\n1 0 2\n0 1 3\n1 1 1", {"unit": "µm", "size": SIZE}, "carries its own"),
        ("a.xyz", "0 0\n1 0\n0 1\n1 1", {"unit": "µm"}, "must have three columns"),
        ("a.xyz", "0 0 1\n1 0 2\n0 1 3\n1 1 1\n1 1 2", {"unit": "µm"}, "some points have the same x and y"),
        ("a.xyz", "0 0 1\n1 0.1 2\n0.3 1 3\n2 1.7 1", {"unit": "µm"}, "do not lie on a regular grid"),
        ("a.npy", "no array", {"unit": "µm", "size": SIZE}, "not an array of numbers"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path, name, text, given, said):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read(tmp_path / name, **given)
    assert said in caught.value.message


def test_no_file_and_no_array_of_numbers(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read(tmp_path / "none.npy")
    np.save(tmp_path / "a.npy", np.array([["a", "b"], ["c", "d"]]))
    with pytest.raises(UserError, match="must be heights of shape"):
        read(tmp_path / "a.npy", unit="m", size=SIZE)


def test_an_instrument_s_file_without_the_library(tmp_path, monkeypatch):
    (tmp_path / "a.sur").write_bytes(b"DIGITAL SURF")
    monkeypatch.setitem(sys.modules, "SurfaceTopography", None)
    with pytest.raises(UserError, match=r'needs the library SurfaceTopography: pip install "arlequin\[rough\]"'):
        read(tmp_path / "a.sur")


def sur(points, spacing, step, units=("mm", "µm")):
    """A Digital Surf file: a header of 512 bytes, then int32 heights, scan line by scan line along x.

    points (m, n) whole numbers of steps; spacing (Δx, Δy) and step in units; −2 below the least: not measured.
    """
    m, n = points.shape
    text = [name.encode("latin-1").ljust(16) for name in ("X", "Y", "Z", units[0], units[0], units[1])]
    low = int(points.min()) + (2 if (points == points.min()).sum() == 1 else 0)
    header = struct.pack(
        "<12s4H30s30s5H2IH4iI3f",
        b"DIGITAL SURF", 0, 1, 1, 2, b"".ljust(30), b"".ljust(30), 0, 0, 0, 1, 0, 0, 0, 32,
        low, int(points.max()), n, m, n * m, *spacing, step,
    )  # fmt: skip
    header += b"".join(text) + b"".join(text[3:]) + struct.pack("<3f3H", 1, 1, 1, 0, 0, 0)
    header += struct.pack("<3I7Hf2I3H", 0, 0, 0, 0, 0, 12, 1, 6, 2020, 0, 0.0, 0, 0, 0, 0, 0)
    header += bytes(128) + struct.pack("<3f", 0, 0, 0) + bytes(34)
    assert len(header) == 512
    return header + points.astype("<i4").tobytes()


def test_digital_surf(tmp_path):
    pytest.importorskip("SurfaceTopography")
    points = np.random.default_rng(2).integers(-1000, 1000, (5, 8))
    points[3, 6] = points.min() - 2
    (tmp_path / "a.sur").write_bytes(sur(points, (0.1, 0.2), 1e-3))
    with pytest.raises(UserError, match="1 of 40 points"):
        read(tmp_path / "a.sur")
    t = read(tmp_path / "a.sur", fill=True)
    assert t.shape == (8, 5) and t.size == pytest.approx((8e-4, 1e-3), rel=1e-6) and not t.periodic
    measured = np.ones((8, 5), bool)
    measured[6, 3] = False
    assert t.heights[measured] == pytest.approx(points.T[measured] * 1e-9, rel=1e-6)
    assert t.corrections[0] == "read: a.sur, units of the file, µm"


def test_a_broken_digital_surf(tmp_path):
    pytest.importorskip("SurfaceTopography")
    (tmp_path / "a.sur").write_bytes(b"DIGITAL SURF and no more")
    with pytest.raises(UserError, match="SurfaceTopography cannot read it"):
        read(tmp_path / "a.sur")
    (tmp_path / "b.sur").write_bytes(sur(np.arange(40).reshape(5, 8), (0.1, 0.2), 1e-3))
    with pytest.raises(UserError, match="SurfaceTopography cannot read it"):
        read(tmp_path / "b.sur", size=(1.0, 2.0))
