"""Functions in worker processes: the same results, and no process or file left, however the iteration ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, plain

from penstock.columns import Batch
from penstock.dataset.block import Block
from penstock.dataset.order import RowKeys
from penstock.dataset.transforms.filter import FilterStage
from penstock.dataset.transforms.map import MapStage
from penstock.errors import WorkerError


def in_worker(element: dict[str, Any]) -> dict[str, Any]:
    assert multiprocessing.parent_process() is not None
    assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []), "only the iterating process handles Ctrl-C"
    return element


def noise(element: dict[str, Any], rng: np.random.Generator) -> float:
    return rng.random()


def is_odd(element: dict[str, Any]) -> bool:
    return bool(element["n"] % 2)


class NotUnpicklableError(Exception):
    """Pickles, but cannot be unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("cannot unpickle")


def fail(element: dict[str, Any]) -> int:
    if element["n"] == 3:
        raise KeyError("no such thing")
    if element["n"] == 1000:
        raise NotUnpicklableError(1, 2)
    return int(element["n"])


def fail_unpicklably(element: dict[str, Any]) -> int:
    raise NotUnpicklableError(1, 2)


def die(element: dict[str, Any]) -> int:
    if element["n"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return int(element["n"])


def unpicklable(element: dict[str, Any]) -> Any:
    return lambda: element


def large(element: dict[str, Any]) -> np.ndarray:
    return np.full(100_000, element["n"])


@pytest.fixture(autouse=True)
def no_process_or_file_is_left():
    files = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    yield
    assert multiprocessing.active_children() == []
    if files:  # including shared memory
        # The resource tracker, which multiprocessing starts once, holds a pipe.
        assert len(os.listdir("/proc/self/fd")) <= len(files) + 1


def test_results_equal_those_of_one_process():
    source = Source([3, 2, 4, 1])
    assert elements_of(MapStage(in_worker, workers=2, processes=True), source) == source.rows()
    assert elements_of(FilterStage(is_odd, workers=2, processes=True), source) == source.rows()[1::2]
    randomized = MapStage(noise, workers=2, processes=True, seed=5)
    assert elements_of(randomized, source) == elements_of(MapStage(noise, seed=5), source)
    assert source.all_closed()


def test_resume():
    check_resumes(MapStage(noise, workers=1, processes=True, seed=5), Source([2, 1]))


def test_arrays_are_shared_and_writable():
    (block,) = blocks_of(MapStage(large, workers=1, processes=True), Source([3]))
    first, second, _ = block.elements
    first += 1
    assert second[0] == 1
    assert not first.flags.owndata


def test_batches_are_sent_as_columns():
    batch = Batch({"n": np.arange(5000), "image": np.zeros((5000, 3), np.uint8)})
    block = Block(batch, RowKeys(np.arange(5000), np.zeros(5000, np.int64)), {"epoch": 0}, {"block": 1})

    def upstream(cursor: object):
        yield block

    assert elements_of(MapStage(in_worker, workers=1, processes=True), upstream) == plain(batch)


def test_an_error_has_the_traceback_of_the_worker():
    seen = []
    with pytest.raises(KeyError, match="no such thing") as caught:
        for block in blocks_of(MapStage(fail, workers=2, processes=True), Source([2, 3, 2])):
            seen += block.elements
    assert seen == [0, 1, 2]
    assert any("row 3 in epoch 0" in note for note in caught.value.__notes__)
    assert any("Traceback" in note and "in fail" in note for note in caught.value.__notes__)


def test_an_error_that_cannot_be_sent_becomes_a_worker_error():
    with pytest.raises(WorkerError, match="NotUnpicklableError: cannot unpickle") as caught:
        elements_of(MapStage(fail_unpicklably, workers=1, processes=True), Source([1]))
    assert any("row 0" in note for note in caught.value.__notes__)


def test_results_that_do_not_pickle_raise():
    with pytest.raises(Exception, match="pickle"):
        elements_of(MapStage(unpicklable, workers=1, processes=True), Source([1]))


def test_a_worker_that_is_killed_raises():
    with pytest.raises(WorkerError, match="SIGKILL"):
        elements_of(MapStage(die, workers=2, processes=True), Source([1] * 6))


def test_closing_the_iteration_stops_the_workers():
    source = Source([1] * 20)
    flow = blocks_of(MapStage(in_worker, workers=2, processes=True), source)
    next(flow)
    assert len(multiprocessing.active_children()) == 2
    flow.close()
    assert source.all_closed()


PROGRAM = """
import os, signal, sys
sys.path[:0] = [{folder!r}, {support!r}]
from flows import Source, blocks_of
from test_worker_processes import in_worker
from penstock.dataset.transforms.map import MapStage

if __name__ == "__main__":
    flow = blocks_of(MapStage(in_worker, workers=2, processes=True), Source([1] * 50))
    next(flow)
    {ending}
"""


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("os.killpg(0, signal.SIGINT); list(flow)", -signal.SIGINT),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("sys.exit(3)", 3),
    ],
)
def test_workers_stop_when_the_program_ends(tmp_path: Path, ending: str, status: int):
    program = tmp_path / "program.py"
    here = Path(__file__).parent
    program.write_text(PROGRAM.format(folder=str(here), support=str(here.parent / "support"), ending=ending))
    result = subprocess.run(
        [sys.executable, str(program)], start_new_session=True, capture_output=True, text=True, timeout=60
    )
    # run() returns when all processes that hold its output have ended: the workers too.
    assert result.returncode == status
    assert result.stderr.count("Traceback") == (status == -signal.SIGINT)
