"""``cache()`` in memory and in a file, which is read only while it matches the dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock.tf as tf

Dataset = tf.data.Dataset


def numbers(ds: Any) -> list[int]:
    return [int(element) for element in ds.as_numpy_iterator()]


def noting(calls: list[int]) -> Callable[[Any], Any]:
    class Note:
        """A function with a state that counts by its type alone."""

        __slots__ = ()

        def __call__(self, x: Any) -> Any:
            calls.append(int(x))
            return x + 10

    return Note()


def test_a_cache_in_memory_calls_functions_once_after_a_complete_iteration():
    calls = []

    def note(x: Any) -> Any:
        calls.append(int(x))
        return x

    ds = Dataset.range(3).map(note).cache()
    calls.clear()
    next(iter(ds))
    assert numbers(ds) == numbers(ds) == [0, 1, 2]
    assert calls == [0, 0, 1, 2]


def test_the_first_complete_iteration_writes_the_file_that_later_datasets_read(tmp_path: Path):
    calls: list[int] = []
    note = noting(calls)

    def made() -> Any:
        return Dataset.range(3).map(note).cache(str(tmp_path / "deep" / "cache"))

    calls.clear()
    ds = made()
    abandoned = iter(ds)
    next(abandoned)
    del abandoned
    assert list((tmp_path / "deep").iterdir()) == []
    assert numbers(ds) == numbers(ds) == numbers(made()) == [10, 11, 12]
    assert calls == [0, 0, 1, 2]


def test_a_cache_in_memory_is_complete_with_its_last_element_and_one_in_a_file_with_the_end(tmp_path: Path):
    def orders(ds: Any, count: int) -> int:
        return len({tuple(numbers(ds.take(count))) for _ in range(9)})

    shuffled = Dataset.range(20).shuffle(20)
    assert orders(shuffled.cache(), 20) == 1
    assert orders(shuffled.cache().batch(20).unbatch(), 20) == 1
    assert orders(shuffled.cache(), 19) > 1
    assert orders(shuffled.filter(lambda x: x >= 0).cache(), 20) > 1  # how many there are is not known
    assert orders(shuffled.cache(tmp_path / "taken"), 20) > 1
    assert orders(shuffled.cache(tmp_path / "whole"), 21) == 1


def test_the_first_complete_iteration_fills_a_cache():
    ds = Dataset.range(20).shuffle(20).cache()
    one, other = ds.as_numpy_iterator(), ds.as_numpy_iterator()
    next(other)
    first = [int(element) for element in one]
    assert len(list(other)) == 19
    assert numbers(ds) == first


def test_zip_completes_caches_of_equal_length(tmp_path: Path):
    shuffled = Dataset.range(20).shuffle(20)
    for cached in (shuffled.filter(lambda x: x >= 0).cache(), shuffled.cache(tmp_path / "cache")):
        ds = Dataset.zip(Dataset.range(20), cached).map(lambda place, x: x)
        assert numbers(ds) == numbers(ds)


def test_every_kind_of_element_is_restored(tmp_path: Path):
    ragged = tf.ragged.constant([[[1], []], [[2, 3]]])
    sparse = tf.SparseTensor([[0, 1]], [b"x"], [2, 3])
    element = {"pair": (tf.constant([1.5]), tf.constant(b"s")), "ragged": ragged, "sparse": sparse, "no": ()}
    ds = Dataset.from_tensors(element).cache(tmp_path / "cache")
    list(ds)
    (found,) = ds
    assert found["pair"][0].numpy().tolist() == [1.5]
    assert found["pair"][1].numpy() == b"s"
    assert found["ragged"].to_list() == [[[1], []], [[2, 3]]]
    assert tf.sparse.to_dense(found["sparse"]).numpy().tolist() == [[b"", b"x", b""], [b"", b"", b""]]
    assert found["no"] == ()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_numbers_of_every_dtype_are_restored(tmp_path: Path, dtype: str, shape: tuple[int, ...]):
    element = tf.cast(tf.ones(shape, tf.int32), dtype)
    ds = Dataset.from_tensors(element).cache(tmp_path / "cache")
    (written,), (found,) = ds, ds
    assert (found.dtype, found.shape) == (written.dtype, written.shape) == (element.dtype, element.shape)
    assert found.numpy().tolist() == element.numpy().tolist()


def test_a_cache_file_omits_elements_that_fail(tmp_path: Path):
    ds = Dataset.range(4).map(lambda x: 6 // (x - 2)).cache(tmp_path / "cache")
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(ds)
    assert list(tmp_path.iterdir()) == []
    assert numbers(ds.ignore_errors()) == numbers(ds) == [-3, -6, 6]


def write(path: Path, records: list[bytes]) -> None:
    with tf.io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


def test_a_damaged_file_and_unsupported_elements_raise(tmp_path: Path):
    ds = Dataset.range(4).cache(tmp_path / "cache")
    list(ds)
    (file,) = tmp_path.iterdir()
    records = [record.numpy() for record in tf.data.TFRecordDataset(file)]
    for kept in (records[:-1], [b"else", *records[1:]], [records[0], b"[]", *records[1:]], [records[0], b"\xff"], []):
        write(file, kept)
        with pytest.raises(tf.errors.DataLossError):
            list(ds)
    with pytest.raises(tf.errors.UnimplementedError, match="cache\\(filename\\) stores tensors"):
        list(Dataset.range(4).window(2).cache(tmp_path / "windows"))


def test_a_file_of_another_version_raises_with_the_version(tmp_path: Path):
    ds = Dataset.range(2).cache(tmp_path / "cache")
    list(ds)
    (file,) = tmp_path.iterdir()
    header, *elements = (record.numpy() for record in tf.data.TFRecordDataset(file))
    write(file, [header.replace(b'"version": 3', b'"version": 2'), *elements])
    with pytest.raises(tf.errors.DataLossError, match=r"cache\.cache cannot be read: .* version 2;.* Delete it"):
        list(ds)
