"""Child processes import nothing from the working folder; folders that others may write to are told."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import arlequin as aq
from arlequin.models.host import folders
from arlequin.models.host.folders import make_private, open_to_others
from arlequin.models.host.processes import child_environment, import_path, python_command

WORDS = """
json pathlib numpy scipy random copy types typing logging socket tempfile struct calendar string os io re abc enum time
threading subprocess signal pickle warnings contextlib functools collections inspect ast hashlib datetime platform
multiprocessing importlib numba llvmlite xarray zarr pandas yaml cloudpickle sitecustomize usercustomize arlequin models
cases multilevel pyarrow numexpr bottleneck cupy sksparse petsc4py mpi4py coverage rich matplotlib
"""
NAMES = WORDS.split()


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A folder of modules with common names, in which the test runs; each leaves a mark when it is executed."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in NAMES:
        code = f"open({str(tmp_path / 'executed')!r}, 'a').write('{name} ')\nraise ImportError('{name} is not ours')\n"
        (folder / f"{name}.py").write_text(code)
    monkeypatch.chdir(folder)
    yield folder
    assert not (tmp_path / "executed").exists(), (tmp_path / "executed").read_text()


def test_a_child_imports_nothing_from_the_working_folder(hostile, monkeypatch):
    """Started by a process that has it in its path, and in PYTHONPATH, under each of its names."""
    elsewhere = hostile.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "asked.py").write_text("answer = 42\n")
    (hostile.parent / "link").symlink_to(hostile)
    names = ["", ".", "../hostile", str(hostile), f"{hostile}/../hostile", str(hostile.parent / "link")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*names[:2], str(elsewhere), *names[2:]]))
    code = f"""
from importlib import import_module, util
import asked, arlequin.models.part
names = {NAMES!r}
found = [util.find_spec(name) for name in names]
[import_module(name) for name in names if name in sys.stdlib_module_names]
print(asked.answer, sys.argv, arlequin.__file__, [each for each in found if each and "hostile" in str(each.origin)])
"""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [*names, *sys.path, str(elsewhere)])
        command, environment = python_command(code, "word"), child_environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout == f"42 ['-c', 'word'] {aq.__file__} []\n", done.stderr


def test_a_study_in_the_working_folder_is_found_by_the_processes_of_a_sweep(hostile, monkeypatch):
    """Its module, which this process has imported from there, and one beside it that only the function imports."""
    (hostile / "study_of_mine.py").write_text(
        "def study(x):\n    from helper_of_mine import twice\n    return {'y': twice(x)}\n"
    )
    (hostile / "helper_of_mine.py").write_text("def twice(x):\n    return 2.0 * x\n")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, ""])
        import study_of_mine
    try:
        found = aq.sweep(study_of_mine.study, {"x": [1.0, 2.0]}, workers=1)
    finally:
        del sys.modules["study_of_mine"]
        sys.modules.pop("helper_of_mine", None)
    assert found["message"].values.tolist() == ["", ""] and found["y"].values.tolist() == [2.0, 4.0]


def test_the_working_folder_counts_only_where_a_module_came_from_it(hostile, monkeypatch):
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    path, known, before = import_path()
    assert str(hostile) not in [*path, *before] and known["arlequin"] == str(Path(aq.__file__).parents[1])
    (hostile / "own_module.py").write_text("")
    import own_module

    monkeypatch.setitem(sys.modules, "json", own_module)  # a name that the standard library has
    path, known, last = import_path()
    del sys.modules["own_module"]
    assert (
        str(hostile) not in path and set(last) - set(before) == {str(hostile)} and known["own_module"] == str(hostile)
    )
    assert "json" not in known


def test_a_file_imports_what_lies_beside_it(tmp_path):
    """Two cases of a user, each with a module of the same name beside it."""
    from arlequin.cases.case import registry

    case = Path(registry.__file__).parents[1] / "bouncing_bar.py"
    answers = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "beside_both.py").write_text(f"NAME = {name!r}\n")
        (tmp_path / name / "case.py").write_text("from beside_both import NAME\n" + case.read_text())
        try:
            answers.append(registry.load(str(tmp_path / name / "case.py")).module.NAME)
        finally:
            sys.modules.pop("beside_both", None)
    assert answers == ["one", "other"]


def is_there(process):
    """Whether a process goes on."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
def test_a_child_ends_with_its_parent():
    """As those that compile ahead: the child outlives neither the end nor the death of the process that started it."""
    child = """
import time
from arlequin.models.host.processes import end_with_parent
end_with_parent(0)
print("on", flush=True)
time.sleep(60)
"""
    parent = f"""
import subprocess, os
from arlequin.models.host.processes import python_command, child_environment
command = python_command({child!r})
child = subprocess.Popen(command, env=child_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
child.stdout.readline()
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    command = python_command(parent)
    out = subprocess.run(command, env=child_environment(), capture_output=True, text=True, timeout=60).stdout
    limit = time.monotonic() + 20.0
    while is_there(int(out)):
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.fixture
def private(tmp_path):
    make_private(tmp_path / "a" / "b")
    (tmp_path / "a" / "b" / "file").write_bytes(b"")
    return tmp_path / "a" / "b"


def test_folders_that_are_made_are_closed_to_others(private):
    old = os.umask(0)
    try:
        make_private(private / "c" / "d")
        (private / "c" / "shared").mkdir()
    finally:
        os.umask(old)
    assert [oct(place.stat().st_mode & 0o777) for place in (private, private / "c", private / "c" / "d")] == [
        "0o700"
    ] * 3
    assert open_to_others(private / "c", within=False) is None
    assert open_to_others(private / "c") == f"{private / 'c' / 'shared'} may be written by others"
    (private / "c" / "shared").chmod(0o755)
    assert open_to_others(private / "c") is None


@pytest.mark.parametrize("what", ["", "file", ".."])
@pytest.mark.parametrize("mode", [0o702, 0o720, 0o1777])
def test_what_others_may_write_to_is_told(private, what, mode, monkeypatch):
    """The folder, a file in it, a folder above it: where only owners may rename, what is above does not matter."""
    monkeypatch.setattr(folders, "_is_private", lambda group: False)
    place = (private / what).resolve()
    assert open_to_others(private) is None
    place.chmod(mode)
    right = None if (what, mode) == ("..", 0o1777) else f"{place} may be written by others"
    assert open_to_others(private) == right
    link = private.parent.parent / "link"
    link.symlink_to(private)
    assert open_to_others(link) == right
    monkeypatch.setattr(folders, "_is_private", lambda group: True)
    assert (open_to_others(private) is None) == (right is None or mode == 0o720)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="files of other users are made by root")
def test_files_of_another_user_are_told(private):
    for place in (private / "file", private, private.parent):
        os.chown(place, 12345, -1)
        assert open_to_others(private) == f"{place} belongs to user 12345"
        os.chown(place, 0, -1)
    (private / "link").symlink_to("/nowhere")
    os.lchown(private / "link", 12345, -1)
    assert open_to_others(private) == f"{private / 'link'} belongs to user 12345"
