"""The view of a result: what is drawn, the page for browsers, a browser, the window."""

import base64
import json
import re
import shutil
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.viewer import page as pages
from arlequin.viewer.scene import scene_of

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


@pytest.fixture(scope="module")
def solid() -> xarray.DataTree:
    mesh = aq.mesh.box((0.0, 0.02), (0.0, 0.01), (0.0, 0.01), cells=(4, 3, 2))
    block = aq.Solid("block", mesh, STEEL)
    wall = aq.RigidPlane(point=(0.02, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
    touching = aq.Interface("tip", block.boundary("right"), wall, aq.Asperities(1e13, 1.0, 0.0))
    system = aq.System([block], interfaces=[touching], velocity=(10.0, 0.0, 0.0))
    return aq.simulate(system, aq.Theta(0.5), duration=2e-6, step=1e-7)


@pytest.fixture(scope="module")
def plane() -> xarray.DataTree:
    plate = aq.Solid("plate", aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), cells=(4, 3)), STEEL, plane="strain")
    beam = aq.Beam("beam", aq.mesh.interval(0.0, 0.02, 5), STEEL, aq.Section.rectangle(1e-3, 1e-3), dimension=2)
    return aq.simulate(
        aq.System([plate, beam], velocity={"plate": (1.0, 2.0)}), aq.Theta(0.5), duration=1e-6, step=1e-7
    )


def decoded(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found.group(1))


def unpacked(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)


def test_obstacles_beside_the_parts(solid: xarray.DataTree) -> None:
    block, wall = scene_of(solid).parts
    assert (wall.rigid, wall.kind, wall.fields) == (True, "triangle", {})
    np.testing.assert_allclose(wall.places[:, 0], 0.02, rtol=1e-12)
    beside = 0.15 * np.linalg.norm(np.ptp(block.places, axis=0))
    low, high = wall.places[:, 1:].min(axis=0), wall.places[:, 1:].max(axis=0)
    np.testing.assert_allclose([low, high], [[-beside] * 2, [0.01 + beside] * 2], rtol=1e-3)


def test_obstacles_in_the_plane_and_on_a_line() -> None:
    plate = aq.Solid("plate", aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), cells=(4, 3)), STEEL, plane="strain")
    disk = aq.RigidSphere(centre=(0.03, 0.005), radius=0.01)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.02, 4), STEEL)
    for part, obstacle in ((plate, disk), (bar, aq.RigidPlane(0.02, -1.0))):
        contact = aq.Interface("end", part.boundary("right"), obstacle, aq.Unilateral())
        result = aq.simulate(aq.System([part], interfaces=[contact]), aq.Theta(0.5), duration=2e-7, step=1e-7)
        rigid = scene_of(result).parts[1]
        assert rigid.rigid and rigid.kind == "line" and len(rigid.pieces)
        if part is plate:  # on the chords of the circle
            away = np.hypot(rigid.places[:, 0] - 0.03, rigid.places[:, 1] - 0.005)
            assert away.min() >= 0.99 * 0.01 and away.max() <= 0.01 * (1.0 + 1e-12)
        else:
            np.testing.assert_allclose(rigid.places[:, 0], 0.02)


def test_a_member_of_an_ensemble() -> None:
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.02, 4), STEEL)
    members = [aq.System([bar], velocity=speed) for speed in (1.0, 2.0)]
    result = aq.simulate_ensemble(members, aq.Theta(0.5), duration=4e-7, step=1e-7)
    with pytest.raises(aq.UserError, match="a view shows one member of an ensemble: choose member="):
        aq.view(result)
    (part,) = scene_of(result, member=1).parts
    np.testing.assert_allclose(part.displacement[-1, :, 0], 8e-7, rtol=1e-6)


def test_components_of_a_stress_have_names() -> None:
    plate = aq.Solid("plate", aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), cells=(4, 3)), STEEL, plane="strain")
    record = aq.Record(stress=True)
    result = aq.simulate(
        aq.System([plate], velocity=(1.0, 0.0)), aq.Theta(0.5), duration=2e-7, step=1e-7, record=record
    )
    (part,) = scene_of(result).parts
    assert part.fields["stress"].components == ("xx", "yy", "zz", "xy")


