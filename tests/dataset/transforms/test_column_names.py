"""select_columns(), drop_columns(), rename_columns(): where rows are read, and on elements that functions made."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flows import Source, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA, TOTAL, row_of

import penstock as ps
from penstock.dataset.transforms.column_names import ColumnNamesStage

NAMES = ["n", "epoch", "tokens", "name"]


def new_name(name: str) -> str:
    return f"new {name}"


@relaxed
@given(sources(), st.permutations(NAMES), st.integers(0, 4))
def test_columns_of_elements_change_like_dicts(source: Source, names: list[str], count: int):
    chosen = names[:count]
    rows = source.rows()
    pairs = tuple((name, new_name(name)) for name in chosen)
    for verb, given_pairs, expected in [
        ("select_columns", tuple((name, name) for name in chosen), [{n: row[n] for n in chosen} for row in rows]),
        ("drop_columns", pairs, [{n: row[n] for n in NAMES if n not in chosen} for row in rows]),
        ("rename_columns", pairs, [{new_name(n) if n in chosen else n: row[n] for n in NAMES} for row in rows]),
    ]:
        stage = ColumnNamesStage(verb, given_pairs)
        found = elements_of(stage, source)
        assert found == expected
        assert [list(row) for row in found] == [list(row) for row in expected]
        check_resumes(stage, source)


@pytest.mark.parametrize(
    "earlier",
    [
        lambda ds: ds,
        lambda ds: ds.shuffle(seed=3),
        lambda ds: ds.batch(4),
        lambda ds: ds.filter(bool),
        lambda ds: ds.map(dict),
        lambda ds: ds.batch(4, pad={"items": 0}),
    ],
)
def test_each_verb_does_the_same_after_any_other(earlier, shards):
    ds = earlier(ps.Dataset(shards("plain"), schema=SCHEMA))
    before = [plain(element) for element in ds.epoch(0)]
    batched = isinstance(before[0], list)

    def changed(change: Any) -> list[Any]:
        return [[change(row) for row in element] if batched else change(element) for element in before]

    def found(ds: ps.Dataset) -> list[Any]:
        return [plain(element) for element in pickle.loads(pickle.dumps(ds)).epoch(0)]

    assert found(ds.select_columns(["text", "id"])) == changed(lambda row: {"text": row["text"], "id": row["id"]})
    assert found(ds.drop_columns(["items"])) == changed(lambda row: {"id": row["id"], "text": row["text"]})
    renamed = ds.rename_columns({"id": "text", "text": "id"})
    assert found(renamed) == changed(lambda row: {"text": row["id"], "items": row["items"], "id": row["text"]})
    assert found(renamed.rename_columns({"id": "text", "text": "id"})) == before


def test_columns_that_are_dropped_are_not_decoded(tmp_path: Path):
    schema = ps.Schema({"id": int, "image": ps.Feature("uint8", (2, 2, 3), encoding="png")})
    stored = ps.Encoder(ps.Schema({"id": int, "image": bytes})).encode({"id": [1, 2], "image": [b"no", b"image"]})
    with ps.RecordWriter(tmp_path / "a.tfrecord") as writer:
        for record in stored:
            writer.write(record)
    ds = ps.Dataset(tmp_path / "a.tfrecord", schema=schema)
    assert [row["id"] for row in ds.drop_columns(["image"])] == [1, 2]
    assert [row["key"] for row in ds.rename_columns({"id": "key"}).shuffle(seed=1).select_columns(["key"])] == [2, 1]


def test_a_renamed_column_is_written_under_its_new_name(tmp_path: Path):
    schema = ps.Schema({"a": ps.Feature("int64", (None, None)), "b": ps.Feature("int64", key="key of b"), "c": str})
    rows = {"a": [[[1], [2, 3]], []], "b": [4, 5], "c": ["x", "y"]}
    ps.write(tmp_path / "old", rows, schema=schema)
    ds = ps.Dataset(tmp_path / "old").rename_columns({"a": "nested", "b": "c", "c": "b"})
    expected = ps.Schema({"nested": ps.Feature("int64", (None, None)), "c": int, "b": str})
    assert ds.schema == expected
    for name, data in (("rows", ds), ("batches", ds.batch(2)), ("mapped", ds.map(dict)), ("late", ds.take(9)[:2])):
        ps.write(tmp_path / name, data)
        assert ps.Dataset(tmp_path / name).schema == expected
        assert ps.Dataset(tmp_path / name).batch(2)[0].to_list() == [
            {"nested": [[1], [2, 3]], "c": 4, "b": "x"},
            {"nested": [], "c": 5, "b": "y"},
        ]


def test_new_names_do_not_change_what_a_state_belongs_to(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    it = iter(ds.rename_columns({"id": "number"}))
    next(it)
    resumed = iter(ds)
    resumed.load_state_dict(it.state_dict())
    assert next(resumed)["id"] == 1
    assert len(ds.rename_columns({"id": "number"})) == TOTAL
    assert plain(ds.rename_columns({"id": "number"})[5]["number"]) == row_of(5)["id"]


@pytest.mark.parametrize("earlier", [lambda ds: ds, lambda ds: ds.map(dict)])
def test_names_that_do_not_fit_are_errors_that_show_the_closest(earlier, shards):
    ds = earlier(ps.Dataset(shards("plain"), schema=SCHEMA))
    for change in (
        lambda: list(ds.select_columns(["itmes"])),
        lambda: list(ds.drop_columns(["itmes"])),
        lambda: list(ds.rename_columns({"itmes": "x"})),
    ):
        with pytest.raises(ps.SchemaError, match=r"'itmes'.*'items'"):
            change()
    with pytest.raises(ps.SchemaError, match="two columns"):
        list(ds.rename_columns({"id": "text"}))
    with pytest.raises(TypeError, match="columns are a list of names"):
        ds.drop_columns("id")
    with pytest.raises(TypeError, match="mapping of old names to new names"):
        ds.rename_columns(["id"])


def test_elements_without_names_have_no_columns(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA).map(lambda row: np.int64(row["id"]))
    with pytest.raises(TypeError, match="needs elements with names"):
        list(ds.drop_columns(["id"]))


def test_the_names_are_shown(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    assert "files: number, text>" in repr(ds.rename_columns({"id": "number"}).drop_columns(["items"]))
    assert "map(dict), rename_columns({'id': 'number'})" in repr(ds.map(dict).rename_columns({"id": "number"}))
