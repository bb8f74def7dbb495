"""A program may end while its daemon threads read and write."""

from __future__ import annotations

import numpy as np
import pytest
from processes import run_python

import penstock as ps

LOOPS = {
    "plain": "for _ in ps.RecordReader(plain).chunks(): yield",
    "gzip": "for _ in ps.RecordReader(gzip).chunks(): yield",
    "count": "ps.RecordReader(plain).count(); yield",
    "batches": "yield from ps.Dataset(plain).batch(64)",
    "shuffled": "yield from ps.Dataset(plain).shuffle(seed=1).batch(64).prefetch(2)",
    "one by one": "ds = ps.Dataset(plain)\n        for i in range(9999): yield ds[i]",
    "rows that Python converts": "ps.Encoder(ps.Schema({'x': int})).encode([{'x': numpy.int32(7)}] * 9999); yield",
    "write": "ps.write(folder + '/' + os.urandom(8).hex(), {'x': range(9999)}); yield",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_daemon_threads_in_the_middle_of_a_call_do_not_abort_it(loop, tmp_path):
    plain, gzip = tmp_path / "some.tfrecord", tmp_path / "some.tfrecord.gz"
    records = ps.Encoder(ps.Schema({"x": ps.Feature("int64", (8,))})).encode({"x": np.zeros((20_000, 8), np.int64)})
    for path in (plain, gzip):
        with ps.RecordWriter(path) as writer:
            writer.write_many(records)
    code = f"""
import threading
import numpy
plain, gzip, folder = sys.argv[1:]
begun = threading.Barrier(5)

def work():
    while True:
        {LOOPS[loop]}

def run():
    for number, _ in enumerate(work()):
        if number == 0:
            begun.wait()

for _ in range(4):
    threading.Thread(target=run, daemon=True).start()
begun.wait()
"""
    status, _, _ = run_python(code, plain, gzip, tmp_path)  # Python's own pools complain on standard error
    assert status == 0


def test_a_program_may_end_its_threads_itself(tmp_path):
    path = tmp_path / "some.tfrecord"
    with ps.RecordWriter(path) as writer:
        writer.write_many([bytes(100)] * 100_000)
    code = """
        import atexit, threading
        begun, stop = threading.Event(), threading.Event()

        def work():
            while not stop.is_set():
                for _ in ps.RecordReader(sys.argv[1]).chunks():
                    begun.set()

        def end():
            stop.set()
            thread.join()
            print("ended")

        atexit.register(end)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        begun.wait()
    """
    assert run_python(code, path) == (0, b"ended\n", "")
