"""The command line: exit codes, one line for each thing a user can do wrong, results left readable."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arlequin import cases
from arlequin.cases.case import registry
from arlequin.cases.cli.command import main
from arlequin.models.errors import UserError
from arlequin.results.reading import open as open_result

ROOT = Path(__file__).parents[2]
CASE = str(Path(__file__).parent / "data" / "oscillator.py")
pytestmark = pytest.mark.usefixtures("folder")


def command(*words: str, **options) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-m", "arlequin.cases.cli.command", *words], env=environment, text=True, **options
    )


def test_cases(capsys):
    assert main(["cases"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in cases.names())


def test_run_writes_and_replaces_the_default_path(capsys):
    for stiffness in ("8", "18.0"):
        assert main(["run", CASE, f"stiffness={stiffness}"]) == 0
    out = capsys.readouterr().out
    assert "written to runs/oscillator.zarr" in out and "kinetic" in out and "wall time per step" in out
    result = open_result("runs/oscillator.zarr")
    assert float(result["energy"].sel(kind="strain")[0]) == 9.0
    assert result.attrs["case"] == CASE and '"stiffness": 18.0' in result.attrs["parameters"]


def test_run_prints_what_was_given_with_units_and_all_on_demand(capsys):
    def printed(*words):
        assert main(["run", *words]) == 0
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    lines = printed(CASE, "stiffness=18", "steps=5")
    assert ["stiffness", "18", "N/m"] in lines and ["steps", "5"] in lines
    assert ["parameters", "2", "given,", "7", "with", "their", "default:", "listed", "by", "--all"] in lines
    assert not any(line[:1] == ["mass"] or line[:1] == ["version"] for line in lines)
    assert ["parameters", "9", "with", "their", "default:", "listed", "by", "--all"] in printed(CASE)
    lines = printed(CASE, "stiffness=18", "--all")
    assert ["stiffness", "18", "N/m"] in lines and ["mass", "2", "kg"] in lines and ["limit", "none", "m"] in lines
    lines = printed("bar_wall", "elements=12", "--out", "a.zarr")
    assert {"dofs", "constraints", "contact", "wall", "setup", "scheme"} <= {line[0] for line in lines if line}
    assert main(["show", "a.zarr"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["length", "0.1", "m"] in lines and any(line[:1] == ["version"] for line in lines)


def test_words_and_options_in_any_order():
    for words in (
        ["run", "--out", "a.zarr", CASE, "steps=3"],
        ["run", CASE, "--out", "a.zarr", "steps=3", "--force"],
        ["run", "steps=3", "--force", CASE, "--out=a.zarr"],
    ):
        assert main(words) == 0
    assert open_result("a.zarr").sizes["time"] == 4


def test_check(capsys):
    assert main(["check", CASE]) == 0
    assert "2 of 2 within tolerance" in capsys.readouterr().out
    assert main(["check", CASE, "shape=sine", "--out", "a.zarr"]) == 1
    assert "OUT" in capsys.readouterr().out
    assert open_result("a.zarr").sizes["time"] == 101


def test_show_and_plot(capsys):
    main(["run", CASE, "note=a [b] c"])
    capsys.readouterr()
    assert main(["show", "runs/oscillator.zarr"]) == 0
    out = capsys.readouterr().out
    assert "stiffness" in out and "numpy" in out and "BLAS" in out and "a [b] c" in out
    assert main(["show"]) == 0
    assert "BLAS" in capsys.readouterr().out
    assert main(["plot", "runs/oscillator.zarr"]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.split()]
    assert [p.name for p in paths] == ["the-motion.png", "energies.png"]
    assert all(p.parent == Path("runs/oscillator-figures") and p.read_bytes()[:4] == b"\x89PNG" for p in paths)
    assert main(["plot", "runs/oscillator.zarr", "--to", "here/there"]) == 0
    assert Path("here/there/energies.png").exists()


def test_help_of_a_case(capsys):
    assert main(["run", CASE, "--help"]) == 0
    out = capsys.readouterr().out
    for word in ("stiffness", "N/m", "stiffness of the spring", "0.5 to 1", "cosine, sine", "> 0"):
        assert word in out
    assert main(["run", "--help"]) == 0
    assert main(["--help"]) == 0
    assert main(["plot", "--help"]) == 0


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "two_bar"], "two_bar: no such case, did you mean two_bars?"),
        (["run", "zzz"], "zzz: no such case; there are two_bars"),
        (["run", "missing.py"], "missing.py: no such file"),
        (["run", CASE, "stifness=3"], "stifness: no such parameter, did you mean stiffness?"),
        (["run", CASE, "stiffness=soft"], "stiffness = 'soft': must be a finite number > 0 in N/m"),
        (["run", CASE, "stiffness=-1"], "stiffness = -1.0: must be positive"),
        (["run", CASE, "stiffness=nan"], "stiffness = 'nan'"),
        (["run", CASE, "theta=0.3"], "theta = 0.3: must lie in [0.5, 1]"),
        (["run", CASE, "limit=0.5"], "limit = 0.5: must be at least the amplitude"),
        (["run", CASE, "steps=1", "steps=2"], "steps: given twice"),
        (["run", CASE, "steps"], "steps: neither a parameter"),
        (["run"], "no case given"),
        (["run", CASE, "--fast"], "--fast: no such option"),
        (["run", CASE, "--out"], "--out"),
        (["fly"], "fly"),
        (["show", "missing.zarr"], "missing.zarr: no such result"),
        (["plot", "missing.zarr"], "missing.zarr: no such result"),
        (["show", "a", "b"], "b: no such option or argument"),
        (["check", CASE, "--out", "there"], "there: exists and is not a result"),
    ],
)
def test_wrong_usage(words, says, one_line):
    Path("there").mkdir()
    assert main(words) == 2
    assert says in one_line()
    assert not Path("runs").exists()


def test_nothing_to_do(capsys):
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_an_explicit_path_needs_force(capsys, one_line):
    assert main(["run", CASE, "--out", "a.zarr", "steps=5"]) == 0
    capsys.readouterr()
    assert main(["run", CASE, "--out", "a.zarr"]) == 2
    assert "--force" in one_line()
    assert open_result("a.zarr").sizes["time"] == 6
    assert main(["run", CASE, "--out", "a.zarr", "--force"]) == 0
    Path("b").mkdir()
    (Path("b") / "thesis.tex").write_text("mine")
    capsys.readouterr()
    assert main(["run", CASE, "--out", "b", "--force"]) == 2
    assert "not a result" in one_line() and (Path("b") / "thesis.tex").exists()
    assert main(["run", CASE, "--out", "/proc/no/a.zarr"]) == 1
    assert "/proc/no/a.zarr: cannot be written" in one_line()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            "interrupt",
            "interrupted; the partial result is in runs/oscillator.zarr: `arlequin resume runs/oscillator.zarr` "
            "resumes the run",
        ),
        ("disk", "somewhere: No space left on device"),
        (
            "diverge",
            "step 50 did not converge: take a smaller step; the partial result is in runs/oscillator.zarr",
        ),
        ("memory", "not enough memory: Unable to allocate 1 PiB"),
    ],
)
def test_a_run_that_fails_leaves_what_it_recorded(fault, says, capsys, one_line):
    assert main(["run", CASE, f"fault={fault}"]) == 1
    assert one_line() == says
    assert open_result("runs/oscillator.zarr").sizes["time"] == 51
    assert main(["show", "runs/oscillator.zarr"]) == 0
    assert "50 of 100 (stopped early)" in capsys.readouterr().out


def test_a_bug_is_said_and_keeps_its_traceback_where_it_is_asked_for(capsys, monkeypatch):
    assert main(["run", CASE, "fault=bug"]) == 1
    line = capsys.readouterr().err
    assert (
        line.startswith("arlequin: internal error (AssertionError: a bug): please report it; ")
        and line.count("\n") == 1
    )
    monkeypatch.setenv("ARLEQUIN_DEBUG", "1")
    assert main(["run", CASE, "fault=bug"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_ctrl_c_in_earnest():
    running = command("run", CASE, "steps=40000000", "--out", "a.zarr", stderr=subprocess.PIPE)
    while not Path("a.zarr").exists() and running.poll() is None:
        time.sleep(0.02)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=240)
    line = "arlequin: interrupted; the partial result is in a.zarr: `arlequin resume a.zarr` resumes the run\n"
    assert running.returncode == 1 and err == line


def test_a_reader_that_stops_reading():
    running = command("cases", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None and running.stderr is not None
    running.stdout.close()
    assert "Traceback" not in running.stderr.read() and running.wait() in (0, 1)
    running.stderr.close()


def test_listing_is_light():
    calls = "c.main(['cases']); c.main(['run', '--help'])"
    code = f"import sys, arlequin.cases.cli.command as c; {calls}; print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not {"'numba'", "'skfem'", "'xarray'", "'matplotlib'"} & set(out.replace(",", " ").split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "no dataclass `Parameters`"),
        ("import dataclasses\n@dataclasses.dataclass\nclass Parameters: pass", "no function `build`"),
        ("x = (1", "line 1: SyntaxError"),
        ("Parameters = 1\nimport no_such_module", "line 2: ModuleNotFoundError"),
    ],
)
def test_a_file_that_is_not_a_case(text, says, one_line):
    Path("mine.py").write_text(text)
    assert main(["run", "mine.py"]) == 2
    assert says in one_line()


def test_a_users_models_beside_the_case_hides_nothing():
    Path("models.py").write_text("raise RuntimeError")
    Path("helper_of_mine.py").write_text("answer = 42")
    Path("mine.py").write_text(Path(CASE).read_text().replace("import errno", "import errno\nimport helper_of_mine"))
    try:
        assert main(["run", "mine.py", "steps=3"]) == 0
    finally:
        sys.modules.pop("helper_of_mine", None)


def test_python_calls(folder):
    result = cases.run(CASE, stiffness=18, steps=7)
    assert result.sizes["time"] == 8 and list(folder.iterdir()) == []
    assert cases.run(CASE, record="a.zarr", steps="7").attrs["case"] == CASE
    assert [c.passed for c in cases.check(CASE)] == [True, True]
    with pytest.raises(UserError, match="stiffness = 'x'"):
        cases.run(CASE, stiffness="x")
    assert registry.load(CASE).short == "oscillator"
