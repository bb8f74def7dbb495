"""Tensors are taken as arrays by NumPy and others, and behave as TensorFlow's."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf


def test_numpy_takes_tensors_without_a_copy():
    array = np.arange(6.0).reshape(2, 3)
    tensor = tf.convert_to_tensor(array)
    assert np.shares_memory(np.asarray(tensor), array)
    np.testing.assert_array_equal(np.mean(tensor, axis=0), [1.5, 2.5, 3.5])
    assert np.zeros(tensor.shape).shape == (2, 3)


def test_numpy_answers_a_copy_that_may_be_changed():
    tensor = tf.constant([1, 2])
    tensor.numpy()[0] = 7
    assert tensor.numpy().tolist() == [1, 2]


def test_a_constant_is_not_the_array_that_it_was_made_of():
    array = np.zeros(2)
    tensor = tf.constant(array)
    array[0] = 7
    assert tensor.numpy().tolist() == [0.0, 0.0]


def test_dlpack():
    assert np.from_dlpack(tf.constant([1.5, 2.5])).tolist() == [1.5, 2.5]


def test_scalars_become_python_and_numpy_values():
    assert isinstance(tf.constant(1.5).numpy(), np.float32)
    assert tf.constant("héllo").numpy() == "héllo".encode()
    assert int(tf.constant(3)) == 3
    assert [10, 20][tf.constant(1)] == 20
    assert bool(tf.constant([True])) is True
    with pytest.raises(TypeError, match="Scalar tensor"):
        len(tf.constant(1))
    with pytest.raises(TypeError):
        hash(tf.constant(1))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (tf.constant(0.1), "<tf.Tensor: shape=(), dtype=float32, numpy=0.10000000149011612>"),
        (tf.constant(0.1, tf.float64), "<tf.Tensor: shape=(), dtype=float64, numpy=0.1>"),
        (tf.constant(b"a"), "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"),
        (tf.constant([0.1]), "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([0.1], dtype=float32)>"),
    ],
)
def test_scalars_are_shown_as_tensorflow_shows_them(value, shown):
    assert repr(value) == shown


def test_specs_tell_the_class_of_values():
    sparse = tf.SparseTensor(indices=[[0, 0], [1, 2]], values=[1, 2], dense_shape=[3, 4])
    values = (sparse, tf.ragged.constant([[1], [2, 3]]), tf.constant([1]))
    for value, spec in zip(values, tf.data.Dataset.from_tensors(values).element_spec, strict=True):
        assert spec.value_type is type(value)


def test_operators_with_arrays_on_the_left():
    assert isinstance(np.array([1, 2]) + tf.constant([1, 2]), tf.Tensor)
    assert (np.float32(2) * tf.constant([1.5])).numpy().tolist() == [3.0]


def test_nothing_is_promoted():
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32 and float32"):
        tf.constant(1) + tf.constant(1.5)
    with pytest.raises(TypeError):
        tf.constant([1, 2]) + 1.5


def test_tensors_pickle_and_copy():
    for tensor in (tf.constant([[1, 2]]), tf.constant(["a"]), tf.ragged.constant([[1], []])):
        assert repr(pickle.loads(pickle.dumps(tensor))) == repr(tensor)
    assert copy.deepcopy(tf.constant(1)).numpy() == 1
    assert pickle.loads(pickle.dumps(tf.float32)) is tf.float32


def test_bfloat16():
    tensor = tf.cast([1.5, 2.0], tf.bfloat16)
    assert tensor.dtype == tf.bfloat16
    assert tf.cast(tensor, tf.float32).numpy().tolist() == [1.5, 2.0]


def test_shapes_compare_with_lists_and_tuples():
    shape = tf.zeros([2, 3]).shape
    assert shape == [2, 3]
    assert shape == (2, 3)
    assert shape.as_list() == [2, 3]
    assert (shape[0], shape[1:], shape.rank) == (2, [3], 2)
    assert [None, *shape] == [None, 2, 3]
    assert tf.TensorShape(None).rank is None
    with pytest.raises(ValueError, match="incompatible"):
        shape.assert_is_compatible_with([2, 4])


def test_ragged_tensors_are_validated():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.RaggedTensor.from_row_splits([1, 2], [0, 3])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.RaggedTensor.from_row_lengths([1, 2], [3, -1])


def test_random_values_follow_the_seed():
    tf.random.set_seed(5)
    first = tf.random.uniform([3]).numpy().tolist()
    tf.random.set_seed(5)
    assert tf.random.uniform([3]).numpy().tolist() == first
    drawn = tf.random.uniform([1000], 2, 5, tf.int32).numpy()
    assert set(drawn.tolist()) == {2, 3, 4}
    first, second = (tf.random.uniform([2], seed=1).numpy().tolist() for _ in range(2))
    assert first != second
    tf.random.set_seed(5)
    assert tf.random.uniform([2], seed=1).numpy().tolist() == first


def test_a_random_flip_flips_each_image_or_not():
    images = tf.constant(np.arange(200 * 2, dtype=np.float32).reshape(200, 1, 2, 1))
    flipped = tf.image.random_flip_left_right(images).numpy()
    rows = {tuple(int(value) % 2 for value in image.ravel()) for image in flipped}
    assert rows == {(0, 1), (1, 0)}


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (tf.RaggedTensor.from_row_starts, [0, 4, 4, 7, 8]),
        (tf.RaggedTensor.from_row_limits, [4, 4, 7, 8, 8]),
        (lambda values, ids: tf.RaggedTensor.from_value_rowids(values, ids, nrows=5), [0, 0, 0, 0, 2, 2, 2, 3]),
        (tf.RaggedTensor.from_row_lengths, [4, 0, 3, 1, 0]),
    ],
)
def test_ragged_rows_are_told_in_several_ways(make, rows):
    ragged = make([3, 1, 4, 1, 5, 9, 2, 6], rows)
    assert ragged.to_list() == [[3, 1, 4, 1], [], [5, 9, 2], [6], []]
    assert pickle.loads(pickle.dumps(ragged)).to_list() == ragged.to_list()


def test_ragged_rows_of_one_length_keep_it():
    ragged = tf.RaggedTensor.from_uniform_row_length(tf.range(6), 2)
    assert ragged.to_list() == [[0, 1], [2, 3], [4, 5]]
    for found in (ragged, pickle.loads(pickle.dumps(ragged))):
        assert found.shape.as_list() == [3, 2]


def test_ragged_rows_are_padded_and_cut():
    ragged = tf.ragged.constant([[9, 8, 7], [], [6, 5], [4]])
    assert ragged.to_tensor().numpy().tolist() == [[9, 8, 7], [0, 0, 0], [6, 5, 0], [4, 0, 0]]
    assert ragged.to_tensor(default_value=-1, shape=[None, 2]).numpy().tolist() == [[9, 8], [-1, -1], [6, 5], [4, -1]]
    assert ragged.to_tensor(shape=[5, 1]).numpy().tolist() == [[9], [0], [6], [4], [0]]


def test_strings_of_any_rank_are_split_into_bytes():
    assert tf.strings.bytes_split("ab").numpy().tolist() == [b"a", b"b"]
    split = tf.strings.bytes_split([["ab", ""], ["c", "d"]])
    assert split.to_list() == [[[b"a", b"b"], []], [[b"c"], [b"d"]]]
    assert split.shape.as_list() == [2, 2, None]


def test_lengths_of_rows_are_those_of_the_dimension_that_is_asked_for():
    ragged = tf.ragged.constant([[[1], [2, 3]], [], [[4]]])
    assert int(ragged.row_lengths(axis=0)) == 3
    assert ragged.row_lengths().numpy().tolist() == [2, 0, 1]
    assert ragged.row_lengths(axis=-1).to_list() == [[1, 2], [], [1]]
    with pytest.raises(ValueError, match="out of bounds"):
        ragged.row_lengths(axis=3)


def test_operations_of_tensorflow_1_mean_what_they_meant():
    v1 = tf.compat.v1
    x, y = tf.constant([[1, 2], [3, 4]]), tf.constant([[5, 6], [7, 8]])
    assert v1.where([True, False], x, y).numpy().tolist() == [[1, 2], [7, 8]]
    assert tf.where([True, False], x, y).numpy().tolist() == [[1, 6], [3, 8]]
    assert v1.reduce_sum(x, reduction_indices=1, keep_dims=True).numpy().tolist() == [[3], [7]]
    assert v1.argmax(x, dimension=1).numpy().tolist() == [1, 1]
    assert v1.squeeze(v1.expand_dims(x, dim=0), squeeze_dims=[0]).shape == [2, 2]
    split = v1.strings.split(["a b", "c"])
    assert isinstance(split, tf.SparseTensor)
    assert split.dense_shape.numpy().tolist() == [2, 2]
    assert v1.string_split(["a,b;c"], ",;").values.numpy().tolist() == [b"a", b"b", b"c"]
    image = tf.constant([[[0.0], [4.0]]])
    assert v1.image.resize_images(image, [1, 4]).numpy().ravel().tolist() == [0.0, 2.0, 4.0, 4.0]
    assert v1.image.resize_images(image, [1, 3], align_corners=True).numpy().ravel().tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(ValueError, match="both"):
        v1.reduce_sum(x, axis=1, reduction_indices=1)


HUGE = 1 << 46


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.image.resize(tf.ones([1, 2, 2, 3]), [1610637938] * 2),
        lambda: tf.image.resize(tf.ones([2, 2, 3]), [1610637938] * 2, "nearest"),
        lambda: tf.image.resize(tf.ones([2, 2, 3]), [1610637938] * 2, preserve_aspect_ratio=True),
        lambda: tf.compat.v1.image.resize(tf.ones([2, 2, 3]), [1610637938] * 2),
        lambda: tf.image.resize_with_crop_or_pad(tf.ones([2, 2, 3]), 1 << 30, 1 << 30),
        lambda: tf.fill([HUGE], 1.0),
        lambda: tf.zeros([HUGE]),
        lambda: tf.zeros([HUGE], tf.string),
        lambda: tf.ones([HUGE]),
        lambda: tf.constant(1, shape=[HUGE]),
        lambda: tf.tile([1], [HUGE]),
        lambda: tf.repeat([1, 2], HUGE),
        lambda: tf.repeat([1, 2], [HUGE, HUGE]),
        lambda: tf.range(HUGE),
        lambda: tf.range(0.0, float(HUGE)),
        lambda: tf.pad([1], [[HUGE, 0]]),
        lambda: tf.one_hot([1, 2], HUGE),
        lambda: tf.broadcast_to(1, [HUGE]),
        lambda: tf.sequence_mask([1], HUGE),
        lambda: tf.random.uniform([HUGE]),
        lambda: tf.sparse.to_dense(tf.SparseTensor([[0]], [1], [HUGE])),
        lambda: tf.ragged.constant([[1]]).to_tensor(shape=[1, HUGE]),
    ],
)
def test_what_no_memory_holds_is_refused_before_it_is_taken(make: Any):
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.fill([HUGE, HUGE], 1.0),
        lambda: tf.tile([[1, 2]], [HUGE, HUGE]),
        lambda: tf.pad([1], [[2**62, 2**62]]),
        lambda: tf.random.uniform([HUGE, HUGE]),
        lambda: tf.zeros([-1]),
        lambda: tf.one_hot([1], -1),
    ],
)
def test_sizes_that_nothing_has_are_refused(make: Any):
    with pytest.raises(tf.errors.InvalidArgumentError):
        make()


def test_an_operation_that_runs_out_of_memory_says_so_as_tensorflow_does():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    tensor = tf.ones([1 << 24])
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 24), before[1]))
    try:
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"tf\.concat"):
            tf.concat([tensor] * 8, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
