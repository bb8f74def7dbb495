"""A function is run over many files at once, and its results stay in order; CPUs are counted as they may be used."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from penstock.parallel import FileProgress, available_cpus, cgroup_cpus, jobs_for, local_ranks, on_each_file
from penstock.records.read_options import ReadOptions


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


@pytest.fixture
def no_ranks(monkeypatch: pytest.MonkeyPatch):
    for name in ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("files", "groups", "cpus"),
    [
        ({"cpu.max": "max 100000"}, "0::/", None),
        ({"cpu.max": "150000 100000"}, "0::/", 2),
        ({"cpu.max": "10000 100000"}, "0::/", 1),
        ({"pods/one/cpu.max": "max 100000", "pods/cpu.max": "400000 100000"}, "0::/pods/one", 4),
        ({"cpu.max": "300000 100000"}, "0::/a/path/of/the/host", 3),
        ({"cpu,cpuacct/job/cpu.cfs_quota_us": "250000", "cpu,cpuacct/job/cpu.cfs_period_us": "100000"},
         "5:memory:/job\n4:cpu,cpuacct:/job", 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu:/", None),
        ({}, "", None),
    ],
)  # fmt: skip
def test_quotas_of_control_groups_and_of_those_above_them(
    tmp_path: Path, files: dict[str, str], groups: str, cpus: int | None
):
    root, listing = tmp_path / "groups", tmp_path / "cgroup"
    listing.write_text(groups)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    assert cgroup_cpus(listing, root) == cpus


def test_ranks_on_one_host_share_its_cpus(no_ranks: pytest.MonkeyPatch):
    alone = available_cpus()
    no_ranks.setenv("LOCAL_WORLD_SIZE", str(10**6))
    assert available_cpus() == 1
    no_ranks.delenv("LOCAL_WORLD_SIZE")
    no_ranks.setenv("SLURM_NTASKS_PER_NODE", "1")
    assert available_cpus() == alone


@pytest.mark.parametrize(("text", "ranks"), [("8", 8), ("8(x2)", 8), ("4,2", 4), ("", 1), ("many", 1), ("0", 1)])
def test_ranks_are_counted_as_launchers_announce_them(no_ranks: pytest.MonkeyPatch, text: str, ranks: int):
    no_ranks.setenv("SLURM_STEP_TASKS_PER_NODE", text)
    assert local_ranks() == ranks


def test_a_dataset_counts_the_cpus_of_the_process_that_iterates(no_ranks: pytest.MonkeyPatch):
    options = ReadOptions(threads=None)
    no_ranks.setenv("LOCAL_WORLD_SIZE", str(10**6))
    assert options.thread_count == 1
    assert ReadOptions(threads=3).thread_count == 3
