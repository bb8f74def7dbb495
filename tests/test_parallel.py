"""A function is run over many files at once, and its results stay in order."""

from __future__ import annotations

import threading

import pytest

from penstock.parallel import FileProgress, available_cpus, jobs_for, on_each_file


def test_results_are_in_the_order_of_the_files():
    second_started = threading.Event()

    def work(file: int, progress: FileProgress) -> int:
        if file == 0:
            assert second_started.wait(60)
        second_started.set()
        progress.advance(1, records=1)
        return file * 10

    assert on_each_file([0, 1, 2], work, jobs=2, title="reading") == [0, 10, 20]


def test_the_first_error_is_raised():
    def work(file: int, progress: FileProgress) -> int:
        return 1 // file

    with pytest.raises(ZeroDivisionError):
        on_each_file([1, 0], work, jobs=1, title="reading")


def test_no_more_jobs_than_files():
    assert jobs_for(2, 8) == 2
    assert jobs_for(0, None) == 1
    assert jobs_for(10**6, None) == available_cpus()
