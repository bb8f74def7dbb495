"""Functions with effects: each element calls Python functions and draws random values once, in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def untraced(ds: Any) -> Any:
    options = tf.data.Options()
    options.tracing = False
    return ds.with_options(options)


class Numbered:
    """A Python function that numbers its calls."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def __call__(self, number: Any) -> int:
        self.given.append(int(number))
        return 100 * len(self.given) + int(number)


def test_a_python_function_is_called_in_the_order_of_elements_and_not_ahead():
    numbered = Numbered()
    ds = Dataset.range(50).map(lambda x: (x * 2, tf.py_function(numbered, [x], tf.int64)))
    assert "traced, for many elements in one call; tf.py_function for each, in order" in ds.explain()
    elements = iter(ds)
    assert [tuple(map(int, next(elements))) for _ in range(4)] == [(0, 100), (2, 201), (4, 302), (6, 403)]
    assert numbered.given == [0, 1, 2, 3]
    numbered.given.clear()
    (batch,) = ds.map(lambda double, made: made).shuffle(8, seed=3).batch(5).take(1)
    assert numbered.given == list(range(len(numbered.given)))
    assert [int(made) for made in batch] == [100 * (made % 100 + 1) + made % 100 for made in map(int, batch)]


def one_random_value(x: Any) -> Any:
    return tf.cast(x, tf.float32) + tf.random.uniform([])


def two_random_values(x: Any) -> Any:
    low = tf.random.uniform([2])
    return {"low": low, "between": tf.random.uniform([], tf.reduce_min(low), tf.reduce_max(low)), "x": x}


def condition_on_a_random_value(x: Any) -> Any:
    numbers = tf.stack([x, x + 1, x + 2])
    return numbers[::-1] if tf.random.uniform([]) > 0.5 else numbers


def random_value_on_one_branch(x: Any) -> Any:
    return tf.random.uniform([]) if x > 4 else tf.cast(x, tf.float32)


def random_values_on_all_branches(x: Any) -> Any:
    noise = tf.random.normal([2])
    if x % 3 == 0:
        noise = noise + tf.random.uniform([2])
    elif noise[0] > 0.0:
        noise = noise * tf.random.uniform([]) + tf.cast(x, tf.float32)
    return tf.stack([noise, noise * 2]), x + 1


def random_values_of_varying_sizes(x: Any) -> Any:
    return tf.random.shuffle(tf.range(x)), tf.numpy_function(lambda y: [y + 1, y], [x], [tf.int64, tf.int64])


FUNCTIONS = [
    one_random_value,
    two_random_values,
    condition_on_a_random_value,
    random_value_on_one_branch,
    random_values_on_all_branches,
    random_values_of_varying_sizes,
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "pipeline",
    [
        lambda ds, function: ds.map(function),
        lambda ds, function: ds.map(function).shuffle(30, seed=1).take(45),
        lambda ds, function: ds.map(lambda x: x + tf.random.uniform([], 0, 9, tf.int64)).map(function),
        lambda ds, function: ds.map(function).shuffle(7, seed=2).padded_batch(8),
    ],
)
def test_traced_and_untraced_functions_draw_the_same_values(function: Any, pipeline: Callable[..., Any]):
    def drawn(ds: Any) -> str:
        tf.random.set_seed(5)
        made = pipeline(ds, function)
        return repr([list(made), list(made)])

    ds = Dataset.range(50)
    assert "for each, in order" in pipeline(ds, function).explain()
    assert drawn(ds) == drawn(untraced(ds))


# Drawn by TensorFlow 2.21; interop compares many more.
DRAWN = [0.08955085277557373, 0.2652236223220825, 0.6327180862426758, 0.28387653827667236, 0.06718099117279053]


@pytest.mark.parametrize("prepared", [lambda ds: ds, untraced])
def test_an_operation_with_a_seed_draws_new_values_for_each_element(prepared: Callable[[Any], Any]):
    ds = prepared(Dataset.range(3)).map(lambda x: tf.random.uniform([], seed=11))
    assert [float(x) for x in ds] == DRAWN[:3]
    assert [float(x) for x in ds] == DRAWN[:3]
    assert [float(x) for x in ds.repeat(2).take(5)] == DRAWN
    assert [batch.numpy().tolist() for batch in ds.batch(2).prefetch(1)] == [DRAWN[:2], DRAWN[2:3]]


@pytest.mark.parametrize("prepared", [lambda ds: ds, untraced])
def test_operations_with_one_seed_change_an_image_and_its_mask_alike(prepared: Callable[[Any], Any]):
    def augmented(x: Any) -> Any:
        image, mask = tf.constant([[[0], [1]]]), tf.constant([[[2], [3]]])
        return tuple(tf.image.random_flip_left_right(one, seed=42) for one in (image, mask))

    pairs = [(int(image[0, 0, 0]), int(mask[0, 0, 0])) for image, mask in prepared(Dataset.range(20)).map(augmented)]
    assert set(pairs) == {(0, 2), (1, 3)}


def test_functions_made_for_each_element_continue_the_random_state():
    ds = Dataset.range(2).flat_map(lambda x: Dataset.range(2).map(lambda y: tf.random.uniform([], seed=11)))
    assert [float(x) for x in ds] == DRAWN[:4]
    assert [float(x) for x in ds] == DRAWN[:4]


def test_the_global_seed_is_read_when_map_is_called():
    tf.random.set_seed(5)
    ds = Dataset.range(3).map(lambda x: tf.random.uniform([]))
    tf.random.set_seed(6)
    assert [float(x) for x in ds] == [0.18286478519439697, 0.6730766296386719, 0.9363871812820435]


def test_a_shuffle_keeps_elements_of_different_sizes_intact():
    ds = Dataset.range(70).map(lambda x: (tf.range(x % 3), tf.py_function(lambda y: int(y) % 2, [x], tf.int64)))
    rows = [(row.numpy().tolist(), int(odd)) for row, odd in ds.shuffle(70, seed=4)]
    assert sorted(rows) == sorted((list(range(x % 3)), x % 2) for x in range(70))


def test_an_error_keeps_its_position_and_the_iteration_continues():
    def checked(number: Any) -> int:
        if int(number) == 3:
            raise ValueError("three")
        return int(number)

    elements = iter(Dataset.range(6).map(lambda x: tf.py_function(checked, [x], tf.int64) * 10))
    assert [int(next(elements)) for _ in range(3)] == [0, 10, 20]
    with pytest.raises(ValueError, match="three"):
        next(elements)
    assert [int(rest) for rest in elements] == [40, 50]


def test_a_bad_record_does_not_affect_others(tmp_path: Path):
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(6):
            feature = {"x": tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))}
            message = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
            writer.write(b"no example" if number == 4 else message)

    def parse(record: Any) -> Any:
        x = tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([], tf.int64)})["x"]
        return tf.py_function(lambda y: int(y) + 1, [x], tf.int64), record

    ds = tf.data.TFRecordDataset(path).map(parse).ignore_errors()
    assert [int(x) for x, _ in ds] == [1, 2, 3, 4, 6]
    assert all(tf.train.Example.FromString(record.numpy()).IsInitialized() for _, record in ds)
