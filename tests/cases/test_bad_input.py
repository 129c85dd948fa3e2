"""Bad input and bad luck through the real command line: an exit code, one line on stderr, no traceback."""

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray

from arlequin.cases.cli.command import main
from arlequin.results.reading import open as open_result

ROOT = Path(__file__).parents[2]

STUDY = """'''A user's study.'''
from dataclasses import dataclass
from typing import Annotated
import arlequin as aq
from arlequin.cases.case.parameters import Quantity
from arlequin.models.checks import positive

@dataclass(frozen=True)
class Parameters:
    length: Annotated[float, Quantity("m", "length", positive)] = 1.0

steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)

def solid(name, x, y=(0.0, 1.0)):
    return aq.Solid(name, aq.mesh.rectangle(x, y, cells=(4, 2)), steel, plane="strain")

def build(p):
"""
pytestmark = pytest.mark.usefixtures("folder")


def command(*words, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, "-m", "arlequin.cases.cli.command", *words], env=environment, **{**pipes, **options}
    )


@pytest.fixture
def refused(capfd):
    """refused(code, *words): the one line on stderr of a command that ends with `code` and leaves no result."""

    def run(code, *words):
        assert main(list(words)) in ((1, 2) if code is None else (code,))
        err = capfd.readouterr().err
        assert err.startswith("arlequin: ") and err.count("\n") == 1 and "Traceback" not in err, err
        assert len(err) < 600
        return err.removeprefix("arlequin: ").strip()

    return run


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("run tow_bars", "tow_bars: no such case, did you mean two_bars?"),
        ("check nothing", "nothing: no such case; there are two_bars, bar_comparison, bar_wall, thrown_bar"),
        ("run bar_wall lenght=1", "lenght: no such parameter, did you mean length?"),
        ("run asperity_press velocity=1", "velocity: no such parameter; there are length, young"),
        ("run two_bars length_left=long", "length_left = 'long': must be a finite number > 0 in m"),
        ("run two_bars length_left=0,1", "length_left = '0,1': must be a finite number > 0 in m"),
        ("run two_bars elements=1.5", "elements = '1.5': must be a whole number ≥ 1"),
        ("run two_bars elements=0", "elements = 0: must be a whole number of at least 1"),
        ("run two_bars density_left=-7800", "density_left = -7800.0: must be positive"),
        ("run bar_wall density=0", "density = 0.0: must be positive"),
        ("run bar_wall length=-0.1", "length = -0.1: must be positive"),
        ("run multiscale_bar length=-0.1", "length = -0.1: must be positive"),
        ("run bar_wall gap=-1e-3", "gap = -0.001: must not be negative"),
        ("run bar_wall theta=0.49", "theta = 0.49: must lie in [0.5, 1]"),
        ("run bar_wall theta=1.01", "theta = 1.01: must lie in [0.5, 1]"),
        ("run multiscale_bar poisson=0.5", "poisson = 0.5: must lie in [0, 0.499]"),
        ("run bar_wall velocity=nan", "velocity = 'nan': must be a finite number > 0 in m/s"),
        ("run bar_wall velocity=-inf", "velocity = '-inf': must be a finite number"),
        ("run bar_wall young=1e400", "young = '1e400': must be a finite number > 0 in Pa"),
        ("run bar_wall duration=0", "duration = 0.0: must be positive"),
        ("run bar_wall scheme=euler", "scheme = 'euler': must be one of theta, newmark, hht"),
        ("run bar_wall law=", "law = '': must be one of unilateral, unilateral-velocity, penalty"),
        ("run bar_wall mass=lumped mass=lumped", "mass: given twice"),
        ("run bar_wall law=multilevel gap=1e-4", "gap = 0.0001: must be at least asperity_height = 0.0005"),
        ("run bar_wall courant=1e-12", "step = "),
        ("run bar_wall elements=2000000000", "elements = 2000000000: must be at most 50000000"),
        ("run bar_wall scheme=central-difference", 'mass="lumped"'),
        ("run two_bars two_bars", "two_bars: neither a parameter (name=value) nor an option"),
        ("run bar_wall elements", "elements: neither a parameter (name=value) nor an option"),
        ("run bar_wall --quick", "--quick: no such option or argument"),
        ("run", "no case given"),
        ("fly bar_wall", "fly"),
        ("show", None),
        ("show nothing.zarr", "nothing.zarr: no such result"),
        ("plot nothing.zarr", "nothing.zarr: no such result"),
        ("plot", "RESULT"),
    ],
)
def test_wrong_usage(words, says, refused, capfd):
    if says is None:  # the one that is right
        assert main(words.split()) == 0
        return
    assert says in refused(2, *words.split())
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        # by hand: linear elements with lumped mass, ω = 2c/h, Δt < h/c = 0.1/100/√(2e11/7800)
        ("two_bars courant=1.2", 1e-3 / (2e11 / 7800) ** 0.5),
        ("two_bars courant=1.0", 1e-3 / (2e11 / 7800) ** 0.5),
        ("bar_wall courant=3 elements=50 young=8e11", 2e-3 / (8e11 / 7800) ** 0.5),
    ],
)
def test_a_step_above_the_limit_of_central_differences(words, limit, refused):
    line = refused(2, "run", *words.split(), "scheme=central-difference", "mass=lumped")
    found = re.fullmatch(r"step = \S+: must be below the central-difference limit of (\S+) s", line)
    assert found and float(found[1]) == pytest.approx(limit, rel=1e-5)
    assert not Path("runs").exists()


