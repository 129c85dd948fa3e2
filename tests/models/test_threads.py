"""Which thread takes a piece of work; results do not depend on it."""

import pytest

from arlequin.models.linalg import threads


@pytest.mark.parametrize("seconds, stays", [(1e-6, True), (1e-3, False)])
def test_work_of_little_time_stays_on_its_thread(seconds, stays, monkeypatch):
    monkeypatch.setattr(threads, "_threads", lambda: 2)
    clock, handed, pool = [0.0], [], threads._pool
    monkeypatch.setattr(threads, "perf_counter", lambda: clock[0])

    class Counted:
        def submit(self, run):
            handed.append(run)
            return pool(0).submit(run)

    monkeypatch.setattr(threads, "_pool", lambda process: Counted())
    pace = threads.Pace()

    def work(piece):
        clock[0] += seconds
        return 2 * piece

    for _ in range(4):
        assert threads.map_pieces(work, range(8), pace) == list(range(0, 16, 2))
    assert len(handed) == (1 if stays else 4)  # the first time nothing is known of it
    assert (pace.seconds < 1e-4) == stays


def test_without_a_pace_every_call_is_handed_on(monkeypatch):
    monkeypatch.setattr(threads, "_threads", lambda: 2)
    assert threads.map_pieces(lambda piece: 2 * piece, range(5)) == [0, 2, 4, 6, 8]
    assert threads.map_pieces(lambda piece: piece, []) == []
