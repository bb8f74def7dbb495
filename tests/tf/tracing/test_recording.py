"""A function that was traced, run for many records at once, answers what it answers for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf
from penstock import _core
from penstock.tf.tensors.batch_values import RecordRows, RowValues, Stacked
from penstock.tf.tracing.recording import INPUT, Untraceable
from penstock.tf.tracing.trace import Trace
from penstock.tf.tracing.vectorize import row_of, run_batch

FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "box": tf.io.FixedLenFeature([4], tf.float32, [0.0, 0.0, 1.0, 1.0]),
    "words": tf.io.VarLenFeature(tf.string),
    "marks": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    "runs": tf.io.RaggedFeature(tf.float32),
}


def records(count: int = 7) -> list[bytes]:
    random = np.random.default_rng(3)
    made = []
    for row in range(count):
        example = tf.train.Example()
        feature = example.features.feature
        feature["image"].bytes_list.value.append(random.integers(0, 256, 4 * 6 * 3).astype(np.uint8).tobytes())
        feature["label"].int64_list.value.append(row % 3)
        if row % 2:
            feature["box"].float_list.value.extend(random.random(4))
        feature["words"].bytes_list.value.extend([b"word"] * (row % 3))
        feature["marks"].int64_list.value.extend(range(row % 4))
        feature["runs"].float_list.value.extend([0.5] * (row % 2))
        made.append(example.SerializeToString())
    return made


def parse(record: Any) -> dict[str, Any]:
    return tf.io.parse_single_example(record, FEATURES)


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
        "centred": (floats - [0.1, 0.2, 0.3]) * tf.expand_dims(tf.expand_dims(box[:3], 0), 0),
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
def test_a_batch_answers_what_each_row_answers(function: Callable[..., Any], count: int):
    made = records(count)
    trace = Trace(function, (INPUT,))
    outputs = run_batch(trace, count, RecordRows(made))
    for row, record in enumerate(made):
        expected = function(tf.constant(record))
        assert_same(row_of(outputs, row), expected)
        assert_same(trace.run(tf.constant(record)), expected)


def assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            assert_same(ours[key], theirs[key])
    elif isinstance(theirs, list | tuple):
        assert type(ours) is type(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(theirs, tf.SparseTensor):
        assert_same((ours.indices, ours.values, ours.dense_shape), (theirs.indices, theirs.values, theirs.dense_shape))
    elif isinstance(theirs, tf.RaggedTensor):
        assert repr(ours) == repr(theirs)
    elif isinstance(theirs, tf.Tensor):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
        assert ours.shape == theirs.shape
    else:
        assert ours == theirs


def test_the_usual_parse_function_stays_in_arrays_all_the_way():
    made = records()
    image, label = run_batch(Trace(tutorial, (INPUT,)), len(made), RecordRows(made))
    assert isinstance(image, Stacked)
    assert isinstance(label, Stacked)
    assert image.array.shape == (7, 4, 6, 3)
    assert image.array.dtype == np.float32


def test_records_may_lie_in_chunks():
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
def test_strings_of_one_length_are_strings_still(function: Callable[..., Any]):
    # The first batch tells that strings are of one length; the others are decoded so, until one is not.
    features = {"image": tf.io.FixedLenFeature([], tf.string)}

    def whole(record: Any) -> Any:
        return function(tf.io.parse_single_example(record, features)["image"])

    trace = Trace(whole, (INPUT,))
    for lengths in ([80, 80, 80], [80, 80], [100, 100], [80, 100, 64], [80]):
        made = images(lengths)
        outputs = run_batch(trace, len(made), RecordRows(made))
        for row, record in enumerate(made):
            assert_same(row_of(outputs, row), whole(tf.constant(record)))


def test_values_of_different_shapes_stay_one_by_one():
    made = records()
    outputs = run_batch(Trace(lambda record: parse(record)["marks"], (INPUT,)), 7, RecordRows(made))
    assert isinstance(outputs, RowValues)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: [y for y in x], "different structures"),  # noqa: C416
        (lambda x: x.numpy(), r"the attribute \.numpy"),
        (lambda x: np.asarray(x), "an array of NumPy"),
        (lambda x: np.sin(x), "NumPy"),
        (lambda x: x.shape[0], r"the attribute \.shape"),
        (lambda x: x + tf.random.uniform([]), "random"),
        (lambda x: tf.image.random_flip_left_right(x), "random"),
        (lambda x: tf.py_function(lambda y: y, [x], tf.int64), "a Python function"),
        (lambda x: f"{x}", "the text"),
        (lambda x: range(x), "an index"),
        (lambda x: tf.unstack(x), "without num"),
    ],
)
def test_what_cannot_be_written_down_says_why(function: Callable[..., Any], reason: str):
    with pytest.raises((Untraceable, TypeError), match=reason):
        Trace(function, (INPUT,))


def test_a_function_that_catches_everything_is_not_believed():
    def sly(x: Any) -> Any:
        try:
            return x + float(x)
        except Exception:
            return x

    with pytest.raises(Untraceable):
        Trace(sly, (INPUT,))


def test_an_error_of_one_row_is_an_error_of_the_batch():
    made = records()
    made[3] = b"no example"
    with pytest.raises(tf.errors.InvalidArgumentError, match="record 3"):
        run_batch(Trace(parse, (INPUT,)), 7, RecordRows(made))


def test_tracing_ends_with_the_trace():
    Trace(lambda x: x + 1, (INPUT,))
    assert (tf.constant(1) + 1).numpy() == 2


def test_several_inputs_in_a_structure():
    trace = Trace(lambda pair, scale: pair["a"] * scale + pair["b"], ({"a": INPUT, "b": INPUT}, 2))
    outputs = run_batch(trace, 3, Stacked(np.arange(3.0)), Stacked(np.ones((3, 2))))
    assert outputs.array.tolist() == [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]]


def decoded(record: Any) -> Any:
    parsed = parse(record)
    return {key: tf.sparse.to_dense(v) if isinstance(v, tf.SparseTensor) else v for key, v in parsed.items()}


def kinds(record: Any) -> Any:
    parsed = parse(record)
    kinds = (tf.Tensor, tf.SparseTensor, tf.RaggedTensor)
    return {key: tf.constant([*(isinstance(v, kind) for kind in kinds), tf.is_tensor(v)]) for key, v in parsed.items()}


@pytest.mark.parametrize("function", [decoded, kinds])
def test_symbols_are_of_the_kind_that_they_stand_for(function: Callable[..., Any]):
    made = records()
    ds = tf.data.Dataset.from_tensor_slices(made).map(function)
    assert "traced" in ds.explain()
    for record, found in zip(made, ds, strict=True):
        assert_same(found, function(tf.constant(record)))


def test_a_kind_that_is_not_known_beforehand_is_asked_of_each_element():
    def plain(x: Any) -> Any:
        return tf.sparse.to_dense(x) if isinstance(x, tf.SparseTensor) else x

    with pytest.raises(Untraceable, match="SparseTensor"):
        Trace(plain, (INPUT,))
    ds = tf.data.Dataset.range(3).map(lambda x: tf.sparse.from_dense(tf.stack([x, int(x)]))).map(plain)
    assert [x.numpy().tolist() for x in ds] == [[0, 0], [1, 1], [2, 2]]
