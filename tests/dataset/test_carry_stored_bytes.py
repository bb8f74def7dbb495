"""Writing a dataset with functions: unchanged values keep their stored bytes, changed ones their encoding."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.codec.images import encode_image

SCHEMA = ps.Schema(
    {
        "jpeg": ps.Feature("uint8", (None, None, 3), encoding="jpeg"),
        "png": ps.Feature("uint8", (4, 6, 3), encoding="png", optional=True),
        "tensor": ps.Feature("float64", (None, 2), encoding="tensor"),
        "label": ps.Feature("int32"),
        "score": ps.Feature("float32"),
        "half": ps.Feature("float16", (2,), encoding="raw"),
        "tokens": ps.Feature("int64", (None,), key="words"),
        "note": ps.Feature(str, optional=True),
    }
)
ROWS = 20


@pytest.fixture
def pictures(tmp_path: Path) -> ps.Dataset:
    """Twenty rows; the JPEG of row i is i + 1 pixels wide, and of a quality that the encoder does not choose."""
    random = np.random.default_rng(7)
    pixels = random.integers(0, 255, (4, ROWS, 3)).astype(np.uint8)
    rows = [
        {
            "jpeg": encode_image(pixels[:, : i + 1], "jpeg", quality=40),
            "png": encode_image(random.integers(0, 255, (4, 6, 3)).astype(np.uint8), "png") + b"tail"
            if i % 3
            else None,
            "tensor": random.normal(size=(i % 4, 2)),
            "label": i,
            "score": np.float32("nan") if i == 5 else np.float32(i / 7),
            "half": np.array([i, 1 / (i + 1)], np.float16),
            "tokens": list(range(i % 3)),
            "note": "even" if i % 2 == 0 else None,
        }
        for i in range(ROWS)
    ]
    ps.write(tmp_path / "pictures", rows, schema=SCHEMA, shards=2)
    return ps.Dataset(tmp_path / "pictures")


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., ps.Dataset]:
    """Writes a dataset, and reads what was written."""

    def write(data: Any, **options: Any) -> ps.Dataset:
        ps.write(tmp_path / "written", data, replace=True, **options)
        return ps.Dataset(tmp_path / "written")

    return write


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings(action="error"):
        yield


def records_of(ds: ps.Dataset) -> list[bytes]:
    return ds.records(range(len(ds)))


def stored(ds: ps.Dataset, name: str) -> list[bytes | None]:
    """The bytes of a feature, as they are in the records."""
    key = ds.schema[name].key or name
    as_bytes = ps.Schema({name: ps.Feature(bytes, key=key, optional=True)})
    return ps.Decoder(as_bytes).decode(records_of(ds))[name].to_list()


def unchanged(row: Any) -> Any:
    return row


def relabelled(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"label": row["label"] + 100}


def darkened_if_odd(row: dict[str, Any]) -> dict[str, Any]:
    if row["label"] % 2:
        row["jpeg"][:] = 0
        row["tensor"][:] = 0
    return row


STEPS: dict[str, Callable[[ps.Dataset], ps.Dataset]] = {
    "rows": lambda ds: ds.map(unchanged),
    "copies": lambda ds: ds.map(lambda row: {name: np.copy(v) if name == "jpeg" else v for name, v in row.items()}),
    "threads": lambda ds: ds.map(unchanged, workers=2),
    "processes": lambda ds: ds.map(unchanged, workers=2, processes=True),
    "several": lambda ds: ds.map(unchanged).filter(lambda row: row["jpeg"].ndim == 3).map(unchanged, workers=1),
    "batches": lambda ds: ds.batch(3).map(unchanged),
    "batches in processes": lambda ds: ds.batch(3).map(unchanged, workers=1, processes=True),
    "dicts of columns": lambda ds: ds.batch(3).map(dict).unbatch(),
    "unbatched": lambda ds: ds.batch(3).map(unchanged).unbatch().map(unchanged),
    "cached": lambda ds: ds.cache().map(unchanged),
    "ahead": lambda ds: ds.map(unchanged).prefetch(2).take(ROWS),
}


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["inherited", "named"])
@pytest.mark.parametrize("steps", STEPS)
def test_unchanged_values_give_the_same_records(
    pictures: ps.Dataset, written: Any, steps: str, schema: ps.Schema | None
):
    copy = written(STEPS[steps](pictures), schema=schema)
    assert copy.schema == SCHEMA
    assert records_of(copy) == records_of(pictures)


def test_rows_that_are_batched_after_a_function_keep_their_bytes(pictures: ps.Dataset, written: Any):
    rows = pictures.select_columns(["png", "label"]).map(relabelled)
    copy = written(rows.batch(3).map(unchanged).unbatch().shuffle(seed=1, window=7))
    order = [label - 100 for label in copy.to_arrow()["label"].to_pylist()]
    assert sorted(order) == list(range(ROWS))
    assert stored(copy, "png") == [stored(pictures, "png")[i] for i in order]


def test_a_schema_without_changes_re_encodes_nothing(pictures: ps.Dataset, written: Any):
    wider = ps.Schema(dict(SCHEMA) | {"label": ps.Feature("int64")})
    assert records_of(written(pictures, schema=wider)) == records_of(pictures)
    assert records_of(written(pictures.filter(lambda row: True), schema=SCHEMA)) == records_of(pictures)


def test_the_map_option_keeps_the_bytes_of_rows_and_batches(pictures: ps.Dataset, written: Any):
    assert records_of(written(pictures, map=unchanged)) == records_of(pictures)
    assert records_of(written(pictures.batch(3), map=unchanged)) == records_of(pictures)


def test_joined_datasets_keep_their_bytes(pictures: ps.Dataset, written: Any):
    both = pictures.map(relabelled).concat(pictures.take(5))
    copy = written(both)
    assert copy.schema == SCHEMA
    assert stored(copy, "jpeg") == stored(pictures, "jpeg") + stored(pictures, "jpeg")[:5]


@pytest.mark.parametrize("batched", [False, True])
def test_renamed_features_keep_bytes_and_encodings(pictures: ps.Dataset, written: Any, batched: bool):
    def renamed(element: Any) -> Any:
        new = {name: element[old] for name, old in names.items()}
        return ps.Batch(new) if batched else new

    names = {"photo": "jpeg", "drawing": "png", "matrix": "tensor", "vector": "half"}
    copy = written((pictures.batch(4) if batched else pictures).map(renamed))
    assert copy.schema == ps.Schema({new: SCHEMA[old] for new, old in names.items()})
    for new, old in names.items():
        assert stored(copy, new) == stored(pictures, old)


def test_equal_images_of_two_features_keep_their_own_bytes(tmp_path: Path, written: Any):
    black = np.zeros((4, 4, 3), np.uint8)
    schema = ps.Schema({name: ps.Feature("uint8", (4, 4, 3), encoding=name) for name in ("jpeg", "png")})
    row = {"jpeg": encode_image(black, "jpeg", quality=40), "png": encode_image(black, "png")}
    ps.write(tmp_path / "black", [row, row | {"jpeg": encode_image(black, "jpeg", quality=90)}], schema=schema)
    black_ones = ps.Dataset(tmp_path / "black")
    swapped = written(black_ones.map(lambda row: {"a": row["png"], "b": row["jpeg"]}))
    assert stored(swapped, "a") == stored(black_ones, "png")
    assert stored(swapped, "b") == stored(black_ones, "jpeg")
    assert records_of(written(black_ones.batch(2).map(unchanged))) == records_of(black_ones)


def test_a_change_of_one_feature_does_not_affect_the_others(pictures: ps.Dataset, written: Any):
    copy = written(pictures.map(relabelled))
    assert copy.schema == SCHEMA
    assert [row["label"] for row in copy] == list(range(100, 100 + ROWS))
    for name in ("jpeg", "png", "tensor", "half", "note"):
        assert stored(copy, name) == stored(pictures, name)


@pytest.mark.parametrize("how", [{}, {"workers": 2}, {"workers": 1, "processes": True}], ids=str)
def test_edits_in_place_are_written(pictures: ps.Dataset, written: Any, how: dict[str, Any]):
    copy = written(pictures.map(darkened_if_odd, **how))
    assert copy.schema == SCHEMA
    for i, row in enumerate(copy):
        edited = i % 2 == 1
        assert (row["jpeg"].max() < 8) == edited, i
        assert not edited or not row["tensor"].any()
        assert (stored(copy, "jpeg")[i] == stored(pictures, "jpeg")[i]) != edited


def test_edits_of_batches_in_place_are_written(pictures: ps.Dataset, written: Any):
    def blackened(batch: ps.Batch) -> ps.Batch:
        batch["jpeg"][0][:] = 0
        batch["png"].values[1] = 0
        return batch

    copy = written(pictures.batch(4).map(blackened))
    assert copy.schema == SCHEMA
    for i, row in enumerate(copy):
        assert (row["jpeg"].max() < 8) == (i % 4 == 0)
        assert (stored(copy, "jpeg")[i] == stored(pictures, "jpeg")[i]) == (i % 4 != 0)
        if row["png"] is not None:
            assert row["png"].any() == (i % 4 != 1)
            assert (stored(copy, "png")[i] == stored(pictures, "png")[i]) == (i % 4 != 1)


def test_an_edit_in_a_filter_raises(pictures: ps.Dataset, written: Any):
    def edits(row: dict[str, Any]) -> bool:
        row["jpeg"][:] = 0
        return True

    with pytest.raises(ValueError, match="read-only"):
        written(pictures.map(unchanged).filter(edits))


def test_reordered_rows_of_a_batch_keep_their_bytes(pictures: ps.Dataset, written: Any):
    copy = written(pictures.batch(5).map(lambda batch: batch.take([4, 0, 2])))
    order = [start + place for start in range(0, ROWS, 5) for place in (4, 0, 2)]
    assert records_of(copy) == [records_of(pictures)[i] for i in order]


def test_replaced_images_have_the_encoding_of_the_stored_ones(pictures: ps.Dataset, written: Any):
    copy = written(pictures.map(lambda row: row | {"jpeg": row["jpeg"][:2], "png": np.zeros((2, 2, 1), np.uint8)}))
    assert copy.schema["jpeg"] == SCHEMA["jpeg"]
    assert all(data.startswith(b"\xff\xd8\xff") for data in stored(copy, "jpeg") if data)
    # Another shape than the schema's: the encoding stays, the shape is that of the values.
    assert copy.schema["png"] == SCHEMA["png"].replace(shape=(2, 2, 1))
    assert copy[0]["jpeg"].shape == (2, 1, 3)


def test_an_encoding_that_changes_is_reported(pictures: ps.Dataset, written: Any):
    scaled = pictures.map(lambda row: row | {"jpeg": row["jpeg"].mean((0, 1)).astype(np.float32)})
    message = r'"jpeg" was stored as .*jpeg.* and is written as Feature.*float32.*schema='
    with pytest.warns(UserWarning, match=message) as reported:
        copy = written(scaled)
    assert reported[0].filename == __file__
    assert copy.schema["jpeg"] == ps.Feature("float32", (3,))
    assert stored(copy, "png") == stored(pictures, "png")


def test_another_encoding_in_the_schema_is_used(pictures: ps.Dataset, written: Any):
    schema = ps.Schema(dict(SCHEMA) | {"jpeg": ps.Feature("uint8", (None, None, 3), encoding="png")})
    copy = written(pictures.map(unchanged), schema=schema)
    assert all(data.startswith(b"\x89PNG") for data in stored(copy, "jpeg") if data)
    for before, after in zip(pictures, copy, strict=True):
        assert (before["jpeg"] == after["jpeg"]).all()


def test_images_from_a_cache_after_a_function_are_re_encoded_with_a_warning(pictures: ps.Dataset, written: Any):
    cached = pictures.map(unchanged).cache()
    with pytest.warns(UserWarning, match=r"before cache\(\)"):
        copy = written(cached)
    assert copy.schema == SCHEMA
    assert stored(copy, "tensor") == stored(pictures, "tensor")
    assert isinstance(next(iter(cached))["jpeg"], np.ndarray)  # the cache is not left with anything else


def test_absent_images_with_a_default_stay_absent(tmp_path: Path, written: Any):
    default = np.zeros((1, 1, 1), np.uint8).tolist()
    schema = ps.Schema({"id": int, "image": ps.Feature("uint8", (1, 1, 1), encoding="png", default=default)})
    ps.write(tmp_path / "some", [{"id": 0}, {"id": 1, "image": np.ones((1, 1, 1), np.uint8)}], schema=schema)
    some = ps.Dataset(tmp_path / "some")
    assert records_of(written(some.map(unchanged))) == records_of(some)


def test_tensors_serialized_by_other_writers_keep_their_bytes(tmp_path: Path, written: Any):
    values = np.array([1.5, -2], "<f4")
    theirs = b"\x08\x01\x12\x04\x12\x02\x08\x02\x2a\x08" + values.tobytes()  # float_val, not tensor_content
    ps.write(tmp_path / "theirs", {"x": [theirs], "n": [1]})
    schema = ps.Schema({"x": ps.Feature("float32", (2,), encoding="tensor"), "n": int})
    ds = ps.Dataset(tmp_path / "theirs", schema=schema)
    copy = written(ds.map(lambda row: row | {"n": row["n"] + 1}))
    assert stored(copy, "x") == [theirs]
    assert copy[0]["x"].tolist() == [1.5, -2]
    assert copy[0]["n"] == 2


def test_sequences_stay_sequences(tmp_path: Path, written: Any):
    schema = ps.Schema({"id": str}, sequence={"x": ps.Feature("float32", (2,)), "word": ps.Feature(str)})
    clip = {"id": "a", "x": np.ones((3, 2), np.float32), "word": ["b", "c"]}
    ps.write(tmp_path / "clips", [clip], schema=schema)
    clips = ps.Dataset(tmp_path / "clips")
    copy = written(clips.map(lambda row: row | {"id": "z"}))
    assert copy.schema == schema
    assert copy[0]["x"].tolist() == clip["x"].tolist()
    assert records_of(written(clips.map(unchanged))) == records_of(clips)


@pytest.mark.parametrize("height", [4, None], ids=["equal", "unequal"])
@pytest.mark.parametrize("batched", [False, True])
def test_frames_of_a_sequence_keep_their_bytes(tmp_path: Path, written: Any, batched: bool, height: int | None):
    schema = ps.Schema({"id": int}, sequence={"frame": ps.Feature("uint8", (height, 4, 3), encoding="jpeg")})
    frames = np.random.default_rng(1).integers(0, 255, (6, 4, 4, 3)).astype(np.uint8)
    jpegs = [encode_image(frame[: height or 1 + i % 4], "jpeg", quality=40) for i, frame in enumerate(frames)]
    ps.write(tmp_path / "clips", [{"id": n, "frame": jpegs[n : 2 * n]} for n in range(4)], schema=schema)
    clips = ps.Dataset(tmp_path / "clips")
    copy = written((clips.batch(3) if batched else clips).map(unchanged))
    assert copy.schema == schema
    assert records_of(copy) == records_of(clips)
    if not batched:
        darker = written(clips.map(darkened_clip))
        assert [frame.max() < 8 for frame in darker[3]["frame"]] == [True, True, True]
        assert darker.record(2) == clips.record(2)


def darkened_clip(row: dict[str, Any]) -> dict[str, Any]:
    if row["id"] == 3:
        for frame in row["frame"]:
            frame[:] = 0
    return row


def test_errors_name_the_function(pictures: ps.Dataset, written: Any):
    with pytest.raises(ZeroDivisionError) as raised:
        written(pictures.map(fails))
    assert "test_carry_stored_bytes.fails" in raised.value.__notes__[0]


def fails(row: dict[str, Any]) -> dict[str, Any]:
    return {"x": 1 // 0}