def test_outer_faces_and_fields(solid: xarray.DataTree) -> None:
    part = scene_of(solid).parts[0]
    assert (part.kind, part.pieces.shape) == ("quad", (2 * (4 * 3 + 4 * 2 + 3 * 2), 4))
    group = solid["part/block"].dataset
    outside = np.flatnonzero(
        (np.isclose(group["position"], 0.0) | np.isclose(group["position"], [0.02, 0.01, 0.01])).any(axis=1)
    )
    np.testing.assert_allclose(part.places, group["position"].values[outside])
    np.testing.assert_allclose(part.displacement, group["displacement"].values[:, outside], rtol=1e-6)
    assert part.fields["velocity"].unit == "m/s" and part.fields["velocity"].values.shape[2] == 3
    pressure = part.fields["tip/pressure"]
    right = np.isclose(part.places[:, 0], 0.02)
    assert np.isnan(pressure.values[:, ~right]).all() and pressure.unit == "Pa"
    points = solid["interface/tip"].dataset
    for place, own in zip(points["point_position"].values, points["pressure"].values.T, strict=True):
        node = int(np.linalg.norm(part.places - place, axis=1).argmin())
        np.testing.assert_allclose(pressure.values[:, node], own)
    assert pressure.values[:, right].max() > 0.0


def test_whole_cells_of_any_kind(solid: xarray.DataTree, plane: xarray.DataTree) -> None:
    assert [(p.kind, len(p.pieces)) for p in scene_of(solid, whole=True).parts] == [("hexahedron", 24), ("triangle", 2)]
    scene = scene_of(plane)
    assert [(p.kind, len(p.pieces)) for p in scene.parts] == [("quad", 12), ("line", 5)] and scene.axes == 2
    assert all(part.places.shape[1] == 3 and not part.places[:, 2].any() for part in scene.parts)


def test_page_holds_what_is_drawn(solid: xarray.DataTree, tmp_path: Path) -> None:
    target = aq.view(solid, magnify=3.0).save(tmp_path / "made" / "view.html")
    text = target.read_text(encoding="utf-8")
    assert not re.search(r"https?://|src=|<link|import\(", text)  # nothing from a network
    data, scene = decoded(text), scene_of(solid)
    (told, wall), (part, _) = data["parts"], scene.parts
    assert wall["rigid"] and not told["rigid"]
    assert data["magnify"] == 3.0 and data["times"] == scene.times.tolist()
    assert next(iter(told["fields"])) == "velocity"
    np.testing.assert_array_equal(unpacked(told["pieces"], "<u4").reshape(-1, 4), part.pieces)
    np.testing.assert_allclose(unpacked(told["places"], "<f4").reshape(-1, 3), part.places, rtol=1e-6)
    moved = told["displacement"]
    last = moved["step"] * unpacked(moved["frames"][-1], "<i2").reshape(-1, 3)
    np.testing.assert_allclose(last, part.displacement[-1], atol=0.51 * moved["step"])
    pressure = told["fields"]["tip/pressure"]
    steps = unpacked(pressure["frames"][-1], "<i2")
    values = part.fields["tip/pressure"].values[-1]
    np.testing.assert_array_equal(steps == pages.ABSENT, np.isnan(values))
    np.testing.assert_allclose((pressure["step"] * steps)[steps != pages.ABSENT], values[np.isfinite(values)],
                               atol=0.51 * pressure["step"])  # fmt: skip


def test_frames_are_left_out_of_large_pages(solid: xarray.DataTree, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = scene_of(solid)
    whole = len(pages.page(scene, "t"))
    smaller = pages.page(scene_of(solid, frames=8), "t")
    monkeypatch.setattr(pages, "MAX_BYTES", len(smaller) - len(pages.TEMPLATE.read_text(encoding="utf-8")))
    text = pages.page(scene, "t")
    times = decoded(text)["times"]
    assert len(text) < whole and 2 < len(times) < scene.times.size
    assert (times[0], times[-1]) == (scene.times[0], scene.times[-1])


def test_notebooks_show_the_page(plane: xarray.DataTree) -> None:
    shown = aq.view(plane)
    assert shown._repr_html_().startswith("<iframe srcdoc=") and "2 part(s), 11 frame(s)" in repr(shown)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"field": "colour"}, r"field = 'colour': must be one of displacement, "),
        ({"frames": 0}, r"frames = 0: must be a whole number of at least 1"),
        ({"magnify": -1.0}, r"magnify = -1.0: must be positive"),
        ({"parts": ("rod",)}, r"part rod: not in the result; there are block"),
    ],
)
def test_bad_input(solid: xarray.DataTree, options: Any, line: str) -> None:
    with pytest.raises(aq.UserError, match=line):
        aq.view(solid, **options)


