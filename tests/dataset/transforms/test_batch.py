"""batch() and padding."""

from __future__ import annotations

import numpy as np
import pytest
from flows import Source, blocks_of, check_resumes, elements_of, plain, relaxed, sources
from hypothesis import given
from hypothesis import strategies as st
from numbered import SCHEMA, TOTAL, ids

import penstock as ps
from penstock.columns import Batch, Ragged
from penstock.dataset.block import Block
from penstock.dataset.order import RowKeys
from penstock.dataset.transforms.batch import BatchStage, PackStage, Pad
from penstock.dataset.transforms.batch import padded as pad_batch


@relaxed
@given(sources(), st.integers(1, 9), st.booleans())
def test_batches_are_successive_elements(source: Source, size: int, drop_last: bool):
    rows = source.rows()
    expected = [rows[start : start + size] for start in range(0, len(rows), size)]
    if drop_last and expected and len(expected[-1]) < size:
        expected.pop()
    stage = BatchStage(size, drop_last=drop_last)
    assert elements_of(stage, source) == expected
    assert stage.length(len(rows)) == len(expected)
    check_resumes(stage, source)
    assert source.all_closed()


@relaxed
@given(sources())
def test_packed_blocks_are_batches(source: Source):
    batches = elements_of(PackStage(), source)
    assert list(map(len, batches)) == source.sizes
    assert [row for batch in batches for row in batch] == source.rows()
    check_resumes(PackStage(), source)


def test_the_key_of_a_batch_is_that_of_its_first_row():
    assert [block.keys.rows.tolist() for block in blocks_of(BatchStage(3), Source([2, 2, 2]))] == [[0], [3]]


def test_a_block_of_the_right_size_is_used_as_it_lies():
    source = Source([3, 3])
    given_blocks = []

    def remembered(cursor: object) -> object:
        for block in source(cursor):
            given_blocks.append(block)
            yield block

    batches = [block.elements[0] for block in blocks_of(BatchStage(3), remembered)]
    assert [batch["n"] is block.elements["n"] for batch, block in zip(batches, given_blocks, strict=True)] == [
        True,
        True,
    ]


def padded(pad: object, sizes: list[int] = [5]) -> list[np.ndarray]:  # noqa: B006
    return [block.elements[0] for block in blocks_of(PackStage(pad=pad), Source(sizes))]


def test_ragged_columns_stay_or_are_padded():
    assert isinstance(padded(None)[0]["tokens"], Ragged)
    assert padded(True)[0]["tokens"].shape == (5, 4)
    assert padded({"tokens": -1})[0]["tokens"][1].tolist() == [0, -1, -1, -1]
    assert padded({"tokens": Pad(-1, 6)})[0]["tokens"][2].tolist() == [0, 1, -1, -1, -1, -1]
    assert padded({"tokens": Pad(length=2)})[0]["tokens"][4].tolist() == [0, 1]
    assert padded(True)[0]["name"].to_list()[0] == "0"


def test_rows_that_happen_to_be_of_one_length_are_padded_all_the_same():
    for as_list in (False, True):
        batches = [
            block.elements[0] for block in blocks_of(BatchStage(1, pad={"tokens": Pad(9, 5)}), Source([4], as_list))
        ]
        assert [batch["tokens"].shape for batch in batches] == [(1, 5)] * 4
        assert batches[2]["tokens"].tolist() == [[0, 1, 9, 9, 9]]


def test_absent_rows_are_padded_whole():
    elements = [{"tokens": np.arange(2)}, {"tokens": None}, {"tokens": np.arange(3)}]
    block = Block(elements, RowKeys(np.arange(3), np.zeros(3, np.int64)), {"epoch": 0}, {"block": 1})
    (batch,) = elements_of(BatchStage(3, pad={"tokens": -1}), lambda cursor: iter_of(block))
    assert plain([row["tokens"] for row in batch]) == [[0, 1, -1], [-1, -1, -1], [0, 1, 2]]


def iter_of(block: Block):
    yield block


def test_a_column_that_cannot_be_padded_is_named():
    with pytest.raises(ValueError, match="no column 'words' to pad"):
        padded({"words": 0})
    with pytest.raises(ValueError, match="only columns of lists or arrays"):
        padded({"n": 0})


def test_rows_that_do_not_fit_together_raise():
    rows = [{"n": 1}, {"m": 2}]
    block = Block(rows, RowKeys(np.arange(2), np.zeros(2, np.int64)), {"epoch": 0}, {"block": 1})
    with pytest.raises(ValueError, match="different names"):
        elements_of(BatchStage(2), lambda cursor: iter_of(block))


def test_a_batch_has_elements():
    with pytest.raises(ValueError, match="1 element or more"):
        BatchStage(0)


def test_images_of_unequal_sizes_are_padded_on_all_sides():
    images = np.empty(2, object)
    images[:] = [np.ones((2, 3, 1), np.uint8), np.ones((4, 1, 1), np.uint8)]
    batch = Batch({"image": images})
    whole = pad_batch(batch, True)["image"]
    assert whole.shape == (2, 4, 3, 1)
    assert whole[..., 0].tolist() == [[[1] * 3] * 2 + [[0] * 3] * 2, [[1, 0, 0]] * 4]
    assert pad_batch(batch, {"image": Pad(9, (1, None))})["image"][..., 0].tolist() == [[[1, 1, 1]], [[1, 9, 9]]]


def test_batches_are_padded_bucketed_and_taken_apart(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)
    padded = ds.batch(4, pad={"items": ps.Pad(value=-1, length=4)})
    assert padded[0]["items"].tolist() == [[-1] * 4, [0, -1, -1, -1], [0, 1, -1, -1], [0, 1, 2, -1]]
    assert ids(ds.batch(4).unbatch()) == list(range(TOTAL))
    for batch in ds.bucket([2], 5, key="items"):
        lengths = batch["items"].lengths
        assert (lengths < 2).all() or (lengths >= 2).all()


def test_padding_also_returns_lengths_and_masks(shards):
    ds = ps.Dataset(shards("plain"), schema=SCHEMA)[1:5]
    pad = {"items": ps.Pad(-1, length=2, lengths=True, mask=True)}
    for batch in (ds.batch(4, pad=pad)[0], ds.map(dict).batch(4, pad=pad)[0]):
        assert batch["items"].tolist() == [[0, -1], [0, 1], [0, 1], [-1, -1]]
        assert batch["items_length"].tolist() == [1, 2, 2, 0]
        assert batch["items_mask"].tolist() == [[True, False], [True, True], [True, True], [False, False]]
    assert "items_mask" not in ds.batch(4, pad={"items": ps.Pad(lengths=True)})[0]
