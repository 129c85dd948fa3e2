"""The report: one valid page that loads nothing, with everything of the run in it and nothing of it as markup."""

import base64
import hashlib
import io
import itertools
import json
import os
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import xarray
from PIL import Image
from pypdf import PdfReader

import arlequin as aq
from arlequin import cases
from arlequin.cases.cli.command import main
from arlequin.models.errors import UserError
from arlequin.sweeps.plan import Axis, Plan
from arlequin.sweeps.point import PointOutcome, Series
from arlequin.sweeps.store import SweepStore

CASE = str(Path(__file__).parent / "data" / "oscillator.py")
RESULT = "runs/oscillator.zarr"
VOID = {"meta", "img"}
pytestmark = pytest.mark.usefixtures("folder")


class Page(HTMLParser):
    """Tags must close in order; tables by the title of their section, images, captions, texts."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.tables: dict[str, list[list[str]]] = {}
        self.texts: dict[str, list[str]] = {}
        self.attributes: list[tuple[str, str, str]] = []
        self.title = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.tables.setdefault(self.title, []).append([])
        if tag in ("td", "th"):
            self.tables[self.title][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        tag = self.open[-1] if self.open else ""
        if tag == "h2":
            self.title = data
        elif tag in ("td", "th"):
            self.tables[self.title][-1][-1] += data
        self.texts.setdefault(tag, []).append(data)

    def images(self) -> list[Image.Image]:
        sources = [value for tag, name, value in self.attributes if (tag, name) == ("img", "src")]
        return [Image.open(io.BytesIO(base64.b64decode(source.split(",")[1], validate=True))) for source in sources]

    def loads_nothing(self) -> bool:
        links = [value for _, name, value in self.attributes if name in ("src", "href", "srcset", "data", "action")]
        style = "".join(self.texts["style"])
        inside = all(link.startswith(("data:image/png;base64,", "data:image/gif;base64,")) for link in links)
        return (
            inside and "url(" not in style and "@import" not in style and not self.tags & {"script", "link", "iframe"}
        )

    def runs_only_what_its_policy_lets(self) -> bool:
        """One script, in the page, of the digest that the policy names."""
        scripts, policy = self.texts["script"], next(v for _, name, v in self.attributes if name == "content")
        digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
        self.tags.discard("script")
        return len(scripts) == 1 and policy.startswith("default-src 'none'") and f"'sha256-{digest}'" in policy


def test_a_report_of_a_case(capsys):
    note = """<b>"x" & 'y'</b><script>alert(1)</script>"""
    main(["run", CASE, "stiffness=18", f"note={note}"])
    capsys.readouterr()
    assert main(["report", RESULT]) == 0
    assert capsys.readouterr().out == "runs/oscillator.html\n"
    page = Page(Path("runs/oscillator.html"))
    assert page.loads_nothing()
    assert page.texts["title"] == page.texts["h1"] == ["oscillator"]
    assert page.texts["p"][0] == "A mass on a spring, recorded without a solver: a user's case file."
    rows = {row[0]: row[1:] for row in page.tables["Parameters"]}
    assert rows["stiffness"] == ["18", "N/m", "8", "stiffness of the spring"]
    assert rows["note"] == [note, "", "none", "free text"]
    assert page.tables["Checks"][1] == ["energy", "9", "9", "J", "+0 %", "± 1e-10 %", "ok"]
    energies = {row[0]: row[1:] for row in page.tables["Energies"]}
    assert energies["strain"][0] == "9" and set(energies) == {"energy (J)", "kinetic", "strain"}
    run = dict(page.tables["Run"])
    assert run["scheme"] == "closed form" and run["step"] == "0.01 s" and "wall time per step" in run
    assert {"numpy", "BLAS"} <= {row[0] for row in page.tables["Installed versions"]}
    assert [caption.split(":")[0] for caption in page.texts["figcaption"]] == ["The motion", "Energies"]
    assert page.texts["figcaption"][1] == "Energies: Energy (J), Relative imbalance over Time (s)"
    assert [image.format for image in page.images()] == ["PNG", "PNG"]
    assert all(np.asarray(image.convert("L")).min() < 100 for image in page.images())


def paper(path):
    """The text of a PDF, the names of its bookmarks and its images."""
    reader = PdfReader(path)
    titles = [outline.title for outline in reader.outline]
    return " ".join(page.extract_text() for page in reader.pages), titles, [i for p in reader.pages for i in p.images]


def test_a_report_as_pdf(capsys):
    """What the page has, in the same order: one run of the case and of the report."""
    note = "<b>x\u202e</b> λ"
    assert main(["run", CASE, "stiffness=18", f"note={note}", "shape=sine", "--report"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["runs/oscillator.html", "runs/oscillator.pdf"]
    text, titles, images = paper("runs/oscillator.pdf")
    page = Page(Path("runs/oscillator.html"))
    assert titles == page.texts["h2"] == ["Run", "Checks", "Parameters", "Energies", "Figures", "Installed versions"]
    assert "<b>x\ufffd</b> λ" in text.replace("\n", "") and "\u202e" not in text
    assert "stiffness of the spring" in text and "1 of 2 within tolerance" in text and " OUT" in text
    assert "A mass on a spring, recorded without a solver" in text
    assert [image.image.size for image in images] == [image.size for image in page.images()]
    both = [np.asarray(i.convert("L"), dtype=float) for i in (images[0].image, page.images()[0])]
    assert np.abs(both[0] - both[1]).max() < 8  # white stands where the page's image is transparent


def test_a_report_as_pdf_by_its_name():
    main(["run", CASE, "steps=5"])
    main(["animate", RESULT, "--frames", "3"])
    assert cases.report(RESULT, "here/study.PDF") == Path("here/study.PDF")
    text, titles, images = paper("here/study.PDF")
    assert titles[-2] == "Motion" and len(images) == 3 and "(first frame; the report as an HTML page" in text
    assert sorted(path.name for path in Path("here").iterdir()) == ["study.PDF"]


def test_a_check_out_of_tolerance_is_marked():
    main(["run", CASE, "shape=sine"])
    page = Page(cases.report(RESULT, "here/page.html"))
    assert page.tables["Checks"][1][-1] == "OUT" and ("td", "class", "bad") in page.attributes
    assert "1 of 2 within tolerance" in page.texts["p"]


def test_a_newer_film_is_taken_in():
    main(["run", CASE, "steps=5"])
    main(["animate", RESULT, "--frames", "3"])
    images = Page(cases.report(RESULT)).images()
    assert images[-1].format == "GIF" and images[-1].n_frames == 3
    os.utime("runs/oscillator.gif", (0, 0))
    assert [image.format for image in Page(cases.report(RESULT)).images()] == ["PNG", "PNG"]


def test_a_run_that_stopped_early():
    main(["run", CASE, "fault=diverge"])
    page = Page(cases.report(RESULT))
    assert "The run is incomplete and is not compared with the reference." in page.texts["p"]
    assert dict(page.tables["Run"])["steps"] == "50 of 100 (stopped early)"
    assert [caption.split(":")[0] for caption in page.texts["figcaption"]] == ["Energies"]


def test_a_study_in_memory():
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, 5), aq.LinearElastic(young=2e11, poisson=0.3, density=7800))
    result = aq.simulate(aq.System([bar], velocity=10.0), aq.Theta(0.5), duration=1e-5, step=1e-6)
    page = Page(cases.report(result, "study.html"))
    assert page.loads_nothing() and page.texts["h1"] == ["Study"]
    assert "Parameters" not in page.tables and "Checks" not in page.tables and len(page.images()) == 2
    with pytest.raises(UserError, match="must be given for a result in memory"):
        cases.report(result)


def test_nothing_there(capsys):
    assert main(["report", "missing.zarr"]) == 2
    assert "missing.zarr: no such result" in capsys.readouterr().err


def sweep(
    velocities=(10.0, 20.0, 50.0), laws=("soft", "hard"), failed=(), missing=(), case="two_bars"
) -> xarray.Dataset:
    """A sweep made by hand: force = velocity × 3 kN for the soft law, twice that for the hard one."""
    points = list(itertools.product(velocities, laws))
    messages = ["<b>broke</b>" if n in failed else "not computed" if n in missing else "" for n in range(len(points))]
    force = [
        np.nan if m else 3e3 * v * (2 if law == "hard" else 1) for (v, law), m in zip(points, messages, strict=True)
    ]
    dims, shape = ("velocity", "law"), (len(velocities), len(laws))
    return xarray.Dataset(
        {
            "balance": (dims, np.reshape(np.multiply(force, 1e-19), shape), {"units": "1", "long_name": "imbalance"}),
            "peak_force": (dims, np.reshape(force, shape), {"units": "N", "long_name": "largest contact force"}),
            "message": (dims, np.reshape(messages, shape)),
            "finished": (dims, np.reshape([n not in missing for n in range(len(points))], shape)),
            "seconds": (dims, np.full(shape, 0.5), {"units": "s", "long_name": "wall time"}),
        },
        {
            "velocity": (
                "velocity",
                list(velocities),
                {"units": "m/s", "long_name": "speed of each bar, in opposite directions"},
            ),
            "law": ("law", list(laws), {"units": "", "long_name": "contact law"}),
        },
        {
            "kind": "sweep",
            "case": case,
            "parameters": json.dumps({"theta": 0.75}),
            "version": "9.9",
            "commit": "abc1234",
        },
    )


def test_a_report_of_a_sweep():
    page = Page(cases.report(sweep(failed=[1], missing=[4]), "sweep.html"))
    assert page.runs_only_what_its_policy_lets() and page.loads_nothing()
    assert page.texts["h1"] == ["two_bars: sweep"]
    facts = dict(page.tables["Sweep"])
    assert facts["points"] == "4 of 6 computed, 1 failed, 1 not computed"
    assert (facts["version"], facts["commit"]) == ("9.9", "abc1234") and facts["wall time"].endswith("in total")
    assert page.tables["Swept"][1] == ["velocity", "10, 20, 50", "m/s", "speed of each bar, in opposite directions"]
    extremes = {row[0]: row[1:] for row in page.tables["Extremes over the sweep"]}
    at = ["velocity = 10 m/s, law = soft", "velocity = 50 m/s, law = hard"]
    assert extremes["peak_force"] == ["30000", at[0], "3e+05", at[1], "N", "largest contact force"]
    assert extremes["balance"][0] == "3e-15" and extremes["balance"][2] == "3e-14"
    assert page.tables["Failed points"][1:] == [["velocity = 10 m/s, law = hard", "<b>broke</b>"]]
    points = page.tables["Points"]
    assert points[0] == ["velocity (m/s)", "law", "state", "peak_force (N)", "balance", "seconds (s)"]
    assert points[2] == ["10", "hard", "failed", "", "", "0.5"]
    assert points[4] == ["20", "hard", "", "1.2e+05", "1.2e-14", "0.5"]
    assert points[5][2] == "not computed" and ("td", "class", "bad") in page.attributes
    fixed = {row[0]: row[1:] for row in page.tables["Fixed parameters"]}
    assert fixed["theta"][:3] == ["0.75", "", "0.5"] and fixed["length_left"][0] == "0.1"
    assert not {"velocity", "law"} & set(fixed)
    over = "Speed of each bar, in opposite directions (m/s)"
    captions = [f"Peak force: Largest contact force (kN) over {over}", "Balance: "]
    assert page.texts["figcaption"][0] == captions[0] and page.texts["figcaption"][1].startswith(captions[1])
    alts = [value for tag, name, value in page.attributes if (tag, name) == ("img", "alt")]
    assert alts == page.texts["figcaption"]
    assert len(page.images()) == 2 and all(np.asarray(image.convert("L")).min() < 100 for image in page.images())


def test_a_report_of_a_sweep_as_pdf():
    """Each number of the long table, over several pages with the header on each."""
    swept = sweep(velocities=np.linspace(1.0, 100.0, 60), failed=[1])
    cases.report(swept, "sweep.html", pdf=True)
    rows = Page(Path("sweep.html")).tables["Points"]
    text, titles, _ = paper("sweep.pdf")
    assert titles[0] == "Sweep" and "Extremes over the sweep" in titles and "broke" in text
    assert all(row[3] in text for row in rows[1:]) and text.count("peak_force (N)") > 1


def test_a_sweep_of_a_function_and_one_without_points():
    page = Page(cases.report(sweep(case="study_of_mine", missing=range(6)), "sweep.html"))
    assert page.texts["h1"] == ["study_of_mine: sweep"] and not page.images()
    assert page.tables["Fixed parameters"] == [["parameter", "value"], ["theta", "0.75"]]
    assert any("nothing that is drawn" in text for text in page.texts["p"])
    assert "Extremes over the sweep" not in page.tables and "Failed points" not in page.tables


def test_a_long_sweep_stays_light():
    page = Page(cases.report(sweep(velocities=np.linspace(1.0, 100.0, 5000), failed=range(1000)), "sweep.html"))
    assert Path("sweep.html").stat().st_size < 1e6
    assert (
        len(page.tables["Points"]) == 1 + 8000 // 6
        and "The first 1333 of 10000 points; the dataset contains all." in page.texts["p"]
    )
    assert page.tables["Swept"][1][1] == "1 to 100, 5000 values" and "And 800 more." in page.texts["p"]
    assert page.texts["summary"][-1] == "Table of 1333 points"


def test_a_sweep_on_disk(capsys):
    """One that still runs, with a series whose time steps differ."""
    plan = Plan("two_bars", (Axis("velocity", (10.0, 20.0, 30.0, 40.0), "m/s", "velocity"),), fixed={"theta": 0.5})
    store = SweepStore("runs/bars.sweep", plan, ("9.9", "abc1234"))
    for n, point in enumerate(plan.points()[:3]):
        time = np.linspace(0.0, 1e-4, 20 + n)
        force = Series(("time",), time * (1 + n), {"units": "N"}, {"time": time}, {"time": {"units": "s"}})
        scalars = {"peak_force": aq.Scalar(3.0 + n, "N", "peak"), "loss": aq.Scalar(0.1 * n, "1", "loss")}
        store.write(
            point, PointOutcome({}, {}, "broke", 1.0) if n == 1 else PointOutcome(scalars, {"force": force}, "", 1.0)
        )
    store.close()
    assert main(["report", "runs/bars.sweep"]) == 0
    assert capsys.readouterr().out == "runs/bars-sweep.html\n"
    page = Page(Path("runs/bars-sweep.html"))
    assert (
        len(page.images()) == 3 and dict(page.tables["Sweep"])["points"] == "2 of 4 computed, 1 failed, 1 not computed"
    )
    assert main(["plot", "runs/bars.sweep"]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [path.name for path in paths] == ["peak_force.png", "loss.png", "force.png"]
    assert all(path.parent == Path("runs/bars-sweep-figures") and Image.open(path).format == "PNG" for path in paths)