def test_just_below_that_limit():
    words = ["run", "two_bars", "scheme=central-difference", "mass=lumped", "courant=0.999", "duration=2e-6"]
    assert main(words) == 0


@pytest.mark.parametrize(
    ("edit", "code", "says"),
    [
        (lambda text: "", 1, "tip.msh: the mesh file is empty"),
        (lambda text: "\n\n", 1, "tip.msh: the mesh file is empty"),
        (lambda text: text[: len(text) // 4], 1, "tip.msh: the mesh file is truncated (no $EndNodes)"),
        (lambda text: text[: 9 * len(text) // 10], 1, "tip.msh: the mesh file is truncated (no $EndElements)"),
        (lambda text: text.replace("$Nodes\n123\n", "$Nodes\n150\n"), 1, "tip.msh: the mesh file is damaged"),
        (lambda text: text.replace("0.0 0.0 0\n", "0.0 zero 0\n").replace("1 0.08 ", "1 nil "), 1, "damaged"),
        (lambda text: "<html>404</html>", 1, "tip.msh: not a Gmsh mesh file"),
        (lambda text: text.replace('"right"', '"east"'), 2, "no boundary physical group is named 'right'"),
        (lambda text: re.sub(r"\$Phys.*\$EndPhysicalNames\n", "", text, flags=re.S), 2, "(groups of that kind: 1)"),
    ],
    ids=["empty", "blank", "cut", "cut late", "short", "text", "html", "no group", "no names"],
)
def test_a_bad_mesh_file(edit, code, says, tip, refused):
    assert says in refused(code, "run", "multiscale_bar", f"mesh={tip(40, 2, edit=edit)}")
    assert not Path("runs").exists()


def test_a_cell_without_area(tip, refused):
    def flat(text):  # the whole second row of nodes on the first
        return re.sub(r"(?m)^(\d+ \S+) 0.0025 0$", r"\1 0.0 0", text)

    line = refused(1, "run", "multiscale_bar", f"mesh={tip(40, 2, edit=flat)}")
    assert "tip.msh" in line and re.search(r"cell|area", line)


def test_a_mesh_file_that_is_not_there(refused, tmp_path):
    assert refused(2, "run", "multiscale_bar", "mesh=none.msh") == "none.msh: no such mesh file"
    assert "cannot be read" in refused(1, "run", "multiscale_bar", f"mesh={tmp_path}")
    solid = (ROOT / "tests/models/data/block_hex2_v41.msh").read_text().replace('"top"', '"right"')
    Path("solid.msh").write_text(solid)
    assert refused(2, "run", "multiscale_bar", "mesh=solid.msh").startswith("mesh = 'solid.msh': is a mesh in 3D")


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        (
            "parts = [solid('a', (0.0, 1.0)), solid('b', (2.0, 3.0))]\n"
            "    system = aq.System(parts, [aq.Junction(*parts)])",
            2,
            "junction 'junction': 'a' [0, 1] × [0, 1] and 'b' [2, 3] × [0, 1] do not overlap",
        ),
        (
            "parts = [solid('a', (0.0, 1.0)), solid('b', (1.0, 2.0))]\n"
            "    system = aq.System(parts, [aq.Junction(*parts)])",
            2,
            "do not overlap",
        ),
        ("system = aq.System([solid('a', (0.0, 1.0)), solid('a', (0.0, 1.0))])", 2, "2 parts are named 'a'"),
        ("system = aq.System([solid('a', (0.0, 0.0))])", 2, "x = (0.0, 0.0): must be a pair (start, end)"),
        ("system = aq.System([solid('a', (0.0, 1.0))], velocity=(float('nan'), 0.0))", 2, "must be finite"),
        ("system = aq.System([solid('a', (0.0, 1.0))], velocity=(1.0, 0.0, 0.0))", 2, "velocity = "),
        (
            "part = solid('a', (0.0, 1.0))\n"
            "    wall = aq.RigidPlane(point=(0.9, 0.0), normal=(-1.0, 0.0))\n"
            "    touch = aq.Interface('end', part.boundary('right'), wall, (aq.Unilateral(),))\n"
            "    system = aq.System([part], interfaces=[touch])",
            2,
            "interface 'end': starts interpenetrated by 0.1 m",
        ),
        ("system = aq.System([solid('a', (0.0, 1.0))], interfaces=[solid('b', (0, 1)).boundary('end')])", 2, "'end'"),
    ],
    ids=["apart", "end to end", "names", "no length", "nan", "components", "interpenetrated", "boundary"],
)
def test_a_users_study_that_is_wrong(body, code, says, refused):
    tail = "\n    return aq.Study(system, aq.Theta(0.5), duration=1e-5, step=1e-6)\n"
    Path("study.py").write_text(STUDY + "    " + body + tail)
    assert says in refused(code, "run", "study.py")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("field", "body", "says"),
    [
        ("x: list[float] = ()", "pass", "x: parameters are float, int, bool, str or Literal, not list[float]"),
        ("x: 'Nothing' = 1", "pass", "Parameters: name 'Nothing' is not defined"),
        ("x: float", "pass", "x: has no default: give x=value, a finite number"),
        ("x: float = 1.0", "return None", "`build` returns NoneType, must return an arlequin.Study"),
        ("x: float = 1.0", "return nothing", "mine.py, line 6: NameError: name 'nothing' is not defined"),
    ],
)
def test_a_users_file_with_a_mistake(field, body, says, refused):
    Path("mine.py").write_text(
        f"from dataclasses import dataclass\n@dataclass\nclass Parameters:\n    {field}\ndef build(p):\n    {body}\n"
    )
    assert says in refused(2, "run", "mine.py")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def build(:", "mine.py, line 1: SyntaxError"),
        ("import math\nx = math.sqrt(-1)\nclass Parameters: pass\n", "mine.py, line 2: ValueError: "),
        (
            "import nothing_of_that_name\nclass Parameters: pass\n",
            "mine.py, line 1: ModuleNotFoundError: No module named",
        ),
        ("raise SystemExit\nclass Parameters: pass\n", "mine.py, line 1: SystemExit"),
        ("def build(p): pass", "mine.py: not a case: it has no dataclass `Parameters`"),
        ("class Parameters: pass", "mine.py: not a case: it has no dataclass `Parameters`"),
        (
            "from dataclasses import dataclass\n@dataclass\nclass Parameters:\n    x: float = 1.0\n",
            "mine.py: not a case: it has no function `build`",
        ),
        ("\0", "mine.py, line "),
    ],
)
def test_a_users_file_that_is_no_case(text, says, refused):
    Path("mine.py").write_text(text)
    assert refused(2, "run", "mine.py").startswith(says)


