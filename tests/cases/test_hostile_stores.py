"""Results and sweeps of some kilobytes that declare any size: lines, in little time and memory.

Each kind of change once; `python tests/fuzz/stores.py` draws many, for all commands.
"""

import importlib.util
import random
import shutil
import sys
import tracemalloc
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import arlequin as aq
from arlequin.results.bounds import depth, present_rows, why_not_there
from arlequin.results.damage import DamageWarning
from arlequin.results.files import read_arrays, read_json

MOST = 150e6  # bytes; a column of 10^12 rows is 8e12
pytestmark = pytest.mark.filterwarnings("ignore::arlequin.results.damage.ResultWarning")


def _stores() -> ModuleType:
    """The generator of `tests/fuzz`."""
    spec = importlib.util.spec_from_file_location("fuzzed_stores", Path(__file__).parents[1] / "fuzz" / "stores.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


stores = _stores()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return stores.samples(tmp_path_factory.mktemp("whole"))


def used(path: Path) -> tuple[str, float]:
    """What reading all of a result or a sweep says, empty where it can be read, and the bytes it takes."""
    tracemalloc.start()
    try:
        if path.suffix == ".sweep":
            aq.open_sweep(path).load()
        else:
            result = aq.results.open(path)
            for node in result.subtree:
                for variable in node.to_dataset(inherit=False).variables.values():
                    assert variable.nbytes < MOST
                    variable.load()
        return "", tracemalloc.get_traced_memory()[1]
    except aq.UserError as error:
        return str(error), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("change", sorted({change.__name__ for change in stores.OF_RUNS} - {"checkpoint", "many"}))
def test_changes_of_a_result(change: str, whole: list[Path], tmp_path: Path) -> None:
    for seed in range(3):
        path = tmp_path / f"{seed}.zarr"
        shutil.copytree(whole[seed % 2], path)
        getattr(stores, change)(path, random.Random(seed))
        said, bytes_used = used(path)
        assert bytes_used < MOST and "\n" not in said and len(said) < 1000, (seed, said[:2000])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("change", sorted({change.__name__ for change in stores.OF_SWEEPS}))
def test_changes_of_a_sweep(change: str, whole: list[Path], tmp_path: Path) -> None:
    for seed in range(4):
        path = tmp_path / f"{seed}.sweep"
        shutil.copytree(whole[2], path)
        getattr(stores, change)(path, random.Random(seed))
        said, bytes_used = used(path)
        assert bytes_used < MOST and "\n" not in said and len(said) < 2000, (seed, said[:2000])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_commands(whole: list[Path]) -> None:
    for seed in range(30):
        assert not stores.forked(whole[seed % 3], 40 + seed, 20.0, 400.0)


def declared(path: Path, dim: str, length: int) -> None:
    """Make all arrays of a result as long along a dimension."""

    def change(told):
        for entry in stores.arrays(told):
            names = entry["dimension_names"]
            entry["shape"] = [length if d == dim else n for d, n in zip(names, entry["shape"], strict=True)]

    stores.edit(path / "zarr.json", change)


@pytest.mark.parametrize("length", [10**9, 10**12, 2**47])
def test_rows_are_those_of_the_chunks(length: int, whole: list[Path], tmp_path: Path) -> None:
    """All of `time` and `frame` may be declared: what was recorded is read as before, to the bit."""
    path = tmp_path / "a.zarr"
    shutil.copytree(whole[0], path)
    before = aq.results.open(path).load()
    for dim in ("time", "frame"):
        declared(path, dim, length)
    found = aq.results.open(path).load()
    for node in before.subtree:
        for name, variable in node.variables.items():
            assert found[node.path].variables[name].values.tobytes() == variable.values.tobytes()


def test_arrays_larger_than_their_files_are_left_out(whole: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    shutil.copytree(whole[0], path)
    declared(path, "node", 10**8)
    with pytest.warns(DamageWarning) as said:
        found = aq.results.open(path)
    assert any("it is said to have" in str(one.message) for one in said)
    assert found.sizes["time"] > 1 and "energy" in found and "node" not in found["part/left"].sizes


def test_bounds() -> None:
    assert depth([1, {"a": [[]]}]) == 4 and depth({}) == 1 and depth("x") == 0
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    assert depth(deep) == 33


def test_rows_and_files(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    for n in (0, 1, 3):
        (tmp_path / "c" / str(n)).write_bytes(bytes(100))
    assert present_rows(tmp_path, 10) == 20 and present_rows(tmp_path / "none", 10) == 0
    assert why_not_there(tmp_path, (30,), (10,), 8) == ""
    assert why_not_there(tmp_path, (40_000,), (10_000,), 8) == ""
    assert "3 files of 300 bytes" in why_not_there(tmp_path, (10**6,), (10**5,), 8)
    assert why_not_there(tmp_path, (0, 10**12), (1, 10**12), 8)  # no bytes, but a loop


@pytest.mark.parametrize(
    ("shape", "descr"), [((10**12,), "<f8"), ((1,), "<U100000000"), ((10**12,), "|V0"), ((0, 10**15), "<f8")]
)
def test_arrays_of_an_archive_are_in_their_bytes(shape, descr, tmp_path: Path) -> None:
    import zipfile

    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(8))
    with pytest.raises(ValueError, match="is not in its"):
        read_arrays(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", a=np.zeros((2, 3)), b=np.array("text"), c=np.zeros((0, 30_000)), d=np.float64(1.0))
    assert {name: found.shape for name, found in read_arrays(tmp_path / "b.npz").items()} == {
        "a": (2, 3), "b": (), "c": (0, 30_000), "d": (),
    }  # fmt: skip


def test_json_in_itself(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for count, good in ((30, True), (200, False), (100_000, False)):
        file.write_text("[" * count + "]" * count)
        if good:
            assert depth(read_json(file)) == count
        else:
            with pytest.raises(ValueError, match=r"a\.json cannot be read"):
                read_json(file)


def test_mesh_files_that_declare_more_than_they_have(tmp_path: Path) -> None:
    text = (
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{n}\n1 0 0 0\n2 1 0 0\n{tag} 0 1 0\n$EndNodes\n$Elements\n{e}\n"
    )
    text += "1 2 2 1 1 1 2 {tag}\n$EndElements\n"
    file = tmp_path / "a.msh"
    for values, line in (
        ({"n": 10**9, "e": 1, "tag": 3}, "announces 1,000,000,000 nodes and has 3"),
        ({"n": 3, "e": 10**12, "tag": 3}, "announces 1,000,000,000,000 elements and has 1"),
        ({"n": 3, "e": 1, "tag": 10**9}, "number nodes up to 1,000,000,000: renumber them"),
    ):
        file.write_text(text.format(**values))
        with pytest.raises(aq.UserError, match=line):
            aq.mesh.read(file)
    file.write_text(text.format(n=3, e=1, tag=70_000))
    assert aq.mesh.read(file).nelements == 1
