"""Topographies from files, against the heights that were written."""

import re
import struct
import sys

import numpy as np
import pytest

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.reading import read, read_profile
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


@pytest.mark.sampled(7)
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


@pytest.mark.sampled(7)
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


X = np.linspace(0.0, 9.0, 10)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("given", [{}, {"unit": "µm"}, {"unit": "µm", "size": (9e-6, 1e-6)}])
@pytest.mark.parametrize("separator", [" ", "\t", ",", ";"])
@pytest.mark.parametrize("x", [X, X**2, -X, 1e3 + X], ids=["even", "uneven", "back", "far"])
@pytest.mark.parametrize("across", [False, True])
def test_two_columns_are_a_profile(tmp_path, given, separator, x, across):
    """Equally spaced or not, running forwards or backwards, as columns or as lines; never a map."""
    columns = np.c_[x, np.sin(X)]
    columns = columns.T if across else columns
    np.savetxt(tmp_path / "a.txt", columns, delimiter=separator, header="x z")
    np.save(tmp_path / "a.npy", columns)
    for name in ("a.txt", "a.npy"):
        with pytest.raises(UserError, match=r"are a profile, no map: read it by rough.read_profile\(path, unit=…\)"):
            read(tmp_path / name, **given)
        found = read_profile(tmp_path / name, unit=("mm", "µm"))
        expected = np.interp(np.linspace(x.min(), x.max(), 10), np.sort(x), np.sin(X)[np.argsort(x)])
        assert found.heights == pytest.approx(expected * MICRO, rel=1e-9, abs=1e-18)
        assert found.length == pytest.approx(np.ptp(x) * 10 / 9 * 1e-3)
        assert len(found.corrections) == 1 + (not np.allclose(np.diff(x), np.diff(x)[0]))


def test_profiles_of_heights_alone(tmp_path):
    (tmp_path / "a.txt").write_text("Profile of a sample\n" + "\n".join(f"{z:.9e}" for z in np.sin(X)))
    found = read_profile(tmp_path / "a.txt", unit="µm", length=1e-3)
    assert found.heights == pytest.approx(np.sin(X) * MICRO, rel=1e-8) and found.length == 1e-3
    for given, said in (
        ({"length": 1e-3}, "unit = None: the file has none"),
        ({"unit": "µm"}, "length = None: the file has heights alone: must be the length in m"),
    ):
        with pytest.raises(UserError, match=said):
            read_profile(tmp_path / "a.txt", **given)
    np.savetxt(tmp_path / "b.txt", np.c_[X, X, X])
    with pytest.raises(UserError, match=r"holds 10 × 3 numbers: a profile has two columns"):
        read_profile(tmp_path / "b.txt", unit="m")
    np.savetxt(tmp_path / "c.txt", np.c_[np.sin(X), X])
    with pytest.raises(UserError, match=r"abscissae = .*: must be at least four, increasing or decreasing, m"):
        read_profile(tmp_path / "c.txt", unit="m")
    with pytest.raises(UserError, match="no such file"):
        read_profile(tmp_path / "d.txt", unit="m")