@pytest.mark.parametrize("text", ["", "class Study: pass\n", "print('Parameters')\n"])
def test_a_script_is_not_executed(text, refused):
    Path("mine.py").write_text(f"{text}open('made', 'w').close()\n")
    assert "run a script by `python mine.py`" in refused(2, "run", "mine.py")
    assert not Path("made").exists()


def test_parameters_may_be_imported(refused):
    Path("other.py").write_text("class Parameters: pass\n")
    for line in ("from other import Parameters", "from other import *", "import other; Parameters = other.Parameters"):
        Path("mine.py").write_text(line)
        assert refused(2, "run", "mine.py").endswith("no dataclass `Parameters`")


def test_an_output_path_that_exists_or_cannot_be_written(refused, capfd):
    quick = ["run", "two_bars", "elements=4"]
    assert main([*quick, "--out", "a.zarr"]) == 0
    assert main([*quick, "--out", "a.zarr", "--force"]) == 0
    capfd.readouterr()
    assert "a.zarr: exists: choose another path, or replace it with --force" in refused(2, *quick, "--out", "a.zarr")
    Path("thesis").mkdir()
    Path("thesis/chapter.tex").write_text("mine")
    assert "thesis: exists and is not a result" in refused(2, *quick, "--out", "thesis", "--force")
    assert Path("thesis/chapter.tex").read_text() == "mine"
    assert refused(1, *quick, "--out", "thesis/chapter.tex/a.zarr").startswith("thesis/chapter.tex/a.zarr: cannot be")
    assert refused(1, *quick, "--out", "/proc/a.zarr").startswith("/proc/a.zarr: cannot be written")
    assert "thesis/chapter.tex: not a result" in refused(2, "show", "thesis/chapter.tex")
    assert refused(2, "plot", "a.zarr", "--to", "thesis/chapter.tex").startswith("thesis/chapter.tex: ")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_write_permission(refused):
    Path("locked").mkdir(mode=0o500)
    assert "Permission denied" in refused(1, "run", "two_bars", "elements=4", "--out", "locked/a.zarr")


