"""What a dataset answers about itself, and what it refuses."""

from __future__ import annotations

import functools
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock.tf as tf
from penstock.errors import CorruptDataError

Dataset = tf.data.Dataset


def numbers(ds: Any) -> list[int]:
    return [int(element) for element in ds.as_numpy_iterator()]


def test_an_iterator_goes_on_where_it_stands_and_a_new_one_starts_anew():
    ds = Dataset.range(3)
    one, other = iter(ds), iter(ds)
    assert [int(next(one)), int(one.get_next()), int(next(other))] == [0, 1, 0]
    assert [int(rest) for rest in one] == [2]
    with pytest.raises(StopIteration):
        next(one)


def test_elements_are_arrays_for_numpy():
    ((pair, label),) = Dataset.from_tensor_slices(([[1.0, 2.0]], [3])).batch(1)
    assert np.asarray(pair).dtype == np.float32
    assert np.array_equal(pair, [[1.0, 2.0]])
    assert label.numpy().tolist() == [3]


def test_a_shuffle_without_a_seed_gives_every_element_once_in_some_order():
    ds = Dataset.range(1000).shuffle(1000)
    first, second = numbers(ds), numbers(ds)
    assert sorted(first) == sorted(second) == list(range(1000))
    assert first != second


def test_a_cache_calls_functions_once_and_only_a_whole_pass_fills_it():
    calls = []

    def note(x: Any) -> Any:
        calls.append(int(x))
        return x

    ds = Dataset.range(3).map(note).cache()
    calls.clear()
    next(iter(ds))
    assert numbers(ds) == numbers(ds) == [0, 1, 2]
    assert calls == [0, 0, 1, 2]


def test_only_the_elements_that_are_asked_for_are_made():
    made = []

    def generate() -> Any:
        for number in range(100):
            made.append(number)
            yield number

    ds = Dataset.from_generator(generate, output_signature=tf.TensorSpec([], tf.int64))
    assert numbers(ds.map(lambda x: x + 1).take(3)) == [1, 2, 3]
    assert len(made) == 3


def test_batches_are_made_ahead_on_a_thread_and_errors_come_in_their_place():
    makers = set()

    def check(batch: Any) -> Any:
        makers.add(threading.get_ident())
        if batch.numpy()[0] == 6:
            raise tf.errors.InvalidArgumentError("six")
        return batch

    ds = Dataset.range(10).batch(2).map(check).prefetch(2)
    elements = iter(ds)
    assert [next(elements).numpy().tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="six"):
        next(elements)
    assert threading.get_ident() not in makers


def test_the_length_is_known_or_refused():
    assert len(Dataset.range(10).batch(3)) == 4
    with pytest.raises(TypeError, match="infinite"):
        len(Dataset.range(10).repeat())
    with pytest.raises(TypeError, match="unknown"):
        len(Dataset.range(10).filter(lambda x: x > 3))
    assert Dataset.range(0)  # a dataset is true, be it empty


def inverse(x: Any) -> Any:
    if x == 2:
        raise tf.errors.InvalidArgumentError("two")
    return x


@pytest.mark.parametrize("tracing", [True, False])
def test_ignore_errors_leaves_out_what_fails_wherever_it_stands(tracing: bool):
    options = tf.data.Options()
    options.tracing = tracing
    ds = Dataset.range(6).with_options(options).map(inverse)
    assert numbers(ds.ignore_errors()) == [0, 1, 3, 4, 5]
    assert numbers(ds.filter(lambda x: x != 3).ignore_errors()) == [0, 1, 4, 5]
    batches = [batch.numpy().tolist() for batch in ds.batch(2).prefetch(2).ignore_errors()]
    assert batches == ([[0, 1], [4, 5]] if tracing else [[0, 1], [3, 4], [5]])
    assert [int(pair[1]) for pair in Dataset.zip(ds, Dataset.range(6)).ignore_errors()] == [0, 1, 3, 4, 5]
    assert sorted(numbers(ds.shuffle(3).repeat(2).ignore_errors())) == [0, 0, 1, 1, 3, 3, 4, 4, 5, 5]
    assert numbers(ds.take(5).ignore_errors().skip(3))[0] == 4


def test_elements_that_are_left_out_are_logged_if_wanted(caplog: pytest.LogCaptureFixture):
    assert len(list(Dataset.range(3).map(inverse).batch(3).ignore_errors(log_warning=True))) == 0
    assert "two" in caplog.text


def test_the_spec_is_that_of_an_element_that_can_be_had():
    ds = Dataset.range(2, 5).map(lambda x: [inverse(x)]).ignore_errors()
    assert ds.element_spec == (tf.TensorSpec([], tf.int64),)


def test_a_pass_goes_on_behind_an_error_that_was_caught():
    batches = iter(Dataset.range(6).map(inverse).batch(2))
    assert next(batches).numpy().tolist() == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="two"):
        next(batches)
    assert next(batches).numpy().tolist() == [4, 5]


def test_damage_raises_behind_the_records_before_it(tmp_path: Path):
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(3):
            writer.write(bytes([number]) * 10)
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)
    whole = tf.data.TFRecordDataset(path)
    for ds in (
        whole,
        whole.map(lambda record: record),
        whole.map(lambda record: record if len(record.numpy()) else ""),
    ):
        records = iter(ds)
        assert [next(records).numpy()[0] for _ in range(2)] == [0, 1]
        with pytest.raises(CorruptDataError) as raised:
            next(records)
        assert isinstance(raised.value, tf.errors.DataLossError)
        assert raised.value.record == 2


@pytest.mark.parametrize(
    "refused",
    [
        lambda: Dataset.range(3).save("somewhere", checkpoint_args={}),
        lambda: Dataset.range(3).snapshot("folder"),
    ],
)
def test_what_is_not_there_says_so(refused: Any):
    with pytest.raises((tf.errors.UnimplementedError, AttributeError), match=r"not part of penstock\.tf"):
        refused()


def test_batches_of_different_shapes_name_the_component():
    ds = Dataset.range(1, 3).map(lambda x: (x, tf.range(x))).batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"component 1.* \[1\] and element 1 had shape \[2\]"):
        list(ds)


def test_a_generator_is_held_to_what_was_said_of_it():
    signature = {"a": tf.TensorSpec([None], tf.float32)}
    good = Dataset.from_generator(lambda: iter([{"a": [1, 2]}, {"a": np.zeros(0)}]), output_signature=signature)
    assert [element["a"].shape.as_list() for element in good] == [[2], [0]]
    assert good.element_spec == signature
    for wrong in ({"a": 1.0}, {"b": [1.0]}, [1.0]):
        bad = Dataset.from_generator(lambda wrong=wrong: iter([wrong]), output_signature=signature)
        with pytest.raises((TypeError, ValueError)):
            list(bad)


def test_strings_are_written_as_records_by_the_writer_of_old_tutorials(tmp_path: Path):
    path = str(tmp_path / "some.tfrecord")
    ds = Dataset.from_generator(lambda: iter([b"one", b"two"]), output_types=tf.string, output_shapes=())
    tf.data.experimental.TFRecordWriter(path, "GZIP").write(ds)
    assert list(tf.data.TFRecordDataset(path, "GZIP").as_numpy_iterator()) == [b"one", b"two"]
    with pytest.raises(TypeError, match="string"):
        tf.data.experimental.TFRecordWriter(path).write(Dataset.range(2))


def test_a_partial_function_is_told_by_its_name():
    def add(x: Any, much: int) -> Any:
        return x + much

    assert "map(add): traced" in Dataset.range(2).map(functools.partial(add, much=2)).explain()
