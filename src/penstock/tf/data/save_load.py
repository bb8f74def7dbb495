"""``Dataset.save`` and ``load``: elements in a folder, in TensorFlow's layout.

``PATH/dataset_spec.pb`` contains the specs of elements, ``PATH/snapshot.metadata`` the name of the folder next to it
that contains the elements. In it, each shard is a folder of TFRecord files. Their records are TensorProtos, and those
of one element are consecutive.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from penstock.codec.tensor_proto import parse_tensor, serialize_tensor
from penstock.errors import MalformedExampleError
from penstock.protobuf import BYTES, VARINT, read_fields, write_field, write_varint
from penstock.records.reader import RecordReader
from penstock.records.writer import RecordWriter
from penstock.storage import write_whole
from penstock.tf.data.node import ELEMENTS, Dependencies, Node, arguments_of
from penstock.tf.errors import DataLossError, NotFoundError, UnimplementedError, tensorflow_errors
from penstock.tf.io import gfile
from penstock.tf.tensors.convert import as_array
from penstock.tf.tensors.dtypes import as_dtype
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tensors.structure import filled, leaves, map_structure
from penstock.tf.tensors.tensor import Tensor

_SPEC, _METADATA = "dataset_spec.pb", "snapshot.metadata"


def write_elements(
    path: str, elements: Iterable[Any], spec: Callable[[], Any], compression: str | None, shard_func: Any
) -> None:
    """Write elements, and replace what was saved there before at the end; ``spec`` is called where there are none."""
    run = str(secrets.randbits(64))
    found, count, kind = None, 0, _compression_of(compression)
    writers: dict[int, RecordWriter] = {}
    with tensorflow_errors(), ExitStack() as open_writers:
        for element in elements:
            element = sort_keys(element)
            found = map_structure(_spec_of, element) if found is None else _widen(found, element)
            number = 0 if shard_func is None else int(as_array(shard_func(*arguments_of(element))))
            if number not in writers:
                writers[number] = open_writers.enter_context(_writer(path, run, number, kind))
            writers[number].write_many([serialize_tensor(tensor._array) for tensor in leaves(element)])
            count += 1
        found = sort_keys(spec()) if found is None else found
        encoded_spec = encode_spec(found)
    with tensorflow_errors():
        gfile.makedirs(path)
        write_whole(os.path.join(path, _SPEC), encoded_spec)
        dtypes = [leaf.dtype.as_datatype_enum for leaf in leaves(found)]
        metadata = encode_metadata(Metadata(run, count), dtypes, time.time_ns() // 1000)
        write_whole(os.path.join(path, _METADATA), metadata)


def _writer(path: str, run: str, shard: int, compression: str) -> RecordWriter:
    folder = os.path.join(path, run, f"{shard:08d}.shard")
    gfile.makedirs(folder)
    return RecordWriter(os.path.join(folder, f"{0:08d}.snapshot"), compression=compression)


class SavedDataset:
    """A saved dataset: its specs, its number of elements and its shards."""

    def __init__(self, path: str, spec: Any, compression: str | None) -> None:
        self.spec = sort_keys(decode_spec(_read(path, _SPEC)) if spec is None else spec)
        metadata = decode_metadata(_read(path, _METADATA))
        self.elements = metadata.elements
        run = os.path.join(path, metadata.run)
        names = sorted(gfile.listdir(run)) if gfile.exists(run) else []  # without elements there is no folder
        folders = [os.path.join(run, name) for name in names if name.endswith(".shard")]
        self.shards = [SavedShardNode(folder, self.spec, _compression_of(compression)) for folder in folders]


class SavedShardNode(Node):
    """The elements of one shard."""

    row_format = ELEMENTS

    def __init__(self, folder: str, spec: Any, compression: str) -> None:
        self._folder = folder
        self._spec = spec
        self._compression = compression

    def rows(self) -> Iterator[Any]:
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

    def dependencies(self) -> Dependencies:
        return Dependencies("saved_shard", (self._folder, self._compression))

    def spec(self) -> Any:
        return self._spec


def sort_keys(structure: Any) -> Any:
    """Return a structure with the keys of its dicts sorted, as TensorFlow does."""
    if isinstance(structure, dict):
        return {key: sort_keys(structure[key]) for key in sorted(structure)}
    return tuple(map(sort_keys, structure)) if type(structure) is tuple else structure


def _compression_of(compression: str | None) -> str:
    if compression not in (None, "NONE", "GZIP"):
        raise UnimplementedError(f"penstock.tf saves datasets uncompressed or with GZIP, found {compression}")
    return "GZIP" if compression == "GZIP" else ""


def _read(path: str, name: str) -> bytes:
    full = os.path.join(path, name)
    if not gfile.exists(full):
        raise NotFoundError(f"{path} is not a saved dataset: {full} does not exist")
    with tensorflow_errors(), gfile.GFile(full, "rb") as file:
        content: bytes = file.read()
    return content


def _tensor(record: Any, spec: TensorSpec) -> Tensor:
    array = parse_tensor(record, "bytes" if spec.dtype.name == "string" else spec.dtype.name)
    if not spec.shape.is_compatible_with(array.shape):
        raise DataLossError(f"expected a tensor of shape {spec.shape} in a saved dataset, found {array.shape}")
    return Tensor(array)


def _spec_of(value: Any) -> TensorSpec:
    if not isinstance(value, Tensor):
        raise UnimplementedError(
            f"Dataset.save writes dense tensors, found a {type(value).__name__}, which TensorFlow stores as a variant"
        )
    return TensorSpec.from_tensor(value)


def _widen(spec: Any, element: Any) -> Any:
    """Return a spec that also matches one more element."""
    found = map_structure(_spec_of, element)
    if repr(map_structure(lambda leaf: leaf.dtype, found)) != repr(map_structure(lambda leaf: leaf.dtype, spec)):
        raise TypeError(f"Dataset.save expects elements of the same structure and dtypes, found {spec} and {found}")
    return filled(spec, (_common(one, other) for one, other in zip(leaves(spec), leaves(found), strict=True)))


def _common(one: TensorSpec, other: TensorSpec) -> TensorSpec:
    if one.shape.is_compatible_with(other.shape) and one.shape.is_fully_defined():
        return one
    if one.shape.rank is None or one.shape.rank != other.shape.rank:
        return TensorSpec(TensorShape(None), one.dtype)
    sizes = zip(one.shape.as_list(), other.shape.as_list(), strict=True)
    return TensorSpec([a if a == b else None for a, b in sizes], one.dtype)


_TENSOR, _LIST, _TUPLE, _DICT = 33, 51, 52, 53  # field numbers of a StructuredValue
_UNKNOWN_SIZE = (1 << 64) - 1  # -1 as a varint
_VERSION = 2  # in which elements are TFRecords of TensorProtos


class Metadata(NamedTuple):
    """The name of the folder that contains the elements, and their number."""

    run: str
    elements: int


def encode_spec(spec: Any) -> bytes:
    """Encode the specs of elements."""
    if isinstance(spec, TensorSpec):
        return write_field(_TENSOR, _shape(spec.shape) + _varint_field(3, spec.dtype.as_datatype_enum))
    if isinstance(spec, dict):
        if not all(isinstance(key, str) for key in spec):
            raise UnimplementedError("Dataset.save writes dicts whose keys are strings")
        entries = (write_field(1, key.encode()) + write_field(2, encode_spec(item)) for key, item in spec.items())
        return write_field(_DICT, b"".join(write_field(1, entry) for entry in entries))
    if isinstance(spec, tuple) and not hasattr(spec, "_fields"):
        return write_field(_TUPLE, b"".join(write_field(1, encode_spec(item)) for item in spec))
    raise UnimplementedError(f"Dataset.save writes tensors in tuples and dicts, found a {type(spec).__name__}")


def decode_spec(data: bytes) -> Any:
    """Decode the specs of elements; the keys of dicts are sorted."""
    with _decoding("dataset_spec.pb"):
        return _spec(memoryview(data))


def encode_metadata(metadata: Metadata, dtypes: list[int], microseconds: int) -> bytes:
    """Encode ``snapshot.metadata``."""
    return b"".join(
        [
            write_field(2, metadata.run.encode()),
            _varint_field(3, microseconds),
            _varint_field(4, _VERSION),
            write_field(5, b"".join(map(write_varint, dtypes))),
            _varint_field(6, metadata.elements),
            _varint_field(1000, 1),  # complete
        ]
    )


def decode_metadata(data: bytes) -> Metadata:
    """Decode ``snapshot.metadata``."""
    with _decoding("snapshot.metadata"):
        numbers = {number: value for number, wire, value in read_fields(memoryview(data)) if wire == VARINT}
        run = "".join(bytes(value).decode() for number, wire, value in read_fields(memoryview(data)) if number == 2)
        if not run.isdigit():
            raise ValueError(f"{run!r} is not the name of a folder")
    if numbers.get(4) != _VERSION or not numbers.get(1000):
        raise UnimplementedError(
            "the saved dataset is incomplete, or was written by an old TensorFlow: save it again, with a newer one"
        )
    return Metadata(run, numbers.get(6, 0))


@contextmanager
def _decoding(name: str) -> Iterator[None]:
    try:
        yield
    except (MalformedExampleError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise DataLossError(f"{name} of a saved dataset cannot be read: {error}") from error


def _spec(data: memoryview) -> Any:
    for number, wire, value in read_fields(data):
        if wire != BYTES:
            break
        if number == _TENSOR:
            return _tensor_spec(value)
        if number == _DICT:
            entries = dict(_entry(entry) for entry in _repeated(value))
            return {key: entries[key] for key in sorted(entries)}
        if number in (_TUPLE, _LIST):
            return tuple(_spec(item) for item in _repeated(value))
        break
    raise UnimplementedError(
        "penstock.tf loads datasets of tensors in dicts and tuples, and this one contains other elements"
    )


def _repeated(data: memoryview) -> list[memoryview]:
    return [value for number, wire, value in read_fields(data) if number == 1 and wire == BYTES]


def _entry(data: memoryview) -> tuple[str, Any]:
    parts = {number: value for number, wire, value in read_fields(data) if wire == BYTES}
    return bytes(parts[1]).decode(), _spec(parts[2])


def _tensor_spec(data: memoryview) -> TensorSpec:
    shape, dtype = TensorShape([]), 0
    for number, wire, value in read_fields(data):
        if number == 2 and wire == BYTES:
            shape = _read_shape(value)
        elif number == 3 and wire == VARINT:
            dtype = value
    return TensorSpec(shape, as_dtype(dtype))


def _read_shape(data: memoryview) -> TensorShape:
    sizes: list[int | None] = []
    for number, wire, value in read_fields(data):
        if number == 3 and wire == VARINT and value:
            return TensorShape(None)
        if number == 2 and wire == BYTES:
            size = next((size for place, kind, size in read_fields(value) if place == 1 and kind == VARINT), 0)
            sizes.append(None if size == _UNKNOWN_SIZE else size)
    return TensorShape(sizes)


def _shape(shape: TensorShape) -> bytes:
    if shape.rank is None:
        return write_field(2, _varint_field(3, 1))
    sizes = (_varint_field(1, _UNKNOWN_SIZE if size is None else size) for size in shape.as_list())
    return write_field(2, b"".join(write_field(2, size) for size in sizes))


def _varint_field(number: int, value: int) -> bytes:
    return write_varint(number << 3) + write_varint(value) if value else b""
