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


def test_a_list_that_holds_itself_is_refused(tmp_path: Path):
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        ps.write(tmp_path / "data", iter([{"a": endless}]))
