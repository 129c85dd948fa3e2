"""The report: one valid page that loads nothing, with everything of the run in it and nothing of it as markup."""

import base64
import io
import os
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import arlequin as aq
import cases
from cases.command import main
from models.errors import UserError

CASE = str(Path(__file__).parent / "data" / "oscillator.py")
RESULT = "runs/oscillator.zarr"
VOID = {"meta", "img"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    assert {"numpy", "BLAS"} <= {row[0] for row in page.tables["Versions where this report was made"]}
    assert [caption.split(":")[0] for caption in page.texts["figcaption"]] == ["The motion", "Energies"]
    assert page.texts["figcaption"][1] == "Energies: Energy (J), Relative imbalance over Time (s)"
    assert [image.format for image in page.images()] == ["PNG", "PNG"]
    assert all(np.asarray(image.convert("L")).min() < 100 for image in page.images())


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
    assert "The run stopped early: it is not compared with the reference." in page.texts["p"]
    assert dict(page.tables["Run"])["steps"] == "50 of 100 (stopped early)"
    assert [caption.split(":")[0] for caption in page.texts["figcaption"]] == ["Energies"]


def test_a_study_in_memory():
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, 5), aq.LinearElastic(young=2e11, poisson=0.3, density=7800))
    result = aq.simulate(aq.System([bar], velocity=10.0), aq.Theta(0.5), duration=1e-5, step=1e-6)
    page = Page(cases.report(result, "study.html"))
    assert page.loads_nothing() and page.texts["h1"] == ["Study"]
    assert "Parameters" not in page.tables and "Checks" not in page.tables and len(page.images()) == 2
    with pytest.raises(UserError, match="say where the report goes"):
        cases.report(result)


def test_nothing_there(capsys):
    assert main(["report", "missing.zarr"]) == 2
    assert "missing.zarr: no such result" in capsys.readouterr().err
