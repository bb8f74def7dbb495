"""Values in rows that are easily taken for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import Decoder, Encoder, Feature, Schema


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        ((), True),
        ((2,), [True, False]),
        ((2,), np.array([1, 3], np.uint16)),
        ((None,), np.array([1, 3], np.uint16)),
        ((), np.uint16(7)),
    ],
)
def test_integers_are_numbers_in_a_column_of_bfloat16(shape: Any, value: Any):
    schema = Schema({"x": Feature("bfloat16", shape)})
    decoded = Decoder(schema).decode(list(Encoder(schema).encode([{"x": value}])))["x"]
    np.testing.assert_array_equal(np.asarray(decoded[0], np.float32), np.asarray(value, np.float32))


def test_a_list_that_holds_itself_raises(tmp_path: Path):
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        ps.write(tmp_path / "data", iter([{"a": endless}]))


@pytest.mark.parametrize("given", ["inferred", "declared"])
@pytest.mark.parametrize(
    ("full", "feature"),
    [
        (np.arange(2), ps.Feature("int64", (None,))),
        (np.ones(2, np.float32), ps.Feature("float32", (None,))),
        (np.ones((2, 4), np.float32), ps.Feature("float32", (None, 4))),
        (["a", "b"], ps.Feature("str", (None,))),
    ],
    ids=["integers", "floats", "boxes", "strings"],
)
def test_an_empty_array_of_no_chosen_dtype_is_an_empty_list(tmp_path: Path, given: str, full: Any, feature: ps.Feature):
    schema = ps.Schema({"x": feature}) if given == "declared" else None
    for rows in ([{"x": full}, {"x": np.array([])}], {"x": [full, np.array([])]}):
        ps.write(tmp_path / "x", rows, schema=schema, replace=True)
        ds = ps.Dataset(tmp_path / "x")
        assert ds.schema["x"] == feature
        assert [len(row["x"]) for row in ds] == [2, 0]


@pytest.mark.parametrize("shape", [(3,), (None,)])
def test_masked_values_are_never_stored(shape: tuple[int | None, ...]):
    encoder = ps.Encoder(ps.Schema({"x": ps.Feature("int64", shape)}))
    with pytest.raises(ps.SchemaError, match=r'a masked array would lose its mask.*feature "x"'):
        encoder.encode([{"x": np.ma.array([1, 2, 3], mask=[False, True, False])}])
    assert encoder.encode([{"x": np.ma.array([1, 2, 3])}]) == encoder.encode([{"x": np.array([1, 2, 3])}])
