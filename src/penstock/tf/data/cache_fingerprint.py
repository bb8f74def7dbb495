"""What the elements of a step are made from: its files, its values and its code, as far as they can be told."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from types import FunctionType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from penstock.dataset.fingerprint import Parts, UnknownPartError
from penstock.index.file_identity import identify
from penstock.storage import locate
from penstock.tf.data.node import Node
from penstock.tf.tensors.dtypes import DType
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec
from penstock.tf.tensors.tensor import Tensor
from penstock.tf.tracing.trace import Trace

# What follows from the rest, or differs from one process to the next where no seed was given.
_NOT_TOLD = frozenset({"origin", "_beginning", "_kept", "_lock", "_made_from", "_of_passes", "_seeds"})


@runtime_checkable
class MadeOfParts(Protocol):
    """A dataset, which tells what its elements depend on."""

    def _parts_of_fingerprint(self) -> list[Any]: ...


class MadeFrom(NamedTuple):
    """What elements are made from."""

    steps: str
    """A digest of the steps, the values in memory and the code of functions."""

    files: dict[str, str]
    """The files that are there, each with a name for its content."""


def made_from(node: Node) -> MadeFrom:
    """Find out what the elements of a step are made from."""
    parts = _StepParts()
    digest = hashlib.blake2b(digest_size=16)
    for part in parts.of(node):
        digest.update(f"{len(part)} ".encode() + part)
    return MadeFrom(digest.hexdigest(), parts.files)


class _StepParts(Parts):
    """Steps in parts. A value that nobody can name counts by its type alone."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def of(self, value: Any) -> Iterator[bytes]:
        """Return the parts of a value; a string may name a file."""
        if isinstance(value, str | bytes):
            self._note_file(os.fsdecode(value))
        return super().of(value)

    def _of_object(self, value: Any) -> Iterator[bytes]:
        if isinstance(value, Node):
            yield from self._of_all([item for name, item in vars(value).items() if name not in _NOT_TOLD])
        elif isinstance(value, MadeOfParts):
            yield from self._of_all(value._parts_of_fingerprint())
        elif isinstance(value, Trace):
            yield from self.of(value.function)
        elif isinstance(value, Tensor):
            yield from self._of_array(value._array)
        elif isinstance(value, RaggedTensor):
            yield from self._of_all([value.values, value.row_splits])
        elif isinstance(value, SparseTensor):
            yield from self._of_all([value.indices, value.values, value.dense_shape])
        elif isinstance(value, DType | TensorShape | TensorSpec | RaggedTensorSpec | SparseTensorSpec):
            yield repr(value).encode()
        elif isinstance(value, FunctionType) and (value.__module__ or "").startswith("penstock."):
            yield value.__qualname__.encode()  # of a step: it holds what the user gave
            yield from self._of_all([cell.cell_contents for cell in value.__closure__ or ()])
        else:
            try:
                yield from super()._of_object(value)
            except UnknownPartError:
                yield b"unknown"

    def _of_array(self, array: np.ndarray[Any, Any]) -> Iterator[bytes]:
        if not array.dtype.hasobject:
            yield from super()._of_array(array)
            return
        yield repr(array.shape).encode()
        yield from self._of_all(array.ravel().tolist())

    def _note_file(self, name: str) -> None:
        if name not in self.files and os.path.isfile(name):
            with suppress(OSError):  # one that may not be read is not what elements are made from
                identity = identify(*locate(name))
                self.files[name] = "" if identity is None else identity.name