def test_without_pyvista_a_line_names_the_page(solid: xarray.DataTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyvista", None)
    with pytest.raises(aq.UserError, match=r"needs PyVista: pip install 'arlequin\[view\]'.*--html FILE"):
        aq.view(solid).show()


def test_window(solid: xarray.DataTree, plane: xarray.DataTree) -> None:
    pyvista = pytest.importorskip("pyvista")
    from arlequin.viewer.window import Window

    for result in (solid, plane):
        shown = Window(pyvista, scene_of(result, whole=True), "t", {"off_screen": True})
        shown.next_field()
        shown.next_component()
        shown.to(3)
        assert np.ptp(np.asarray(shown.plotter.screenshot(return_img=True)).reshape(-1, 3), axis=0).max() > 100
        shown.plotter.close()


def browsed(target: Path, folder: Path, size: str) -> str:
    """The document that Chromium makes of a page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    words = [
        browser, "--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
        f"--user-data-dir={folder / 'profile'}", f"--window-size={size}", "--virtual-time-budget=20000", "--dump-dom",
        target.as_uri(),
    ]  # fmt: skip
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout


HOSTILE = ("<!--<script>", "]]>", "<svg onload=alert(1)>", "\u2028'\"`${x}", "&lt;!--", "*data*", "a\u202eb\\u003c")


@pytest.fixture(scope="module")
def hostile() -> xarray.DataTree:
    """Parts, and a case, whose names are markup."""
    mesh = aq.mesh.box((0.0, 0.01), (0.0, 0.01), (0.0, 0.01), cells=(1, 1, 1))
    parts = [aq.Solid(name, mesh.translated((0.02 * n, 0.0, 0.0)), STEEL) for n, name in enumerate(HOSTILE)]
    attributes = {"case": "</script><!--<script>/*data*/<img src=x onerror=alert(1)>\ud800"}
    record = aq.Record(attributes=attributes)
    system = aq.System(parts, velocity=(1.0, 0.0, 0.0))
    return aq.simulate(system, aq.Theta(0.5), duration=2e-7, step=1e-7, record=record)


class Elements(HTMLParser):
    """Start tags, and texts by the tag that they are in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append((self.tags[-1][0] if self.tags else "", data))


def test_names_that_are_markup_leave_the_page_whole(hostile: xarray.DataTree, tmp_path: Path) -> None:
    """The same elements as of plain names; the names are read back; nothing in the data could end or open a script."""
    text = aq.view(hostile).save(tmp_path / "view.html").read_text(encoding="utf-8")
    begin = text.index('id="data">') + len('id="data">')
    data = text[begin : text.index("</script>", begin)]
    assert not set("<>&\u2028") & set(data)
    assert [part["name"] for part in json.loads(data)["parts"]] == list(HOSTILE)
    plain = hostile.copy()
    plain.attrs["case"] = "plain"
    other = aq.view(plain).save(tmp_path / "plain.html").read_text(encoding="utf-8")
    assert Elements(text).tags == Elements(other).tags
    assert ("title", hostile.attrs["case"].replace("\ud800", "?")) in Elements(text).texts
    (inside,) = Elements(aq.view(hostile)._repr_html_()).tags  # the page in an attribute
    assert inside[0] == "iframe" and inside[1].keys() == {"srcdoc", "title", "style"}


def test_names_that_are_markup_in_a_report(hostile: xarray.DataTree, tmp_path: Path) -> None:
    """No element, handler or script comes of a name; the frame has the whole page of the view."""
    from arlequin.cases.reports.run import run_report
    from arlequin.cases.reports.writing import write

    named = hostile.copy()
    named.attrs |= {"case": HOSTILE[0], "<svg onload=alert(1)>": "</td><script>alert(1)</script>"}
    with pytest.warns(UserWarning, match="figures and checks of its case are omitted"):
        text = write(run_report(named), tmp_path / "report.html").read_text(encoding="utf-8")
    page = Elements(text)
    assert not {"script", "svg"} & {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    (frame,) = (attributes for tag, attributes in page.tags if tag == "iframe")
    assert frame["srcdoc"] is not None
    assert [part["name"] for part in decoded(frame["srcdoc"])["parts"]] == list(HOSTILE)


def test_names_that_are_markup_in_a_browser(hostile: xarray.DataTree, tmp_path: Path) -> None:
    dom = browsed(aq.view(hostile).save(tmp_path / "view.html"), tmp_path, "700,500")
    assert 'data-ready="yes"' in dom and "data-failed" not in dom


@pytest.mark.parametrize("size", ["1100,700", "400,800"])
def test_in_a_browser(solid: xarray.DataTree, tmp_path: Path, size: str) -> None:
    """Chromium without a screen draws the page: its program says that it is ready, and no error."""
    dom = browsed(aq.view(solid).save(tmp_path / "view.html"), tmp_path, size)
    assert 'data-ready="yes"' in dom and "data-failed" not in dom
    assert "Velocity (m/s)" in dom
