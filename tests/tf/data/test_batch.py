"""``batch`` and ``ragged_batch``: known shapes, not the values of a batch, decide what becomes ragged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def test_an_error_about_different_shapes_names_the_component():
    ds = Dataset.range(1, 3).map(lambda x: (x, tf.range(x))).batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"component 1.* \[1\] and element 1 had shape \[2\]"):
        list(ds)


def test_only_components_with_unknown_sizes_become_ragged():
    def made(number: Any) -> Any:
        return tf.range(number), tf.stack([number, number])

    first, second = list(tf.data.Dataset.range(3).map(made).ragged_batch(2))
    assert isinstance(first[0], tf.RaggedTensor)
    assert [first[0].to_list(), second[0].to_list()] == [[[], [0]], [[0, 1]]]
    assert isinstance(first[1], tf.Tensor)
    assert first[1].numpy().tolist() == [[0, 0], [1, 1]]


def test_a_component_with_an_unknown_size_is_ragged_even_if_all_sizes_are_equal():
    (batch,) = tf.data.Dataset.range(2, 4).map(lambda number: tf.range(number - number + 2)).ragged_batch(2)
    assert isinstance(batch, tf.RaggedTensor)
    assert batch.to_list() == [[0, 1], [0, 1]]


def test_a_batch_is_ragged_down_to_the_last_unknown_dimension():
    (batch,) = tf.data.Dataset.range(1, 3).map(lambda number: tf.fill([number, 2], number)).ragged_batch(2)
    assert (batch.ragged_rank, batch.shape.as_list()) == (1, [2, None, 2])
    assert batch.to_list() == [[[1, 1]], [[2, 2], [2, 2]]]
    (batch,) = tf.data.Dataset.range(1, 3).map(lambda number: tf.fill([2, number], number)).ragged_batch(2)
    assert (batch.ragged_rank, batch.shape.as_list()) == (2, [2, 2, None])
    assert batch.to_list() == [[[1], [1]], [[2, 2], [2, 2]]]


def test_element_spec_describes_ragged_batches():
    batches = tf.data.Dataset.range(3).map(tf.range).ragged_batch(2, drop_remainder=True, row_splits_dtype=tf.int32)
    assert batches.element_spec == tf.RaggedTensorSpec([2, None], tf.int64, 1, tf.int32)
    assert next(iter(batches)).row_splits.dtype == tf.int32


def test_ragged_batch_raises_after_a_function_that_is_not_traced():
    elements = tf.data.Dataset.range(1, 3).map(lambda number: tf.constant([0] * int(number)))
    with pytest.raises(tf.errors.UnimplementedError, match="needs the shapes of elements"):
        elements.ragged_batch(2)


def test_rows_of_a_ragged_tensor_are_ragged_again_in_batches_after_zip_and_unbatch():
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3], []]))
    _, pairs = zip(*tf.data.Dataset.zip((tf.data.Dataset.range(3), rows)).batch(2), strict=True)
    for batches in (pairs, list(rows.batch(3).unbatch().batch(2))):
        assert [batch.to_list() for batch in batches] == [[[1, 2], [3]], [[]]]


@pytest.mark.parametrize(
    ("shapes", "error"),
    [([1], ValueError), ([[1]], ValueError), ([1.5, 2.0], TypeError), ([5, 1], ValueError)],
)
def test_padded_shapes_are_checked_before_the_first_element(shapes: object, error: type[Exception]):
    with pytest.raises(error, match="added shape"):
        tf.data.Dataset.from_tensors(tf.zeros([9, 2])).padded_batch(5, shapes)


def test_padded_batch_says_that_it_takes_dense_tensors():
    with pytest.raises(TypeError, match="only supported for datasets that produce tensor"):
        tf.data.Dataset.from_tensors(tf.sparse.from_dense([1])).padded_batch(2)


@dataclass
class Point:
    x: Any
    y: Any

    def __tf_flatten__(self) -> Any:
        return (), (self.x, self.y)

    @classmethod
    def __tf_unflatten__(cls, metadata: Any, components: Any) -> Any:
        return cls(*components)


def test_none_and_classes_of_tensors_are_elements():
    dataset = tf.data.Dataset.range(4).map(lambda x: (Point(x, x * 2), None)).batch(2)
    found, nothing = next(iter(dataset))
    assert (type(found), nothing) == (Point, None)
    assert (found.x.numpy().tolist(), found.y.numpy().tolist()) == ([0, 1], [0, 2])


def test_sparse_tensors_are_sliced_and_unbatched():
    sparse = tf.sparse.from_dense([[1, 0, 2], [0, 0, 0], [0, 3, 0]])
    for dataset in (
        tf.data.Dataset.from_tensor_slices({"s": sparse}),
        tf.data.Dataset.from_tensors({"s": sparse}).unbatch(),
    ):
        rows = [tf.sparse.to_dense(element["s"]).numpy().tolist() for element in dataset]
        assert rows == [[1, 0, 2], [0, 0, 0], [0, 3, 0]]
        assert dataset.element_spec == {"s": tf.SparseTensorSpec([3], tf.int32)}
