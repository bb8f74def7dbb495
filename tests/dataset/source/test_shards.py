"""Remote shards without a manifest: only files that hold requested rows are read, and as few as possible indexed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock as ps


@pytest.fixture(params=["", "GZIP"])
def urls(request, http, tmp_path, monkeypatch) -> list[str]:
    """Four files of ten rows on an HTTP server."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    written = ps.write(tmp_path / "train", {"x": np.arange(40)}, shards=4, compression=request.param)
    names = [shard.name for shard in written.shards]
    http.files = {f"/{name}": Path(tmp_path, name).read_bytes() for name in names}
    return [http.url(f"/{name}") for name in names]


SCHEMA = ps.Schema({"x": ps.Feature("int64")})


def files_read(http) -> list[int]:
    """Return the numbers of the files that were requested since the last call."""
    asked = {path for command, path, _ in http.seen if command == "GET"}
    http.seen.clear()
    return [number for number, name in enumerate(http.files) if name in asked]


def numbers(ds) -> list[int]:
    return [int(row["x"]) for row in ds]


def test_the_first_rows_are_read_from_the_first_files(http, urls):
    ds = ps.Dataset(urls, schema=SCHEMA)
    assert numbers(ds.take(3)) == numbers(ds[:3]) == [0, 1, 2]
    assert files_read(http) == [0]
    assert [batch["x"].tolist() for batch in ds.batch(6).take(2)] == [[*range(6)], [*range(6, 12)]]
    assert [batch["x"].tolist() for batch in ds.take(9).batch(6, drop_last=True)] == [[*range(6)]]
    assert numbers(ds.skip(8).take(4)) == numbers(ds[8:12]) == [8, 9, 10, 11]
    assert files_read(http) == [0, 1]


def test_the_length_of_the_first_rows_needs_only_their_files(http, urls):
    ds = ps.Dataset(urls, schema=SCHEMA)
    assert len(ds.take(3)) == len(ds[4:7]) == len(ds.batch(4).take(1)) + 2 == 3
    assert files_read(http) == [0]
    some = ds.take(15).shuffle(seed=1)
    assert sorted(numbers(some)) == [*range(15)] != numbers(some)
    assert some[0]["x"] in range(15)
    assert sorted(numbers(ds[2:19:3].shuffle(seed=1))) == [*range(2, 19, 3)]
    assert files_read(http) == [0, 1]
    assert (len(ds.take(100)), len(ds.take(0)), numbers(ds.take(0).shuffle(seed=1))) == (40, 0, [])


def test_repeat_needs_no_index(http, urls, tmp_path):
    ds = ps.Dataset(urls, schema=SCHEMA)
    http.seen.clear()
    assert numbers(ds) == [*range(40)]
    once = sorted(http.seen)
    http.seen.clear()
    assert numbers(ds.repeat(2)) == 2 * [*range(40)]
    assert sorted(http.seen) == sorted(2 * once)
    rows = iter(ds.repeat())
    assert [int(next(rows)["x"]) for _ in range(83)] == [*range(40), *range(40), 0, 1, 2]
    rows.close()
    expected = [[*range(start, min(start + 15, 40))] for start in (0, 15, 30)]
    assert [batch["x"].tolist() for batch in ds.batch(15).repeat(2)] == 2 * expected
    across = [batch["x"].tolist() for batch in ds.repeat(2).batch(15)]
    assert across == [[number % 40 for number in range(start, min(start + 15, 80))] for start in range(0, 80, 15)]
    assert [batch["x"].tolist() for batch in ds.repeat(2).batch(15, drop_last=True)] == across[:-1]
    assert numbers(ds.skip(35).repeat(2)) == 2 * [*range(35, 40)]
    assert numbers(ds.skip(40).repeat()) == []
    assert not (tmp_path / "cache").exists()


REPEATED = [lambda ds: ds.repeat(3), lambda ds: ds.repeat(3).batch(9), lambda ds: ds.batch(9).repeat(3)]


@pytest.mark.parametrize("made", REPEATED)
def test_repeat_resumes_without_counts(urls, made):
    def drawn(ds):  # random numbers identify the row and the epoch of each element
        return made(ds).map(lambda row, rng: (row["x"] if np.ndim(row["x"]) else int(row["x"]), rng.random()), seed=1)

    whole = [repr(element) for element in drawn(ps.Dataset(urls, schema=SCHEMA))]
    indexed = ps.Dataset(urls, schema=SCHEMA)
    assert len(indexed) == 40
    assert [repr(element) for element in drawn(indexed)] == whole
    for given in (5, len(whole) - 2):
        it = iter(drawn(ps.Dataset(urls, schema=SCHEMA)))
        for _ in range(given):
            next(it)
        resumed = iter(drawn(ps.Dataset(urls, schema=SCHEMA)))
        resumed.load_state_dict(it.state_dict())
        it.close()
        assert [repr(element) for element in resumed] == whole[given:]


@pytest.mark.parametrize("made", REPEATED)
def test_repeat_resumes_without_an_index_where_a_manifest_has_counts(http, urls, tmp_path, made):
    http.files["/train.penstock.json"] = (tmp_path / "train.penstock.json").read_bytes()

    def opened():
        return iter(made(ps.Dataset(http.url("/train.penstock.json"))))

    whole = [np.atleast_1d(element["x"]).tolist() for element in opened()]
    assert [number for element in whole for number in element] == 3 * [*range(40)]
    for given in (5, len(whole) - 2):
        it, resumed = opened(), opened()
        for _ in range(given):
            next(it)
        resumed.load_state_dict(it.state_dict())
        it.close()
        assert [np.atleast_1d(element["x"]).tolist() for element in resumed] == whole[given:]
    assert not (tmp_path / "cache").exists()


def test_random_access_indexes_only_the_files_up_to_the_row(http, urls):
    ds = ps.Dataset(urls, schema=SCHEMA)
    assert ds[12]["x"] == 12
    assert ds[[3, 17]]["x"].tolist() == [3, 17]
    assert ds.skip(5)[4]["x"] == 9
    assert ds.record(19) == ds.records([19])[0]
    assert files_read(http) == [0, 1]
    with pytest.raises(IndexError, match="element 5 of a dataset of 5"):
        ds.take(5)[5]
    assert ds[-1]["x"] == 39
    with pytest.raises(IndexError, match="element 40 of a dataset of 40"):
        ds[40]
    assert files_read(http) == [2, 3]  # the others are indexed already


def test_an_iteration_resumes_without_an_index(http, urls, tmp_path):
    it = iter(ps.Dataset(urls, schema=SCHEMA).batch(4))
    next(it), next(it), next(it)
    state = it.state_dict()
    it.close()
    resumed = iter(ps.Dataset(urls, schema=SCHEMA).batch(4))
    resumed.load_state_dict(state)
    assert next(resumed)["x"].tolist() == [12, 13, 14, 15]
    assert [batch["x"][0] for batch in resumed] == [16, 20, 24, 28, 32, 36]
    assert not (tmp_path / "cache").exists()
