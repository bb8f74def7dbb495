"""``tf.train``: protobuf messages that the decoder reads."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
import penstock.tf as tf


def example() -> object:
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[7, -1])),
                "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"seven"])),
                "score": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5])),
            }
        )
    )


def test_messages_survive_serialization_and_decode():
    data = example().SerializeToString()
    again = tf.train.Example.FromString(data)
    assert again == example()
    assert again.features.feature["name"].bytes_list.value[0] == b"seven"
    schema = ps.Schema({"label": ps.Feature("int64", (2,)), "score": "float32"})
    batch = ps.Decoder(schema).decode([data])
    np.testing.assert_array_equal(batch["label"], [[7, -1]])


def test_text_form():
    text = str(tf.train.Feature(int64_list=tf.train.Int64List(value=[3])))
    assert text == "int64_list {\n  value: 3\n}\n"


def test_a_feature_holds_one_kind_of_list():
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
    assert feature.WhichOneof("kind") == "int64_list"
    feature.float_list.value.append(1.5)
    assert feature.WhichOneof("kind") == "float_list"


def test_sequence_examples():
    message = tf.train.SequenceExample()
    message.context.feature["id"].bytes_list.value.append(b"x")
    message.feature_lists.feature_list["steps"].feature.add().int64_list.value.extend([1, 2])
    data = message.SerializeToString()
    schema = ps.Schema({"id": "bytes"}, sequence={"steps": ps.Feature("int64", (2,))})
    assert ps.Decoder(schema).decode([data])["steps"].to_list() == [[[1, 2]]]
    assert tf.train.SequenceExample.FromString(data) == message


def test_lists_reject_values_of_another_type():
    with pytest.raises(TypeError):
        tf.train.Int64List(value=[1.5])
    with pytest.raises(TypeError):
        tf.train.BytesList(value=["text"])


def test_messages_are_not_in_the_default_pool():
    descriptor_pool = pytest.importorskip("google.protobuf.descriptor_pool")
    assert tf.train.Example.DESCRIPTOR.full_name == "tensorflow.Example"
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("tensorflow.Example")
