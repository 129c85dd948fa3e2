"""The pages of docs/ and the README: what they show runs, and prints what they say it prints.

Blocks of ```python are run page by page, in order, in one namespace, in an empty folder; those with >>> as doctests.
A block that begins with `# file: NAME` is also written there under that name. In ```console blocks each line
`$ arlequin …` is run, and what is printed below it compared as in a doctest; where the line ends in a comment that
speaks of minutes, only its words are read.
"""

import contextlib
import doctest
import io
import json
import re
import shlex
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import arlequin
from arlequin.cases.case import registry
from arlequin.cases.cli.command import _parser, main
from arlequin.models.fem import elements

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GENERATED = ("api", "figures", "gallery", "build")
PAGES = sorted(p for p in DOCS.rglob("*.md") if p.relative_to(DOCS).parts[0] not in GENERATED)
# pages that take more than a few seconds
SLOW = (
    "gradients", "tour", "periodic", "uncertainty", "friction-law", "sweep", "scheme", "wear-life",
    "statistical-linearisation",
)  # fmt: skip
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# file: (\S+)\n")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page):
    """(language, text, number of the line before it) of each block that runs."""
    text = page.read_text(encoding="utf-8")
    return [(m.group(1), m.group(2), text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]


def run_python(text, name, line, space):
    """One block, with the page's own lines in what goes wrong."""
    saved = FILE.match(text)
    if saved:
        Path(saved.group(1)).write_text(text, encoding="utf-8")
    if text.lstrip().startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(text, space, name, name, line)
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=OPTIONS)
        runner.run(test, out=report.write, clear_globs=False)
        space.update(test.globs)
        assert runner.summarize(verbose=False).failed == 0, report.getvalue()
    else:
        exec(compile("\n" * line + text, name, "exec"), space)


def commands(text):
    """(words, what is printed) of each command of a console block; words None where it is another program's."""
    for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, printed = piece.partition("\n")
        yield line, printed


def run_console(text, name):
    for line, printed in commands(text):
        if not line.startswith("arlequin "):
            continue
        words = shlex.split(line, comments=True)[1:]
        if re.search(r"#.*(minutes|hours)", line):
            _parser().parse_known_args(words)
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = main(words)
        assert code == 0, f"{name}: `{line}` ended with {code}"
        if printed.strip():
            checker = doctest.OutputChecker()
            example = doctest.Example(line, printed)
            same = checker.check_output(printed, out.getvalue(), OPTIONS)
            assert same, f"{name}: `{line}`\n{checker.output_difference(example, out.getvalue(), OPTIONS)}"


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """An empty folder to run in; figures are drawn on no screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "120")
    # pages put "." into the path, whose importer remembers the folder of the first of them
    monkeypatch.setattr(sys, "path", list(sys.path))
    sys.path_importer_cache.pop(".", None)
    yield tmp_path
    sys.path_importer_cache.pop(".", None)


def page_id(page):
    return str(page.relative_to(ROOT).with_suffix(""))


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] if p.stem in SLOW else []) for p in PAGES if blocks(p)],
    ids=page_id,
)
def test_what_a_page_shows_runs(page, empty_folder, monkeypatch):
    module = ModuleType("page")  # dataclasses look up their annotations there
    monkeypatch.setitem(sys.modules, "page", module)
    monkeypatch.setattr(elements, "_REGISTRY", dict(elements._REGISTRY))  # a page registers one
    module.__name__ = "page"
    for language, text, line in blocks(page):
        if language == "python":
            with warnings.catch_warnings():
                run_python(text, str(page), line, vars(module))
        else:
            run_console(text, page.name)


def test_every_page_is_reached():
    """Each page is in a toctree of the index or of the index of its folder."""
    for page in PAGES:
        folder = page.parent
        index = folder / "index.md" if page.stem != "index" else folder.parent / "index.md"
        if page == DOCS / "index.md":
            continue
        entry = page.stem if page.stem != "index" else f"{folder.name}/index"
        assert re.search(rf"^{re.escape(entry)}$", index.read_text(encoding="utf-8"), re.MULTILINE), page


def test_the_gallery_sizes_name_cases_and_their_parameters():
    import tomllib

    from arlequin.cases.case.parameters import make

    sizes = tomllib.loads((DOCS / "gallery.toml").read_text(encoding="utf-8"))
    sizes.pop("first")
    assert set(sizes) <= set(registry.NAMES)
    for name, given in sizes.items():
        make(registry.load(name).parameters, given)


def readme_code():
    """The indented blocks of the README that are Python."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"(?:^    .*\n(?:^\n)?)+", text, re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in found if "import arlequin as aq" in block]


