"""map_images(): pictures of a dataset are transformed row by row, whatever reads them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import _core
from penstock.codec.images import encode_image

TRAINING = ps.ImageTransform(random_resized_crop=8, flip=True)
SCHEMA = ps.Schema({"image": ps.Feature("uint8", (None, None, 3), encoding="image"), "label": int})

ENCODED = ps.Schema({"image": "bytes", "label": int})


def picture(number: int) -> bytes:
    pixels = np.random.default_rng(number).integers(0, 256, (20 + number % 3, 24, 3), np.uint8)
    return encode_image(pixels, "jpeg" if number % 2 else "png")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [{"image": picture(number), "label": number} for number in range(40)]
    ps.write(tmp_path / "pictures", rows, schema=SCHEMA, shards=3)
    return tmp_path / "pictures"


def by_label(rows: Any) -> dict[int, bytes]:
    return {int(row["label"]): row["image"].tobytes() for row in rows}


def test_every_way_of_reading_gives_the_same_pictures(data: Path):
    ds = ps.Dataset(data).map_images(TRAINING, seed=7)
    expected = by_label(ds)
    assert len(set(expected.values())) == 40
    assert by_label(ds.epoch(0).batch(7).unbatch()) == expected
    assert by_label(ds[number] for number in range(40)) == expected
    assert by_label(ds[list(range(40))].rows()) == expected
    assert by_label(ds.shuffle(seed=1).epoch(0).batch(16).unbatch()) == expected
    assert by_label(ds.map(dict, workers=2).epoch(0)) == expected
    ranks = [ds.epoch(0).shard(rank, 3).batch(5).unbatch() for rank in range(3)]
    assert {label: image for rank in ranks for label, image in by_label(rank).items()} == expected
    assert by_label(pickle.loads(pickle.dumps(ds.epoch(0)))) == expected
    assert by_label(ps.Dataset(data, threads=1).map_images(TRAINING, seed=7)) == expected


def test_each_epoch_and_seed_has_other_parts(data: Path):
    ds = ps.Dataset(data).map_images(TRAINING, seed=7)
    first, second, other = (
        by_label(ds.epoch(0)),
        by_label(ds.epoch(1)),
        by_label(ps.Dataset(data).map_images(TRAINING, seed=8)),
    )
    assert all(first[label] != second[label] and first[label] != other[label] for label in first)


def test_a_resumed_iteration_goes_on_with_the_same_pictures(data: Path):
    batches = ps.Dataset(data).shuffle(seed=1).map_images(TRAINING, seed=7).batch(6)
    whole = [batch["image"] for batch in batches.epoch(0)]
    iterator = iter(batches.epoch(0))
    for _ in range(3):
        next(iterator)
    resumed = iter(batches)
    resumed.load_state_dict(iterator.state_dict())
    for expected, batch in zip(whole[3:], resumed, strict=True):
        np.testing.assert_array_equal(batch["image"], expected)


def test_a_state_of_another_transform_does_not_fit(data: Path):
    iterator = iter(ps.Dataset(data).map_images(TRAINING, seed=7))
    next(iterator)
    other = iter(ps.Dataset(data).map_images(ps.ImageTransform(random_resized_crop=9), seed=7))
    with pytest.raises(ps.StateError):
        other.load_state_dict(iterator.state_dict())


def test_functions_before_it_may_change_the_bytes(data: Path):
    ds = ps.Dataset(data, schema=ENCODED)
    swapped = ds.map(lambda row: {**row, "image": picture(0)})
    images = [row["image"] for row in swapped.map_images(ps.ImageTransform(resize=(4, 4)), columns=["image"])]
    assert len({image.tobytes() for image in images}) == 1
    with pytest.raises(ps.SchemaError, match="before functions"):
        next(iter(ps.Dataset(data).map(dict).map_images(TRAINING, columns=["image"])))


def test_lists_of_pictures_and_frames_become_ragged(tmp_path: Path):
    lists = [[picture(number) for number in range(count)] for count in (2, 0, 3, 1)]
    ps.write(tmp_path / "lists", {"views": lists}, schema=ps.Schema({"views": ps.Feature("bytes", (None,))}))
    frames = ps.Schema({"id": int}, sequence={"frame": ps.Feature("uint8", (None, None, 3), encoding="image")})
    rows = [{"id": number, "frame": [picture(1)] * count} for number, count in enumerate((2, 0, 3))]
    ps.write(tmp_path / "frames", rows, schema=frames)

    views = ps.Dataset(tmp_path / "lists").map_images(TRAINING, columns=["views"]).batch(4)[0]["views"]
    assert views.lengths.tolist() == [2, 0, 3, 1]
    assert views.values.shape == (6, 8, 8, 3)

    apart = ps.Dataset(tmp_path / "frames").map_images(TRAINING).batch(3)[0]["frame"]
    assert apart.lengths.tolist() == [2, 0, 3]
    assert (apart.values[0] != apart.values[1]).any()
    together = ps.ImageTransform(random_resized_crop=8, flip=True, per="record")
    video = ps.Dataset(tmp_path / "frames").map_images(together).batch(3)[0]["frame"]
    np.testing.assert_array_equal(video.values[0], video.values[1])
    assert (video.values[0] != video.values[2]).any()


def test_absent_pictures_stay_absent(tmp_path: Path):
    schema = ps.Schema({"image": ps.Feature("uint8", (None, None, 3), encoding="image", optional=True)})
    ps.write(tmp_path / "some", {"image": [picture(0), None, picture(1)]}, schema=schema)
    rows = list(ps.Dataset(tmp_path / "some").map_images(TRAINING))
    assert [row["image"] is None for row in rows] == [False, True, False]


@pytest.mark.parametrize("batched", [False, True])
def test_a_bad_picture_raises_after_the_rows_before_it(tmp_path: Path, batched: bool):
    files = [picture(number) if number != 5 else b"no picture" for number in range(9)]
    ps.write(tmp_path / "bad", {"image": files, "label": np.arange(9)}, schema=ENCODED)
    ds = ps.Dataset(tmp_path / "bad", schema=SCHEMA).map_images(TRAINING)
    rows = iter(ds.batch(2).unbatch() if batched else ds)
    assert [int(next(rows)["label"]) for _ in range(4 if batched else 5)] == list(range(4 if batched else 5))
    with pytest.raises(ps.MalformedExampleError, match="format is unknown") as caught:
        next(rows)
    assert caught.value.feature == "image"
    assert caught.value.record == 5
    assert caught.value.path is not None


def test_bad_pictures_are_skipped_like_other_bad_records(tmp_path: Path):
    files = [picture(number) if number % 4 else b"no picture" for number in range(12)]
    ps.write(tmp_path / "bad", {"image": files, "label": np.arange(12)}, schema=ENCODED)
    found: list[Exception] = []
    ds = ps.Dataset(tmp_path / "bad", schema=SCHEMA, on_error=found.append).map_images(TRAINING)
    with pytest.warns(UserWarning, match="3 records were skipped"):
        labels = [int(label) for batch in ds.batch(4) for label in batch["label"]]
    assert labels == [number for number in range(12) if number % 4]
    assert len(found) == 3


@pytest.mark.skipif(not _core.DECODES_JPEG, reason="this build is without libjpeg-turbo")
@pytest.mark.parametrize("decode", [True, False])
@pytest.mark.parametrize("as_dicts", [True, False])
def test_any_number_of_bad_pictures_is_skipped(tmp_path: Path, decode: bool, as_dicts: bool):
    good = encode_image(np.zeros((2, 3, 3), np.uint8), "jpeg")
    bad = np.arange(6000) % 2 == 0
    bad[:2000] = True
    files = [b"no picture" if one else good for one in bad]
    ps.write(tmp_path / "bad", {"image": files, "label": np.arange(6000)}, schema=ENCODED)
    ds = ps.Dataset(tmp_path / "bad", schema=ENCODED, on_error="skip")
    ds = ds.map(dict) if as_dicts else ds
    small = ds.map_images(ps.ImageTransform(resize=(1, 1)), columns=["image"], decode=decode).batch(6000)
    with pytest.warns(UserWarning, match="4,000 records were skipped"):
        labels = np.concatenate([batch["label"] for batch in small])
    np.testing.assert_array_equal(labels, np.flatnonzero(~bad))


def test_a_row_with_bad_pictures_in_lists_and_in_two_columns_counts_once(tmp_path: Path):
    schema = ps.Schema({"one": "bytes", "views": ps.Feature("bytes", (None,)), "label": int})
    good, bad = picture(1), b"no picture"
    views = [[good], [bad, good, bad], [], [good, bad], [good, good]]
    rows = {"one": [good, bad, good, good, bad], "views": views, "label": np.arange(5)}
    ps.write(tmp_path / "two", rows, schema=schema)
    found: list[Any] = []
    ds = ps.Dataset(tmp_path / "two", schema=schema, on_error=found.append)
    with pytest.warns(UserWarning, match="3 records were skipped"):
        (batch,) = ds.map_images(TRAINING, columns=["one", "views"], seed=7).batch(5)
    assert batch["label"].tolist() == [0, 2]
    assert batch["views"].lengths.tolist() == [1, 0]
    assert [(error.record, error.feature) for error in found] == [(1, "one"), (3, "views"), (4, "one")]
    whole = ps.Dataset(tmp_path / "two", schema=schema)
    alone = whole.take(1).map_images(TRAINING, columns=["one", "views"], seed=7)[0]
    np.testing.assert_array_equal(batch["one"][0], alone["one"])
    with pytest.raises(ps.MalformedExampleError) as caught:
        list(whole.map_images(TRAINING, columns=["views", "one"]))
    assert caught.value.record == 1


def test_what_cannot_be_transformed_raises_when_it_is_called(data: Path):
    ds = ps.Dataset(data)
    with pytest.raises(TypeError, match="before batch"):
        ds.batch(4).map_images(TRAINING)
    with pytest.raises(ps.SchemaError, match="no feature"):
        ds.map_images(TRAINING, columns=["nothing"])
    with pytest.raises(ps.SchemaError, match="columns="):
        ds.select_columns(["label"]).map_images(TRAINING)
    with pytest.raises(TypeError, match="columns="):
        ds.mix(ds, weights=[1, 1], seed=0).map_images(TRAINING)


def test_joined_datasets_are_transformed_by_column(data: Path):
    encoded = ps.Dataset(data, schema=ENCODED)
    mixed = encoded.mix(encoded, weights=[1, 1], seed=3).map_images(TRAINING, columns=["image"]).batch(8)
    assert next(iter(mixed))["image"].shape == (8, 8, 8, 3)


def test_transformed_pictures_can_be_written(data: Path, tmp_path: Path):
    small = ps.ImageTransform(resize=(4, 6), dtype="uint8")
    ps.write(tmp_path / "small", ps.Dataset(data).map_images(small))
    assert ps.Dataset(tmp_path / "small")[3]["image"].shape == (4, 6, 3)


@pytest.mark.skipif(not _core.DECODES_JPEG, reason="this build is without libjpeg-turbo")
def test_pictures_that_are_decoded_later_have_the_same_parts(tmp_path: Path):
    files = [encode_image(np.full((20 + number, 30, 3), number, np.uint8), "jpeg") for number in range(6)]
    ps.write(tmp_path / "jpeg", {"image": files, "label": np.arange(6)}, schema=ENCODED)
    ds = ps.Dataset(tmp_path / "jpeg", schema=SCHEMA).map_images(TRAINING, seed=7, decode=False)
    batch = ds.shuffle(seed=1).batch(6)[0]
    assert sorted(batch["image"].to_list()) == sorted(files)
    by_row = {int(row["label"]): row["image_part"].tolist() for row in ds.epoch(0)}
    assert {int(row["label"]): row["image_part"].tolist() for row in batch.rows()} == by_row
    top, left, height, width, _ = np.array([by_row[number] for number in range(6)]).T
    assert ((top + height <= 20 + np.arange(6)) & (left + width <= 30)).all()
