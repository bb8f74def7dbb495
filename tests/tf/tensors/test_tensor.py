"""Tensors convert to NumPy without copies, and behave like TensorFlow's."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import penstock.tf as tf


def test_numpy_shares_the_memory_of_tensors():
    array = np.arange(6.0).reshape(2, 3)
    tensor = tf.convert_to_tensor(array)
    assert np.shares_memory(np.asarray(tensor), array)
    np.testing.assert_array_equal(np.mean(tensor, axis=0), [1.5, 2.5, 3.5])
    assert np.zeros(tensor.shape).shape == (2, 3)


def test_the_numpy_method_returns_a_copy():
    tensor = tf.constant([1, 2])
    tensor.numpy()[0] = 7
    assert tensor.numpy().tolist() == [1, 2]


def test_a_constant_is_a_copy_of_its_array():
    array = np.zeros(2)
    tensor = tf.constant(array)
    array[0] = 7
    assert tensor.numpy().tolist() == [0.0, 0.0]


def test_dlpack():
    assert np.from_dlpack(tf.constant([1.5, 2.5])).tolist() == [1.5, 2.5]


def test_scalars_convert_to_python_and_numpy_values():
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
def test_tensors_have_the_repr_of_tensorflow(value, shown):
    assert repr(value) == shown


def test_operators_with_arrays_on_the_left():
    assert isinstance(np.array([1, 2]) + tf.constant([1, 2]), tf.Tensor)
    assert (np.float32(2) * tf.constant([1.5])).numpy().tolist() == [3.0]


def test_tensors_pickle_and_copy():
    for tensor in (tf.constant([[1, 2]]), tf.constant(["a"]), tf.ragged.constant([[1], []])):
        assert repr(pickle.loads(pickle.dumps(tensor))) == repr(tensor)
    assert copy.deepcopy(tf.constant(1)).numpy() == 1
    assert pickle.loads(pickle.dumps(tf.float32)) is tf.float32