@pytest.mark.slow
def test_the_study_of_the_readme_runs(empty_folder):
    (code,) = readme_code()
    small = code.replace("cells=(96, 48)", "cells=(48, 24)").replace("step=1e-7", "step=2e-7")
    assert small != code
    for _ in range(2):  # as a user repeats it
        space = {}
        exec(compile(small, "README.md", "exec"), space)
    result = space["result"]
    assert abs(result["balance"]).max() < 1e-12
    assert result.nbytes < 5e6
    assert {"stress.png", "energies.png"} <= {path.name for path in empty_folder.iterdir()}
    # before the waves return: what the roller pushes is what the block loses of its momentum
    lost = sum(result[f"part/{name}/momentum"].values[:, 1] for name in ("coarse", "fine"))
    impulse = 2e-7 * result["interface/roller"]["force"].sel(component="y").values.sum()
    np.testing.assert_allclose(impulse, lost[-1] - lost[0], rtol=1e-9)


def test_the_site_shows_the_study_of_the_readme():
    """By the lines that its first page includes, which are found once."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    (given,) = re.findall(r"```\{literalinclude\} \.\./README\.md\n(.*?)```", index, re.DOTALL)
    options = {key: value.strip('"') for key, value in re.findall(r"^:([\w-]+): (.*)$", given, re.MULTILINE)}
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    first, last = (
        next(n for n, line in enumerate(lines) if options[key] in line) for key in ("start-at", "end-at")
    )  # as Sphinx finds them
    shown = "\n".join(line[int(options["dedent"]) :] for line in lines[first : last + 1])
    assert [shown] == [code.rstrip("\n") for code in readme_code()]


def test_what_is_ruled_out_does_not_exist():
    """Orders of elements that the README and the site call missing."""
    from arlequin.models.fem.spectral import LARGEST_ORDER

    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        orders = [int(n) for n in re.findall(r"elements of order (?:above )?(\d)", text)]
        assert orders == [LARGEST_ORDER] and "order 3 and more" not in text, page


def test_the_commands_of_the_readme_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    known = set(_parser()._subparsers._group_actions[0].choices)
    named = set(re.findall(r"^    arlequin (\w+)", text, re.MULTILINE))
    assert named and named <= known


@pytest.fixture
def extensions(monkeypatch):
    """The site's own extensions can be imported."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))


def test_every_formula_can_be_set(extensions):
    from docutils.utils.math.latex2mathml import tex2mathml

    formula = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)
    found = 0
    for page in PAGES:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for match in formula.finditer(text):
            assert "<math" in tex2mathml((match.group(1) or match.group(2)).strip()), match.group()
            found += 1
    assert found > 100


def test_the_reference_has_every_public_name(extensions):
    import api

    listed = [name for group in api.groups() for name in group.names]
    assert sorted([*listed, *api.AS_MODULES]) == sorted(arlequin.__all__)


def test_docstrings_keep_their_signs(extensions):
    from plain import markdown, restructured

    text = "A `b*c` of E* and h_rms.\n\n    p = a_b\n\n    q\n\nEnd [1]."
    assert markdown(text) == "A `b*c` of E\\* and h\\_rms.\n\n```text\np = a_b\n\nq\n```\n\nEnd \\[1\\].\n"
    lines = restructured(text.split("\n"))
    assert markdown("Call `f(a,\nb=1)` and\ngo.") == "Call `f(a, b=1)` and\ngo.\n"
    assert lines[:5] == ["A ``b*c`` of E\\* and h\\_rms.", "", "::", "", "    p = a_b"]


def kept_run(folder, source, verdict):
    """What a run of the gallery leaves, with one check."""
    from run_case import digest

    (folder / "f.png").write_bytes(b"")
    about = {
        "parameters": [], "checks": [["force", "1", "2", "N", "-50 %", "± 1 %", verdict]], "figures": [["f.png", "F"]],
        "facts": {}, "seconds": 1.0, "files": {str(source): digest(source)},
    }  # fmt: skip
    (folder / "case.json").write_text(json.dumps(about), encoding="utf-8")
    return about


