"""Prefetched: the same flow, from a thread that ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.dataset.progress import Meter
from penstock.dataset.transforms.map import MapStage
from penstock.dataset.transforms.prefetch import PrefetchStage
from penstock.dataset.transforms.repeat import RepeatStage


def prefetching() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("penstock")]


@relaxed
@given(sources(), st.integers(1, 4))
def test_blocks_stay_as_they_are(source: Source, ahead: int):
    stage = PrefetchStage(ahead)
    assert elements_of(stage, source) == source.rows()
    check_resumes(stage, source)
    assert source.all_closed()
    assert prefetching() == []


def test_errors_come_after_the_elements_before_them():
    seen = []
    with pytest.raises(OSError, match="the disk is gone"):
        for block in blocks_of(PrefetchStage(2), Source([2, 2, 2], fails_after=2)):
            seen += block.keys.rows.tolist()
    assert seen == [0, 1, 2, 3]
    assert prefetching() == []


@pytest.mark.parametrize(("size", "blocks"), [(1, 3), (2, 2), (5, 1)])
def test_it_goes_no_further_ahead_than_asked(size: int, blocks: int):
    opened = Source([size] * 50)
    asked = threading.Semaphore(0)

    def counted(cursor: object):
        for block in opened(cursor):
            asked.release()
            yield block

    flow = PrefetchStage(3).open(counted, None, Meter())
    next(flow)
    for _ in range(1 + blocks):  # the one that was returned, and those that hold three elements
        assert asked.acquire(timeout=30)
    assert not asked.acquire(timeout=0.05)
    flow.close()
    assert prefetching() == []


@pytest.mark.parametrize("stage", [PrefetchStage(2), MapStage(lambda element: element, workers=2)])
def test_an_early_end_ends_the_threads(stage: object):
    endless = RepeatStage()
    source = Source([3])
    flow = blocks_of(stage, lambda cursor: endless.open(source, cursor, Meter()))
    next(flow)
    assert prefetching()
    flow.close()
    assert prefetching() == []
    assert source.all_closed()


def test_a_forked_child_lets_go_of_its_parents_flow():
    flow = blocks_of(PrefetchStage(2), Source([1] * 20))
    mapped = blocks_of(MapStage(lambda element: element, workers=2), Source([1] * 20))
    next(flow), next(mapped)
    child = os.fork()
    if child == 0:
        flow.close()
        mapped.close()
        ours = elements_of(PrefetchStage(2), Source([2, 2]))
        os._exit(len(ours))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
    assert len(list(flow)) == len(list(mapped)) == 19


PROGRAM = """
import os, signal, sys
sys.path[:0] = [{folder!r}]
from flows import Source, blocks_of
from penstock.dataset.transforms.map import MapStage
from penstock.dataset.transforms.prefetch import PrefetchStage

flow = blocks_of(PrefetchStage(2), Source([1] * 50))
mapped = blocks_of(MapStage(lambda element: element, workers=2), Source([1] * 50))
print(len(next(flow)), len(next(mapped)), flush=True)
{ending}
"""


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", 0), ("sys.exit(3)", 3), ("os.kill(os.getpid(), signal.SIGINT); list(flow), list(mapped)", -signal.SIGINT)],
)
def test_a_program_ends_in_the_middle_of_a_flow(ending: str, status: int):
    program = PROGRAM.format(folder=str(Path(__file__).parents[2] / "support"), ending=ending)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (status, "1 1\n")
    assert result.stderr.count("Traceback") == (status == -signal.SIGINT)


BUSY_PROGRAM = """
import sys
import penstock as ps

numbers = ps.Dataset(sys.argv[1])
more = numbers.shuffle(seed=1).map(lambda row: {"x": row["x"] + 1}, workers=4).batch(8).map(dict, workers=4)
sums = numbers.batch(16).map(lambda batch: batch["x"].sum(), workers=4)
iterators = [iter(ds.prefetch(2)) for ds in (more, sums)]
for each in iterators:
    next(each)
"""


def test_a_program_that_ends_while_threads_are_at_work_ends_well(tmp_path: Path):
    ps.write(tmp_path / "data", {"x": np.arange(100_000)})
    for _ in range(4):  # where the threads are then is a matter of rng
        result = subprocess.run(
            [sys.executable, "-c", BUSY_PROGRAM, tmp_path / "data"], capture_output=True, timeout=60
        )
        assert (result.returncode, result.stderr) == (0, b"")
