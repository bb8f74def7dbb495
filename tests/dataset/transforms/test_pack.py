"""pack(): every value once and in order, in rows of one length."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import KINDS, SCHEMA

import penstock as ps
from penstock.dataset.transforms.pack import PackListsStage


def packed(lists: list[list[Any]], length: int, drop_last: bool) -> list[dict[str, Any]]:
    """The rows in plain Python."""
    values = [(value, number) for number, items in enumerate(lists) for value in items]
    rows = []
    for start in range(0, len(values), length):
        row = values[start : start + length]
        segments, positions = list[int](), list[int]()
        for i, (_, number) in enumerate(row):
            is_new = i == 0 or row[i - 1][1] != number
            segments.append((segments[-1] if segments else 0) + is_new)
            positions.append(0 if is_new else positions[-1] + 1)
        rest = [0] * (length - len(row))
        if not rest or not drop_last:
            row_values = [value for value, _ in row] + rest
            rows.append(
                {"tokens": row_values, "tokens_segment_ids": segments + rest, "tokens_positions": positions + rest}
            )
    return rows


@relaxed
@given(sources(), st.integers(1, 9), st.booleans())
def test_rows_are_slices_of_all_values(source: Source, length: int, drop_last: bool):
    stage = PackListsStage(length, ("tokens",), drop_last)
    assert elements_of(stage, source) == packed([row["tokens"] for row in source.rows()], length, drop_last)
    check_resumes(stage, source)
    keys = [row for block in blocks_of(stage, source) for row in block.keys.rows.tolist()]
    assert len(set(keys)) == len(keys)
    assert source.all_closed()


@pytest.mark.parametrize("most", [3, 17])
@given(source=sources(), length=st.integers(1, 5))
@relaxed
def test_blocks_of_few_values_resume(most: int, source: Source, length: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.dataset.transforms.pack._BLOCK_VALUES", most)
        stage = PackListsStage(length, ("tokens",), False)
        assert elements_of(stage, source) == packed([row["tokens"] for row in source.rows()], length, False)
        check_resumes(stage, source, 40)


@pytest.mark.parametrize("kind", KINDS)
def test_an_iteration_resumes_within_a_list(kind, shards):
    ds = ps.Dataset(shards(kind), schema=SCHEMA).map(dict).pack(5, key="items").batch(2)
    expected = [plain(batch) for batch in ds]
    it = iter(ds.epoch(0))
    for step in range(len(expected)):
        resumed = iter(ds)
        resumed.load_state_dict(json.loads(json.dumps(it.state_dict())))
        assert [plain(batch) for batch in resumed] == expected[step:]
        next(it)


def test_columns_are_packed_together(tmp_path):
    rows = [{"tokens": [1, 2], "weight": [0.5, 1.0]}, {"tokens": [3], "weight": [0.0]}, {"tokens": [], "weight": []}]
    schema = ps.Schema(
        {"tokens": ps.Feature("int32", (None,)), "weight": ps.Feature("float32", (None,), optional=True)}
    )
    ps.write(tmp_path / "a", rows, schema=schema)
    ds = ps.Dataset(tmp_path / "a").pack(2, key=["tokens", "weight"])
    found = ds.batch(9)
    assert next(iter(found))["weight"].tolist() == [[0.5, 1], [0, 0]]
    assert next(iter(found))["tokens"].dtype == "int32"
    assert "pack(2, key=['tokens', 'weight'])" in repr(ds)
    ps.write(tmp_path / "packed", ds)
    assert ps.Dataset(tmp_path / "packed").batch(2)[0]["tokens"].tolist() == [[1, 2], [3, 0]]
    with pytest.raises(ValueError, match="unequal length in 'tokens' and 'other'"):
        list(ps.Dataset(tmp_path / "a").map(lambda row: row | {"other": [1]}).pack(2, key=["tokens", "other"]))


def test_what_is_no_list_of_numbers_is_an_error(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    for key in ("text", "id"):
        with pytest.raises(TypeError, match="needs lists of numbers"):
            list(ds.pack(4, key=key))
        with pytest.raises(TypeError, match="needs lists of numbers"):
            list(ds.map(dict).pack(4, key=key))
    with pytest.raises(TypeError, match=r"before batch\(\)"):
        list(ds.batch(2).pack(4, key="items"))


def test_rows_before_an_error_come_first():
    stage, source = PackListsStage(2, ("tokens",), False), Source([3, 3, 3], fails_after=2)
    blocks, found = blocks_of(stage, source), []
    with pytest.raises(OSError, match="the disk is gone"):
        for block in blocks:
            found += block.elements["tokens"].tolist()
    values = [value for number in range(6) for value in range(number % 5)]
    assert np.ravel(found).tolist() == values[: len(values) // 2 * 2]