def readable(path):
    """Steps in a result cut short: both readers open it, and what `time` covers is there."""
    result, plain = open_result(path), xarray.open_datatree(path, engine="zarr", consolidated=None)
    steps = result.sizes["time"]
    assert steps <= plain.sizes["time"] == plain.attrs["steps_planned"] + 1
    assert result["energy"].notnull().all() and result["interface/contact"]["force"].notnull().all()
    assert result["part/left"]["displacement"].notnull().all()
    # round-off of a step, however many there were
    assert (result["time"].diff("time") > 0).all() and abs(result["balance"]).max() <= 1e-15 * max(steps, 1000)
    assert steps - 50 <= result.sizes["frame"] <= steps  # fields_every = 1; handed over 50 steps at a time
    return steps


def test_a_full_disk(refused, monkeypatch):
    from zarr.storage import LocalStore

    put, written = LocalStore.set, []

    async def full(self, key, value, *rest, **more):
        if "/c/" in key:
            written.append(key)
            if len(written) > 40:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return await put(self, key, value, *rest, **more)

    monkeypatch.setattr(LocalStore, "set", full)
    monkeypatch.setattr("arlequin.results.recorder.CHUNK_ROWS", 64)
    line = refused(1, "run", "two_bars", "elements=20", "duration=2e-4", "--out", "a.zarr")
    assert line == "a.zarr: cannot be written: No space left on device; the partial result is in a.zarr"
    assert readable("a.zarr") >= 64