def test_a_run_is_kept_until_its_code_changes(extensions, tmp_path):
    from gallery import kept

    source = tmp_path / "code.py"
    source.write_text("a = 1\n", encoding="utf-8")
    about = kept_run(tmp_path, source, "ok")
    assert kept(tmp_path) == about
    source.write_text("a = 2\n", encoding="utf-8")
    assert kept(tmp_path) == {}


def test_the_gallery_runs_a_case(extensions, tmp_path):
    import run_case

    run_case.main("bar_wall", tmp_path / "kept", ["elements=20"])
    about = json.loads((tmp_path / "kept" / "case.json").read_text(encoding="utf-8"))
    assert about["checks"] and about["parameters"] and len(about["files"]) > 10
    assert all((tmp_path / "kept" / figure).stat().st_size > 1000 and said for figure, said in about["figures"])


def test_the_figures_that_open_the_gallery(extensions, tmp_path):
    """Six, each with its command, of cases or of pages whose code writes them."""
    import figures
    import gallery

    entries = gallery.settings()["first"]
    assert len(entries) == 6 and all({"figure", "caption"} < set(entry) for entry in entries)
    known = set(_parser()._subparsers._group_actions[0].choices)
    for entry in entries:
        shown = gallery.opening(entry)
        words = [command.split() for command in shown.commands]
        if "case" in entry:
            assert [w[0] for w in words] == ["arlequin"] * 2 and {w[1] for w in words} <= known
            assert words[0][2] == entry["case"] and shown.link == f"{entry['case']}.md"
            assert f'"{entry["figure"]}' in Path(registry.load(entry["case"]).module.__file__).read_text(
                encoding="utf-8"
            )
        else:
            assert entry["page"] in figures.PAGES and (ROOT / words[0][2]).samefile(DOCS / f"{entry['page']}.md")
            assert f'savefig("{entry["figure"]}.png")' in (DOCS / f"{entry['page']}.md").read_text(encoding="utf-8")


def test_the_gallery_opens_with_figures_that_exist(extensions, tmp_path, monkeypatch):
    import gallery

    first = {"case": "bar_wall", "figure": "contact", "caption": "A bar."}
    page = {"page": "how-to/sweep", "figure": "no such", "caption": "None."}
    monkeypatch.setattr(gallery, "settings", lambda: {"first": [first, page], "bar_wall": {"elements": 20}})
    warned = []
    monkeypatch.setattr(gallery.logger, "warning", lambda message, *values, **_: warned.append(message % values))
    ran = gallery.Shown("bar_wall", ("elements=20",), tmp_path, {"figures": [["bar_wall-contact.png", "C"]]})
    found = gallery.openings([ran], tmp_path)
    text = gallery.index([ran], {"bar_wall": "A line."}, True, found)
    assert text.index("bar_wall-contact.png") < text.index("## All cases") < text.index('<div class="gallery">')
    assert "[`bar_wall`](bar_wall.md): A bar." in text and "$ arlequin run bar_wall elements=20" in text
    assert [figure.title for figure in found] == ["`bar_wall`"] and len(warned) == 1 and "no such" in warned[0]
    # a case that did not run has no figure, and no warning of its own
    assert gallery.openings([gallery.Shown("bar_wall", (), tmp_path, why="not run")], tmp_path) == []


@pytest.mark.slow
def test_a_case_out_of_tolerance_or_failed_is_shown(extensions, tmp_path, monkeypatch):
    import gallery

    source = tmp_path / "code.py"
    source.write_text("", encoding="utf-8")
    out = gallery.Shown("bar_wall", (), tmp_path, kept_run(tmp_path, source, "OUT"))
    assert out.wrong == ["force"]
    assert '<td class="out">OUT</td>' in gallery.page(out, "A line.", "A line.")
    assert "OUT" in gallery.index([out], {"bar_wall": "A line."}, True, [])

    monkeypatch.setattr(gallery, "words_of", lambda name: ("elements=0",))
    failed = gallery.shown("bar_wall", tmp_path / "store", False)
    assert failed.why == "not run in this build"
    (tmp_path / "store").mkdir()
    failed = gallery.shown("bar_wall", tmp_path / "store", True)
    assert failed.why.startswith("failed: ") and "elements" in failed.why
    assert failed.why in gallery.page(failed, "A line.", "A line.")
