"""What earlier code stored is read by today's: frozen samples, and fresh ones, to show that they can be made again."""

from __future__ import annotations

import json
import logging
import os
import pickle
import re
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

import penstock as ps
import penstock.tf as tf
from frozen import make_samples
from frozen.pipelines import ELEMENTS, PIPELINES, calls, counted, numbers, plain

FROZEN = Path(__file__).parent / "samples"
FRESH = "fresh"
"""Samples that today's code has just written."""
SETS = [*sorted(folder.name for folder in FROZEN.iterdir()), FRESH]
ERRORS = sorted(
    name for name in ps.__all__ if isinstance(kind := getattr(ps, name), type) and issubclass(kind, ps.PenstockError)
)


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frozen") / FRESH
    make_samples.main(folder)
    return folder


@pytest.fixture(params=SETS)
def samples(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy in another folder, with files as old as those that were frozen and no indexes from elsewhere."""
    original = request.getfixturevalue("fresh") if request.param == FRESH else FROZEN / request.param
    copy = tmp_path / "samples"
    shutil.copytree(original, copy)
    for file in (copy / "data").iterdir():
        os.utime(file, ns=(make_samples.TIME, make_samples.TIME))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "indexes"))
    return copy


def load(samples: Path, name: str) -> Any:
    return json.loads((samples / name).read_text())


# Data, manifests, schemas.


@pytest.mark.parametrize("kind", make_samples.KINDS)
def test_shards_give_the_rows_that_were_written(samples: Path, kind: str):
    expected = load(samples, "rows.json")["features_plain"]
    name, folder = f"features_{kind}", samples / "data"
    assert [plain(row) for row in ps.Dataset(folder / name)] == expected
    (folder / f"{name}.penstock.json").unlink()
    files = ps.Dataset(f"{folder / name}-*.tfrecord*", schema=ps.Schema.load(folder / "features.schema.json"))
    assert [plain(row) for row in files] == expected


def test_sequence_examples_give_the_rows_that_were_written(samples: Path):
    assert [plain(row) for row in ps.Dataset(samples / "data" / "steps")] == load(samples, "rows.json")["steps"]


@pytest.mark.parametrize(
    "name", [*(f"{rows}_{kind}" for rows in ("numbers", "features") for kind in make_samples.KINDS), "steps"]
)
def test_a_manifest_describes_the_shards_next_to_it(samples: Path, name: str):
    path = samples / "data" / f"{name}.penstock.json"
    manifest = ps.Manifest.load(path)
    assert manifest.verify(path.parent) == []
    assert manifest.records == len(list(ps.Dataset(path.parent / name)))
    assert ps.Manifest.from_json(manifest.to_json()) == manifest


@pytest.mark.parametrize(
    ("file", "schema"), [("features", make_samples.FEATURES), ("steps", make_samples.STEPS)], ids=["features", "steps"]
)
def test_a_schema_file_holds_the_schema_that_was_saved(samples: Path, file: str, schema: ps.Schema):
    assert ps.Schema.load(samples / "data" / f"{file}.schema.json") == schema


def test_schemas_in_formats_of_others_are_read(samples: Path):
    folder = samples / "data"
    some = ps.Schema.from_pbtxt((folder / "features.pbtxt").read_text())
    assert some == make_samples.FEATURES.select(list(some))
    others = ps.Schema.from_tfds((folder / "features.json").read_text())
    assert others == make_samples.FEATURES.select(list(others))
    assert {"ragged", "note"} < set(some)
    assert {"dense", "ragged"} < set(others)


def test_a_parquet_file_carries_the_schema_of_its_records(samples: Path):
    table = pyarrow.parquet.read_table(samples / "data" / "features.parquet")
    manifest = ps.write(samples / "again", table)
    assert manifest.schema == make_samples.FEATURES
    assert [plain(row) for row in ps.Dataset(samples / "again")] == load(samples, "rows.json")["features_plain"]


@pytest.mark.parametrize(
    ("file", "read"),
    [("features.schema.json", ps.Schema.from_json), ("steps.penstock.json", ps.Manifest.from_json)],
    ids=["schema", "manifest"],
)
def test_a_file_of_a_later_version_raises_with_that_version(samples: Path, file: str, read: Any):
    later = load(samples / "data", file) | {"version": 99}
    with pytest.raises(ps.PenstockError, match="version 99"):
        read(json.dumps(later))


# Indexes.


@pytest.fixture
def built(caplog: pytest.LogCaptureFixture) -> Iterator[list[logging.LogRecord]]:
    """The messages of indexes that are built, where one should have been found."""
    with caplog.at_level(logging.INFO, logger="penstock.index"):
        yield caplog.records


@pytest.mark.parametrize("kind", ["plain", "gzip"])
def test_a_sidecar_index_is_used(samples: Path, kind: str, built: list[logging.LogRecord]):
    assert numbers(samples, kind)[[20, 3, 11]]["id"].tolist() == [20, 3, 11]
    shuffled = [plain(row) for row in numbers(samples, kind).shuffle(seed=7)]
    assert shuffled == load(samples, "states.json")["shuffle"]["elements"]
    assert built == []


@pytest.mark.parametrize("kind", ["plain", "gzip"])
def test_an_index_in_the_cache_folder_is_used(
    samples: Path, kind: str, built: list[logging.LogRecord], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PENSTOCK_CACHE", str(samples / "index_cache"))
    for index in (samples / "data").glob(".*.index"):
        index.unlink()
    stored = sorted((samples / "index_cache").iterdir())
    assert numbers(samples, kind)[[20, 3, 11]]["id"].tolist() == [20, 3, 11]
    assert built == []
    assert sorted((samples / "index_cache").iterdir()) == stored


# States.


def states_of(samples: Path, name: str) -> dict[str, Any]:
    found = load(samples, "states.json")
    if name not in found:
        pytest.skip("added after these samples were frozen")
    sample: dict[str, Any] = found[name]
    return sample


DEALT_ONE_BY_ONE = {"shard, dropping the remainder", "shard, repeating the remainder"}
"""Shares of unshuffled rows: states of version 1 go on as they were, and new iterations deal in runs."""


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_yields_the_elements_that_it_yielded(samples: Path, name: str):
    sample = states_of(samples, name)
    if name in DEALT_ONE_BY_ONE and sample["states"]["1"]["version"] == 1:
        pytest.skip("rows are dealt in runs since version 2 of states")
    with iter(PIPELINES[name](samples)) as it:
        assert [plain(element) for element in islice(it, ELEMENTS)] == sample["elements"]
        assert (next(it, None) is None) == sample["is_whole"]


@pytest.mark.parametrize("name", PIPELINES)
def test_a_state_goes_on_at_the_next_element(samples: Path, name: str):
    sample = states_of(samples, name)
    elements = sample["elements"]
    assert sorted(map(int, sample["states"]))[-1] == len(elements)
    for step, state in sample["states"].items():
        rest = elements[int(step) :]
        with iter(PIPELINES[name](samples)) as it:
            it.load_state_dict(state)
            assert [plain(element) for element in islice(it, len(rest))] == rest, step
            assert (next(it, None) is None) == sample["is_whole"], step


def test_no_state_is_lost_to_a_pipeline_that_is_gone():
    frozen = {name for folder in SETS if folder != FRESH for name in load(FROZEN / folder, "states.json")}
    assert frozen <= set(PIPELINES)


def test_a_state_of_two_ranks_is_taken_up_by_three(samples: Path):
    sample = load(samples, "ranks.json")
    for rank, rest in enumerate(sample["rest"]):
        with iter(numbers(samples).shuffle(seed=7).shard(rank, 3).batch(2)) as it:
            it.load_state_dict(sample["state"])
            assert [plain(batch["id"]) for batch in it] == rest


def test_a_state_of_a_later_version_raises_with_that_version(samples: Path):
    state = states_of(samples, "batch")["states"]["1"] | {"version": 99}
    with iter(PIPELINES["batch"](samples)) as it, pytest.raises(ps.StateError, match="version 99"):
        it.load_state_dict(state)


def test_a_state_of_other_data_or_another_pipeline_raises(samples: Path):
    state = states_of(samples, "batch")["states"]["1"]
    with iter(numbers(samples, "gzip").batch(5)) as it, pytest.raises(ps.StateError, match="data"):
        it.load_state_dict(state)
    with iter(numbers(samples).batch(6)) as it, pytest.raises(ps.StateError, match="pipeline"):
        it.load_state_dict(state)


# Caches on disk.


def test_a_disk_cache_is_used_or_rebuilt_once(samples: Path):
    ds, expected = PIPELINES["cache with a key"](samples), states_of(samples, "cache with a key")["elements"]
    calls.clear()
    assert [plain(row) for row in ds] == expected
    assert calls in ([], list(range(24)))
    calls.clear()
    assert [plain(row) for row in ds] == expected
    assert calls == []


def test_a_cache_on_disk_of_other_data_is_not_used(samples: Path):
    rows = [{"id": i, "items": [7]} for i in range(50, 60)]
    ps.write(samples / "data" / "numbers_plain", rows, schema=make_samples.NUMBERS, shards=3, replace=True)
    for name in ("cache with a key", "cache of a function"):
        ids = [int(row["id"]) % 100 for row in PIPELINES[name](samples)]
        assert ids == list(range(50, 60)), name


def test_a_cache_on_disk_of_another_key_is_not_used(samples: Path):
    calls.clear()
    for row in numbers(samples).map(counted).cache(samples / "caches", key="2"):
        assert row["id"] >= 100
    assert len(calls) == 24


# What penstock.tf stores.


@pytest.mark.parametrize("name", ["dense", "tuple", "ragged", "records"])
def test_a_cache_file_of_tf_is_read_or_raises_with_its_version(
    samples: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(samples)
    stored = Path(f"tf_caches/{name}.cache").read_bytes()
    dataset = make_samples.tf_datasets()[name].cache(f"tf_caches/{name}")
    try:
        found = [make_samples.tf_plain(element) for element in dataset]
    except tf.errors.OpError as error:
        assert re.search(r"version \d", str(error)), error
        assert f"{name}.cache" in str(error)
    else:
        assert found == load(samples, "tf.json")[name]
    assert Path(f"tf_caches/{name}.cache").read_bytes() == stored


@pytest.mark.parametrize("name", ["dense", "tuple", "records"])
def test_a_saved_dataset_of_tf_is_loaded(samples: Path, name: str):
    compression = "GZIP" if name == "tuple" else None
    loaded = tf.data.Dataset.load(str(samples / "tf_saved" / name), compression=compression)
    found = load(samples, "tf.json")[name]
    assert [make_samples.tf_plain(element) for element in loaded] == found
    assert int(loaded.cardinality()) == len(found)


# Pickles of batches, schemas, features, manifests and errors. Datasets, readers and the like pickle for other processes
# of the same program, and not for storage.


def unpickled(samples: Path, name: str) -> Any:
    return pickle.loads((samples / "pickles" / f"{name}.pickle").read_bytes())


def test_a_pickled_batch_has_its_columns(samples: Path):
    batch = unpickled(samples, "batch")
    assert isinstance(batch, ps.Batch)
    kinds = {"dense": np.ndarray, "ragged": ps.Ragged, "text": ps.BytesColumn, "note": ps.Nullable}
    assert all(isinstance(batch[name], kind) for name, kind in kinds.items())
    expected = ps.Dataset(samples / "data" / "features_plain").batch(6)[0]
    assert [plain(batch.row(i)) for i in range(6)] == [plain(expected.row(i)) for i in range(6)]
    assert [plain(batch.row(i)) for i in range(6)] == load(samples, "rows.json")["features_plain"]


def test_pickled_schemas_features_and_manifests_are_equal_to_those_of_today(samples: Path):
    assert unpickled(samples, "schema") == make_samples.FEATURES
    assert unpickled(samples, "sequence_schema") == make_samples.STEPS
    assert unpickled(samples, "feature") == make_samples.FEATURES["note"]
    assert unpickled(samples, "manifest") == ps.Manifest.load(samples / "data" / "features_gzip.penstock.json")


@pytest.mark.parametrize("name", ERRORS)
def test_a_pickled_error_keeps_its_message_and_its_details(samples: Path, name: str):
    if not (samples / "pickles" / f"{name}.pickle").exists():
        pytest.skip("added after these samples were frozen")
    error = unpickled(samples, name)
    assert type(error) is getattr(ps, name)
    assert str(error) == f"message of {name}"
    details = make_samples.details_of(type(error))
    assert {key: getattr(error, key) for key in details} == details