# 24 × 6 points over 12 × 3 µm
SCAN = 1e-7 * np.sin(2 * np.pi * np.arange(24) / 12 + np.arange(6)[:, None])
ENGLISH = "# Channel: Z\n# Width: 12.0 µm\n# Height: 3.0 µm\n# Value units: {unit}\n"
HEADERS = {
    "English": ENGLISH,
    "German": "# Kanal: Topo 2\n# Breite: 12,0 µm\n# Höhe: 3,0 µm\n# Werteinheiten: {unit}\n",
    "French": "# Canal : Z\n# Largeur : 12.0 µm\n# Hauteur : 3.0 µm\n# Unités de valeurs : {unit}\n",
    "exponents": ENGLISH.replace("12.0", "1.2e+01"),
    "nanometres": ENGLISH.replace("12.0 µm", "12000 nm").replace("3.0 µm", "3e-6 m"),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("language", HEADERS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252"])
@pytest.mark.parametrize(("unit", "factor"), [("m", 1.0), ("nm", 1e9), ("µm", 1e6), ("Å", 1e10), ("pm", 1e12)])
def test_the_header_of_gwyddion(tmp_path, language, encoding, unit, factor):
    """Lines of the file are scan lines along x: the first index of the map counts along them."""
    rows = "\n".join("\t".join(f"{factor * z:.6e}" for z in line) for line in SCAN)
    (tmp_path / "a.txt").write_bytes((HEADERS[language].format(unit=unit) + rows + "\n").encode(encoding))
    for given in ({}, {"unit": unit}, {"size": (12e-6, 3e-6)}, {"unit": unit, "size": (12e-6, 3e-6)}):
        t = read(tmp_path / "a.txt", **given)
        assert t.shape == (24, 6) and t.heights == pytest.approx(SCAN.T, rel=1e-5, abs=1e-14)
        assert t.size == pytest.approx((12e-6, 3e-6)) and t.pixel == pytest.approx((5e-7, 5e-7))


def test_headers_that_contradict_or_tell_of_no_heights(tmp_path):
    rows = "\n".join("\t".join(f"{z:.6e}" for z in line) for line in SCAN)
    (tmp_path / "a.txt").write_text(ENGLISH.replace("µ", "μ").format(unit="m") + rows, encoding="utf-8")
    assert read(tmp_path / "a.txt").size == pytest.approx((12e-6, 3e-6)), "the Greek letter, too"
    for given, said in (
        ({"unit": "µm"}, "unit = 'µm': the file says m: leave it out"),
        ({"size": (3e-6, 12e-6)}, "the file says 1.2e-05 × 3e-06 m: leave it out"),
    ):
        with pytest.raises(UserError, match=re.escape(said)):
            read(tmp_path / "a.txt", **given)
    for unit in ("V", "deg", "N/m"):
        (tmp_path / "a.txt").write_text(ENGLISH.format(unit=unit) + rows, encoding="utf-8")
        with pytest.raises(UserError, match=f"its header says that the values are in {unit}: they are no heights"):
            read(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text(ENGLISH.replace("12.0 µm", "12.0 s").format(unit="m") + rows, encoding="utf-8")
    with pytest.raises(UserError, match="its header gives a side of 12 s, no length"):
        read(tmp_path / "a.txt")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.xyz", "a.dat"])
def test_utf_16_is_named(tmp_path, heights, name, encoding):
    (tmp_path / name).write_bytes(lines(heights).encode(encoding))
    with pytest.raises(
        UserError, match=rf"is text in UTF-16: save it as UTF-8, or `iconv -f UTF-16 -t UTF-8 {name} > a-"
    ):
        read(tmp_path / name, unit="µm")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kind", ["<f8", "<f4", "<i2", ">i4"])
@pytest.mark.parametrize("name", ["a.dat", "a.txt", "a.xyz"])
def test_binary_files_are_named(tmp_path, heights, kind, name):
    (tmp_path / name).write_bytes((1000 * heights).astype(kind).tobytes())
    with pytest.raises(UserError, match="is binary, no text: export it as text") as caught:
        read(tmp_path / name, unit="µm", size=SIZE)
    assert "\n" not in str(caught.value)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("comment", ["#", "%", "//", "!"])
@pytest.mark.parametrize("mark", [" ", "\t", ";", "  "])
@pytest.mark.parametrize("missing", ["NaN", "nan", "---", "BAD", "1.70141e+38", "1,70141E+38"])
def test_matrices_as_instruments_write_them(tmp_path, heights, comment, mark, missing):
    """Comments in the middle, decimal commas, a heading without a mark, and what stands for no height."""
    rows = [[f"{z:.6f}".replace(".", ",") for z in row] for row in heights]
    rows[2][1] = missing
    text = ["Instrument 3000", "Date 12.11.2026", f"{comment} 1 2 3 4 5"] + [mark.join(row) for row in rows]
    text.insert(6, f"{comment} 9{mark}9{mark}9{mark}9{mark}9")
    (tmp_path / "a.asc").write_text("\r\n".join(text))
    with pytest.raises(UserError, match="1 of 40 points"):
        read(tmp_path / "a.asc", unit="µm", size=SIZE)
    found = read(tmp_path / "a.asc", unit="µm", size=SIZE, fill=True).heights
    measured = np.ones((8, 5), bool)
    measured[2, 1] = False
    assert found[measured] == pytest.approx(heights[measured] * MICRO, rel=1e-12)


def test_commas_between_are_no_decimal_commas(tmp_path):
    (tmp_path / "a.csv").write_text("1,3,2,4\n5,6,7,8\n")
    assert read(tmp_path / "a.csv", unit="µm", size=SIZE).shape == (2, 4)
    (tmp_path / "b.csv").write_text("1.5, 2.5, 2, 4\n5, 6, 7, 8\n")  # lines that increase are abscissae
    assert read(tmp_path / "b.csv", unit="µm", size=SIZE).heights[0, 1] == pytest.approx(2.5e-6)


def test_a_table_in_three_lines(tmp_path, heights):
    points = np.array([line.split() for line in lines(heights).splitlines()], float)
    np.savetxt(tmp_path / "a.txt", points.T)
    t = read(tmp_path / "a.txt", unit=("mm", "µm"))
    assert t.heights == pytest.approx(heights * MICRO, rel=1e-12) and t.size == pytest.approx(SIZE, rel=1e-9)


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
