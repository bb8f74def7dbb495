"""``tf.compat.v1``: operations have the meaning of TensorFlow 1."""

from __future__ import annotations

import pytest

import penstock.tf as tf


def test_operations_have_the_arguments_and_meaning_of_tensorflow_1():
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


def test_names_of_data_code_of_tensorflow_1():
    v1 = tf.compat.v1
    dataset = v1.data.Dataset.range(2).map(lambda x: v1.SparseTensorValue([[0]], tf.reshape(x, [1]), [2]))
    assert [v1.sparse_tensor_to_dense(element).numpy().tolist() for element in dataset] == [[0, 0], [1, 0]]
    assert v1.sparse_to_dense([1, 3], [4], 7).numpy().tolist() == [0, 7, 0, 7]
    assert v1.string_to_number(["2"], v1.int32).numpy().tolist() == [2]
    assert v1.py_func(lambda x: x + 1, [tf.constant(1)], tf.int32).numpy() == 2
    v1.logging.info("read %d records", 3)