@pytest.mark.slow
def test_a_disk_that_is_full_in_earnest(tmp_path):
    """A file system of 1 MB, where the system lets us make one."""
    small = tmp_path / "small"
    small.mkdir()
    mount = f"mount -t tmpfs -o size=1m tmpfs {small}"
    unshare = ["unshare", "-rm", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*unshare, mount], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    run = f"{sys.executable} -m arlequin.cases.cli.command run two_bars duration=2e-3 --out {small}/a.zarr"
    show = f"{sys.executable} -m arlequin.cases.cli.command show {small}/a.zarr"
    script = f"{mount} && {{ {run}; echo code $?; {show}; }}"
    done = subprocess.run(
        [*unshare, script], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    path = f"{small}/a.zarr"
    line = f"arlequin: {path}: cannot be written: No space left on device; the partial result is in {path}\n"
    assert done.stderr == line
    assert "code 1\n" in done.stdout and "(stopped early)" in done.stdout


def wait_for(path, running, steps=1):
    """Until the result on disk has that many steps."""
    deadline = time.monotonic() + 240  # kernels may have to be compiled
    while time.monotonic() < deadline and running.poll() is None:
        if path.exists() and open_result(path).sizes["time"] > steps:
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing recorded; exit code {running.poll()}, {running.stderr.read()}")


LONG = ["run", "two_bars", "elements=20", "duration=1"]


@pytest.mark.slow
def test_ctrl_c(tmp_path):
    running = command(*LONG, "--out", "a.zarr")
    wait_for(tmp_path / "a.zarr", running)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    line = "arlequin: interrupted; the partial result is in a.zarr: `arlequin resume a.zarr` resumes the run\n"
    assert (running.returncode, err) == (1, line)
    assert readable("a.zarr") > 1
    assert open_result("a.zarr").attrs["complete"] == 0
    assert main(["show", "a.zarr"]) == 0 and main(["plot", "a.zarr"]) == 0


@pytest.mark.slow
def test_a_result_that_another_run_is_writing_which_is_killed(tmp_path, refused):
    running = command(*LONG, "--out", "a.zarr")
    wait_for(tmp_path / "a.zarr", running)
    line = refused(1, "run", "two_bars", "elements=4", "--out", "a.zarr", "--force")
    assert "another run is writing it" in line
    running.kill()
    assert running.wait(timeout=30) == -signal.SIGKILL and running.stderr.read() == ""
    assert readable("a.zarr") > 1
    assert main(["show", "a.zarr"]) == 0
    assert main([*LONG[:3], "--out", "a.zarr", "--force"]) == 0  # its lock has died with it


def test_a_step_that_does_not_converge(refused):
    line = refused(1, "run", "bar_wall", "law=penalty", "penalty_stiffness=1e30")
    found = re.fullmatch(
        r"contact did not converge at t = (\S+) s \(residual .*\): try .*; the partial result is in runs/bar_wall.zarr",
        line,
    )
    assert found
    result = open_result("runs/bar_wall.zarr")
    last, step = float(result["time"][-1]), result.attrs["step"]
    assert last + step == pytest.approx(float(found[1]), rel=1e-5)  # every step before it, nothing of that one
    assert (result["interface/contact"]["force"] == 0.0).all()
    assert result["energy"].sum("kind").values == pytest.approx(float(result["energy"][0].sum()), rel=1e-12)
    assert result.sizes["frame"] == result.sizes["time"] and result.attrs["complete"] == 0


@pytest.mark.parametrize("words", ["duration=1e305", "courant=1e300"])
def test_numbers_that_no_float_holds(words, refused):
    assert refused(None, "run", "two_bars", words)


def test_a_result_larger_than_the_memory(refused, monkeypatch):
    monkeypatch.setattr("arlequin.results.room.memory", lambda: 1e5)
    monkeypatch.setattr("arlequin.results.room.LEAST", 0.0)
    line = refused(1, "check", "two_bars")
    assert line.startswith("the result takes ") and "the machine has 0.0001 GB of memory" in line and "--out" in line


@pytest.mark.parametrize("words", [["run", "multiscale_bar", "mesh=none.msh"], ["show", "none"]])
def test_files_that_are_not_there(words, refused):
    refused(2, *words)


@pytest.mark.slow
def test_in_a_process_of_its_own():
    running = command("run", "two_bars", "length_left=x")
    _, err = running.communicate(timeout=60)
    assert running.returncode == 2 and err.startswith("arlequin: ") and err.count("\n") == 1
