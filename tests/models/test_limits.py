"""What a machine cannot do is refused before it is begun, in one line with the numbers; the user may lift it."""

import pytest

import arlequin as aq
from arlequin.models import limits
from arlequin.models.errors import UserError

GIGABYTE = 1e9


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(limits, "memory", lambda: GIGABYTE)


def test_cells_by_the_memory(small, monkeypatch):
    # 1 GB at 13 kB a cell
    with pytest.raises(UserError, match=r"1e\+06 cells; at most 77000 are made \(13 kB each and 1 GB of memory; "):
        aq.mesh.box((0, 1), (0, 1), (0, 1), cells=(100, 100, 100))
    with pytest.raises(UserError, match=r"cells = \(1000, 1000\): gives 1e\+06 cells; at most 330000 are made"):
        aq.mesh.rectangle((0, 1), (0, 1), cells=(1000, 1000))
    limits.check_cells("cells", 70_000, 70_000, 3)
    monkeypatch.setenv("ARLEQUIN_LIMITS", "off")
    limits.check_cells("cells", 1e9, 1e9, 3)


@pytest.mark.slow
def test_the_parts_together(small):
    """Each mesh alone fits, all of them do not."""
    steel = aq.LinearElastic(2e11, 0.3, 7800.0)
    boxes = [aq.mesh.box((0, 1), (0, 1), (i, i + 1), cells=(40, 40, 25)) for i in range(2)]
    system = aq.System([aq.Solid(name, mesh, steel) for name, mesh in zip("ab", boxes, strict=True)])
    with pytest.raises(UserError, match=r"8e\+04 cells together, whose matrices take about 1.04 GB, and"):
        aq.simulate(system, aq.Theta(0.5), duration=1e-6, step=1e-6)


def test_work_by_the_time(monkeypatch):
    # by hand: 5e7 steps of (1e-7 + 1e-9 · 1e6) s are 14 hours, twice the freedoms 28
    limits.check_work(5e7, 1e6)
    with pytest.raises(UserError, match=r"5e\+07 steps of 2e\+06 degrees of freedom take 27.8 hours or more"):
        limits.check_work(5e7, 2e6)
    monkeypatch.setenv("ARLEQUIN_LIMITS", "off")
    limits.check_work(5e7, 2e6)


def test_a_run_is_refused_before_it_is_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "MOST_HOURS", 1e-9)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), aq.LinearElastic(2e11, 0.3, 7800.0))
    with pytest.raises(UserError, match="100 steps of 11 degrees of freedom take"):
        aq.simulate(aq.System([bar]), aq.Theta(0.5), duration=1e-5, step=1e-7, record=tmp_path / "a.zarr")
    assert not (tmp_path / "a.zarr").exists()


def test_a_result_larger_than_the_disk(monkeypatch, tmp_path):
    from collections import namedtuple

    room = namedtuple("room", "total used free")
    monkeypatch.setattr("arlequin.results.room.shutil.disk_usage", lambda folder: room(1e3, 0, 1e3))
    monkeypatch.setattr("arlequin.results.room.LEAST", 0.0)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), aq.LinearElastic(2e11, 0.3, 7800.0))
    with pytest.raises(UserError, match=r"the result takes .* GB, the disk has 1e-06 GB left"):
        aq.simulate(aq.System([bar]), aq.Theta(0.5), duration=1e-5, step=1e-7, record=tmp_path / "a.zarr")
    assert not (tmp_path / "a.zarr").exists()
