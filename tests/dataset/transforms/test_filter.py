"""filter(): the elements that a function chooses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import KINDS, SCHEMA, write_shards

import penstock as ps
from penstock.codec.images import encode_image
from penstock.dataset.transforms.filter import FilterStage


def is_odd(element: dict[str, Any]) -> bool:
    return bool(element["n"] % 2)


@relaxed
@given(sources(), st.integers(0, 3))
def test_filter_keeps_elements_as_they_are(source: Source, workers: int):
    stage = FilterStage(is_odd, workers=workers)
    assert elements_of(stage, source) == [row for row in source.rows() if row["n"] % 2]
    check_resumes(stage, source)
    assert source.all_closed()


def test_filtered_columns_stay_columns():
    blocks = list(blocks_of(FilterStage(is_odd), Source([4, 1, 3])))
    assert [block.elements["n"].tolist() for block in blocks] == [[1, 3], [5, 7]]


def test_a_filter_may_drop_everything():
    assert elements_of(FilterStage(lambda element: False), Source([3, 2])) == []


def test_a_function_that_returns_no_truth_value_is_named():
    with pytest.raises(ValueError, match="ambiguous") as caught:
        elements_of(FilterStage(lambda element: np.zeros(2)), Source([1]))
    assert "row 0" in caught.value.__notes__[0]


def long(row: dict[str, Any]) -> bool:
    return len(row["items"]) > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "earlier",
    [
        lambda ds: ds,
        lambda ds: ds.shuffle(seed=3, window=6),
        lambda ds: ds[3:20],
        lambda ds: ds.repeat(2),
        lambda ds: ds.skip(9).shard(1, 2),
        lambda ds: ds.map(dict),
        lambda ds: ds.filter("id != 6"),
    ],
)
def test_filters_by_columns_do_what_filters_do_and_resume(kind, earlier, shards):
    ds = earlier(ps.Dataset(shards(kind), schema=SCHEMA))
    expected = [plain(row) for row in ds.epoch(0) if len(row["items"]) > 1 and row["id"] != 7]
    for filtered in (
        ds.filter(long, columns=["items"]).filter("id != 7"),
        ds.filter("len(items) > 1 and id != 7"),
        ds.filter(long, columns=["items"], workers=2).filter(lambda row: row["id"] != 7, columns=["id"]),
    ):
        it = iter(filtered.epoch(0))
        for step in range(len(expected) + 1):
            resumed = iter(filtered)
            resumed.load_state_dict(json.loads(json.dumps(it.state_dict())))
            assert [plain(row) for row in resumed] == expected[step:]
            assert next(it, None) is not None or step == len(expected)


def test_a_function_gets_the_columns_that_it_asks_for(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    seen: list[list[str]] = []

    def test(element: Any) -> bool:
        seen.append(list(element.keys()))
        return True

    for rows in (ds, ds.map(dict), ds.batch(4), ds.shuffle(seed=1)):
        found = next(iter(rows.filter(test, columns=["text", "id"])))
        assert list(found.keys()) == list(SCHEMA)
    assert all(names == ["text", "id"] for names in seen)


def test_other_columns_are_decoded_of_the_rows_that_pass(tmp_path: Path):
    schema = ps.Schema({"id": int, "image": ps.Feature("uint8", (2, 2, 3), encoding="png", optional=True)})
    picture = encode_image(np.ones((2, 2, 3), np.uint8), "png")
    stored = ps.Encoder(ps.Schema({"id": int, "image": ps.Feature(bytes, optional=True)}))
    rows = [{"id": 1, "image": b"no"}, {"id": 2, "image": picture}, {"id": 3}, {"id": 4, "image": b"image"}]
    with ps.RecordWriter(tmp_path / "a.tfrecord") as writer:
        for record in stored.encode(rows):
            writer.write(record)
    ds = ps.Dataset(tmp_path / "a.tfrecord", schema=schema)
    assert [row["id"] for row in ds.filter(lambda row: row["id"] in (2, 3), columns=["id"])] == [2, 3]
    assert [row["id"] for row in ds.shuffle(seed=1).filter("image is null")] == [3]
    assert [row["id"] for row in ds.filter("id > 0").drop_columns(["image"])] == [1, 2, 3, 4]
    # The row before the bad one comes first, and the error says where it is.
    found = iter(ds.filter("id > 1"))
    assert [next(found)["id"], next(found)["id"]] == [2, 3]
    with pytest.raises(ps.MalformedExampleError, match='record 3, feature "image"'):
        next(found)
    skipped = ps.Dataset(tmp_path / "a.tfrecord", schema=schema, on_error="skip").filter("id > 0")
    with pytest.warns(UserWarning, match="2 records"):
        assert [row["id"] for row in skipped] == [2, 3]


def test_damage_raises_after_the_rows_before_it(tmp_path: Path):
    file = Path(write_shards(tmp_path, "plain", (9,))[0])
    data = bytearray(file.read_bytes())
    data[-6] ^= 1
    file.write_bytes(data)
    for ds in (ps.Dataset(file, schema=SCHEMA), ps.Dataset(file, schema=SCHEMA).repeat(2)):
        found = iter(ds.filter("id >= 5"))
        assert [next(found)["id"] for _ in range(3)] == [5, 6, 7]
        with pytest.raises(ps.CorruptDataError):
            next(found)


def test_filtered_rows_are_written_as_they_are_stored(tmp_path: Path):
    schema = ps.Schema({"id": int, "image": ps.Feature("uint8", (2, 2, 3), encoding="jpeg")})
    random = np.random.default_rng(1)
    images = [encode_image(random.integers(0, 255, (2, 2, 3), np.uint8), "jpeg", quality=30) for _ in range(6)]
    ps.write(tmp_path / "all", [{"id": i, "image": image} for i, image in enumerate(images)], schema=schema)
    ds = ps.Dataset(tmp_path / "all").filter("id in (1, 4)").rename_columns({"image": "picture"})
    for number, data in enumerate((ds, ds.batch(2), ds.map(dict), ds.take(2))):
        ps.write(tmp_path / f"{number}", data)
        written = ps.Dataset(tmp_path / f"{number}")
        assert written.schema["picture"] == schema["image"]
        stored = ps.Dataset(written.files, schema=ps.Schema({"picture": bytes}))
        assert [row["picture"] for row in stored] == [images[1], images[4]]


def test_conditions_that_do_not_fit_raise_at_once(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    with pytest.raises(ps.ExpressionError, match="did you mean 'items'"):
        ds.filter("len(itmes) > 1")
    with pytest.raises(ps.ExpressionError, match="did you mean 'items'"):
        ds.shuffle(seed=1).filter(bool).filter("len(itmes) > 1")
    with pytest.raises(TypeError, match=r"before batch\(\)"):
        ds.batch(2).filter("id == 1")
    with pytest.raises(TypeError, match="names its columns itself"):
        ds.filter("id == 1", columns=["id"])
    with pytest.raises(ps.SchemaError, match="no feature 'itmes'"):
        ds.filter(long, columns=["itmes"])
    with pytest.raises(TypeError, match="no length"):
        len(ds.filter("id == 1"))


def test_filters_are_shown(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).filter("id == 1").filter(long, columns=["items"]).take(2)
    assert repr(ds).endswith("filter('id == 1'), filter(long, columns=['items']), take(2)>")
