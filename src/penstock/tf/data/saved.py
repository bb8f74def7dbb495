"""``Dataset.save`` and ``load``: elements on disk, in TensorFlow's layout.

``PATH/dataset_spec.pb`` says what elements are like, ``PATH/snapshot.metadata`` which folder beside it holds them.
There, each shard is a folder of TFRecord files, whose records are TensorProtos: those of one element follow each other.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from penstock.codec.tensor_proto import parse_tensor, serialize_tensor
from penstock.files import write_whole
from penstock.reader import RecordReader
from penstock.tf.convert import as_array
from penstock.tf.data.elements import arguments_of
from penstock.tf.data.node import Node
from penstock.tf.data.origins import ELEMENTS
from penstock.tf.data.spec_proto import Metadata, decode_metadata, decode_spec, encode_metadata, encode_spec
from penstock.tf.errors import DataLossError, NotFoundError, UnimplementedError, tensorflow_errors
from penstock.tf.io import gfile
from penstock.tf.shape import TensorShape
from penstock.tf.specs import TensorSpec
from penstock.tf.structure import filled, leaves, map_structure
from penstock.tf.tensor import Tensor
from penstock.writer import RecordWriter

_SPEC, _METADATA = "dataset_spec.pb", "snapshot.metadata"


def write_elements(
    path: str, elements: Iterable[Any], spec: Callable[[], Any], compression: str | None, shard: Any
) -> None:
    """Write elements; ``spec`` is asked where there are none. What was saved there before is replaced at the end."""
    run = str(secrets.randbits(64))
    found, count, packed = None, 0, _compression_of(compression)
    writers: dict[int, RecordWriter] = {}
    with tensorflow_errors(), ExitStack() as open_writers:
        for element in elements:
            element = in_order(element)
            found = map_structure(_spec_of, element) if found is None else _widened(found, element)
            number = 0 if shard is None else int(as_array(shard(*arguments_of(element))))
            if number not in writers:
                writers[number] = open_writers.enter_context(_writer(path, run, number, packed))
            writers[number].write_many([serialize_tensor(tensor._array) for tensor in leaves(element)])
            count += 1
        found = in_order(spec()) if found is None else found
        described = encode_spec(found)
    with tensorflow_errors():
        gfile.makedirs(path)
        write_whole(os.path.join(path, _SPEC), described)
        dtypes = [leaf.dtype.as_datatype_enum for leaf in leaves(found)]
        metadata = encode_metadata(Metadata(run, count), dtypes, time.time_ns() // 1000)
        write_whole(os.path.join(path, _METADATA), metadata)


def _writer(path: str, run: str, shard: int, compression: str) -> RecordWriter:
    folder = os.path.join(path, run, f"{shard:08d}.shard")
    gfile.makedirs(folder)
    return RecordWriter(os.path.join(folder, f"{0:08d}.snapshot"), compression=compression)


class Saved:
    """What was saved under a path."""

    def __init__(self, path: str, spec: Any, compression: str | None) -> None:
        self.spec = in_order(decode_spec(_content(path, _SPEC)) if spec is None else spec)
        metadata = decode_metadata(_content(path, _METADATA))
        self.elements = metadata.elements
        run = os.path.join(path, metadata.run)
        names = sorted(gfile.listdir(run)) if gfile.exists(run) else []  # there is no folder without elements
        folders = [os.path.join(run, name) for name in names if name.endswith(".shard")]
        self.shards = [SavedShard(folder, self.spec, _compression_of(compression)) for folder in folders]


class SavedShard(Node):
    """The elements of one shard."""

    origin = ELEMENTS

    def __init__(self, folder: str, spec: Any, compression: str) -> None:
        self._folder = folder
        self._spec = spec
        self._compression = compression

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        specs = list(leaves(self._spec))
        with tensorflow_errors():
            for name in sorted(gfile.listdir(self._folder)):
                path = os.path.join(self._folder, name)
                records = iter(RecordReader(path, compression=self._compression))
                for first in records:
                    parts = [first, *(next(records, None) for _ in specs[1:])]
                    if parts[-1] is None:
                        raise DataLossError(f"{path} ends within an element")
                    yield filled(self._spec, map(_tensor, parts, specs))

    def spec(self) -> Any:
        """Answer what was said when they were saved."""
        return self._spec


def in_order(structure: Any) -> Any:
    """Answer a structure with the keys of its dicts in order, in which TensorFlow goes through them."""
    if isinstance(structure, dict):
        return {key: in_order(structure[key]) for key in sorted(structure)}
    return tuple(map(in_order, structure)) if type(structure) is tuple else structure


def _compression_of(compression: str | None) -> str:
    if compression not in (None, "NONE", "GZIP"):
        raise UnimplementedError(f"penstock.tf saves data sets as they are or with GZIP, and not with {compression}")
    return "GZIP" if compression == "GZIP" else ""


def _content(path: str, name: str) -> bytes:
    full = os.path.join(path, name)
    if not gfile.exists(full):
        raise NotFoundError(f"{path} is no saved data set: there is no {full}")
    with tensorflow_errors(), gfile.GFile(full, "rb") as file:
        content: bytes = file.read()
    return content


def _tensor(record: Any, spec: TensorSpec) -> Tensor:
    array = parse_tensor(record, "bytes" if spec.dtype.name == "string" else spec.dtype.name)
    if not spec.shape.is_compatible_with(array.shape):
        raise DataLossError(f"found a tensor of shape {array.shape} where {spec.shape} was saved")
    return Tensor(array)


def _spec_of(value: Any) -> TensorSpec:
    if not isinstance(value, Tensor):
        raise UnimplementedError(
            f"Dataset.save keeps dense tensors, and not a {type(value).__name__}, which TensorFlow stores as a variant"
        )
    return TensorSpec.from_tensor(value)


def _widened(spec: Any, element: Any) -> Any:
    """Answer a spec that holds for one element more."""
    found = map_structure(_spec_of, element)
    if repr(map_structure(lambda leaf: leaf.dtype, found)) != repr(map_structure(lambda leaf: leaf.dtype, spec)):
        raise TypeError(f"the elements of a data set that is saved are alike, and found {spec} and {found}")
    return filled(spec, (_either(one, other) for one, other in zip(leaves(spec), leaves(found), strict=True)))


def _either(one: TensorSpec, other: TensorSpec) -> TensorSpec:
    if one.shape.is_compatible_with(other.shape) and one.shape.is_fully_defined():
        return one
    if one.shape.rank is None or one.shape.rank != other.shape.rank:
        return TensorSpec(TensorShape(None), one.dtype)
    sizes = zip(one.shape.as_list(), other.shape.as_list(), strict=True)
    return TensorSpec([a if a == b else None for a, b in sizes], one.dtype)
