"""A traced function that runs for many records at once returns what it returns for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tf_examples import assert_same, parse, records

import penstock.tf as tf
from penstock import _core
from penstock.tf.tensors.batch_values import RecordRows, RowValues, Stacked
from penstock.tf.tracing.recording import INPUT
from penstock.tf.tracing.trace import Trace
from penstock.tf.tracing.vectorize import row_of, run_batch


def tutorial(record: Any) -> Any:
    parsed = parse(record)
    image = tf.reshape(tf.io.decode_raw(parsed["image"], tf.uint8), [4, 6, 3])
    image = tf.cast(image, tf.float32) / 255.0
    return image, tf.one_hot(parsed["label"], 3)


def many_operations(record: Any) -> Any:
    parsed = parse(record)
    image = tf.reshape(tf.io.decode_raw(parsed["image"], tf.uint8), (4, 6, -1))
    floats = tf.image.convert_image_dtype(image, tf.float32)
    box = parsed["box"]
    return {
        "channels": tf.transpose(image, [2, 0, 1])[0, ..., tf.newaxis],
        "turned": tf.transpose(image),
        "centered": (floats - [0.1, 0.2, 0.3]) * tf.expand_dims(tf.expand_dims(box[:3], 0), 0),
        "scaled": floats * box[0] + 1,
        "resized": tf.image.resize(image, [2, 3]),
        "standard": tf.image.per_image_standardization(image),
        "cropped": tf.image.central_crop(image, 0.5),
        "flipped": tf.image.flip_left_right(image),
        "both": tf.stack([box, box * 2], axis=-1),
        "longer": tf.concat([box, [1.0]], 0),
        "joined": tf.concat([box, box], axis=-1),
        "mean": tf.reduce_mean(floats),
        "largest": tf.reduce_max(image, axis=-1),
        "exponential": tf.exp(box),
        "big": parsed["label"] > 1,
        "chosen": tf.where(parsed["label"] > 1, box, -box),
        "where": tf.where(box > 0.5),
        "squeezed": tf.squeeze(tf.expand_dims(parsed["label"], 0)),
        "text": tf.strings.join([tf.strings.as_string(parsed["label"]), ".png"]),
        "bytes": tf.strings.length(parsed["image"]),
        "shape": tf.shape(image),
        "dense words": tf.sparse.to_dense(parsed["words"], default_value="-"),
        "marks": parsed["marks"] * 2,
        "runs": parsed["runs"],
        "clipped": tf.clip_by_value(box, 0.2, 0.8),
        "checked": tf.ensure_shape(image, [4, 6, 3]),
        "constant": tf.constant([1, 2]),
        "plain": 5,
    }


def lengths_differ(record: Any) -> Any:
    return tf.io.decode_raw(tf.strings.substr(record, 0, 8 + tf.strings.length(record) % 8), tf.uint8)


def several_results(record: Any) -> Any:
    parsed = parse(record)
    first, second = tf.split(parsed["box"], 2)
    left, right = tf.unstack(first, num=2)
    values, places = tf.unique(tf.concat([parsed["box"], parsed["box"]], 0))
    return first, tf.split(parsed["box"], [1, 3])[1], left - right, second, values, places


def nested(record: Any) -> Any:
    parsed = parse(record)
    return (parsed["label"], [parsed["box"], {"words": parsed["words"]}])


@pytest.mark.parametrize(
    "function", [parse, tutorial, many_operations, several_results, lengths_differ, nested, lambda record: record]
)
@pytest.mark.parametrize("count", [1, 7])
def test_a_batch_returns_what_each_row_returns(function: Callable[..., Any], count: int):
    made = records(count)
    trace = Trace(function, (INPUT,))
    outputs = run_batch(trace, count, RecordRows(made))
    for row, record in enumerate(made):
        expected = function(tf.constant(record))
        assert_same(row_of(outputs, row), expected)
        assert_same(trace.run(tf.constant(record)), expected)


def test_the_usual_parse_function_stays_stacked():
    made = records()
    image, label = run_batch(Trace(tutorial, (INPUT,)), len(made), RecordRows(made))
    assert isinstance(image, Stacked)
    assert isinstance(label, Stacked)
    assert image.array.shape == (7, 4, 6, 3)
    assert image.array.dtype == np.float32


def test_records_may_be_in_chunks():
    made = records()
    chunk = _core.chunk_from_records(made)
    outputs = run_batch(Trace(lambda record: (record, parse(record)["label"]), (INPUT,)), 7, RecordRows([chunk]))
    assert outputs[0].array.tolist() == made
    assert outputs[1].array.tolist() == [0, 1, 2, 0, 1, 2, 0]


def images(lengths: list[int]) -> list[bytes]:
    made = []
    for length in lengths:
        example = tf.train.Example()
        example.features.feature["image"].bytes_list.value.append(bytes(range(length)))
        made.append(example.SerializeToString())
    return made


@pytest.mark.parametrize(
    "function",
    [
        lambda image: tf.io.decode_raw(image, tf.uint8),
        lambda image: tf.io.decode_raw(image, tf.float32),
        lambda image: tf.io.decode_raw(image, tf.bool),
        lambda image: tf.io.decode_raw(image, tf.int16, little_endian=False),
        lambda image: tf.io.decode_raw(image, tf.uint8, fixed_length=70),
        lambda image: (image, tf.strings.length(image), tf.io.decode_raw(image, tf.int32)),
        lambda image: image if tf.strings.length(image) > 99 else tf.strings.substr(image, 0, 4),
    ],
)
def test_strings_of_one_length_behave_like_any_string(function: Callable[..., Any]):
    # The first batch shows strings of one length; later ones are decoded as such until a length differs.
    features = {"image": tf.io.FixedLenFeature([], tf.string)}

    def whole(record: Any) -> Any:
        return function(tf.io.parse_single_example(record, features)["image"])

    trace = Trace(whole, (INPUT,))
    for lengths in ([80, 80, 80], [80, 80], [100, 100], [80, 100, 64], [80]):
        made = images(lengths)
        outputs = run_batch(trace, len(made), RecordRows(made))
        for row, record in enumerate(made):
            assert_same(row_of(outputs, row), whole(tf.constant(record)))


def test_values_of_different_shapes_are_not_stacked():
    made = records()
    outputs = run_batch(Trace(lambda record: parse(record)["marks"], (INPUT,)), 7, RecordRows(made))
    assert isinstance(outputs, RowValues)


def test_an_error_of_one_row_fails_the_batch():
    made = records()
    made[3] = b"no example"
    with pytest.raises(tf.errors.InvalidArgumentError, match="record 3"):
        run_batch(Trace(parse, (INPUT,)), 7, RecordRows(made))


def test_several_inputs_in_a_structure():
    trace = Trace(lambda pair, scale: pair["a"] * scale + pair["b"], ({"a": INPUT, "b": INPUT}, 2))
    outputs = run_batch(trace, 3, Stacked(np.arange(3.0)), Stacked(np.ones((3, 2))))
    assert outputs.array.tolist() == [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]]
