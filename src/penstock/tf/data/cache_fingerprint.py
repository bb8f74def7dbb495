"""Fingerprints what the elements of a cache file depend on: transformations, values, functions and files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from types import FunctionType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from penstock.dataset.fingerprint import FingerprintInput, UnknownContentError
from penstock.index.file_identity import identify
from penstock.storage import locate
from penstock.tf.data.node import Dependencies, Node
from penstock.tf.tensors.dtypes import DType
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec
from penstock.tf.tensors.tensor import Tensor


class Fingerprint(NamedTuple):
    """Identifies what elements depend on."""

    steps: str
    """A digest of the transformations, the values in memory and the code of functions."""

    files: dict[str, str]
    """The existing files among the values, each with a digest that identifies its content."""


def fingerprint_of(node: Node) -> Fingerprint:
    """Return the fingerprint of the elements of a node."""
    parts = _NodeFingerprintInput()
    digest = hashlib.blake2b(digest_size=16)
    for part in parts.of(node):
        digest.update(f"{len(part)} ".encode() + part)
    return Fingerprint(digest.hexdigest(), parts.files)


@runtime_checkable
class _Dataset(Protocol):
    """A dataset, which a function may refer to."""

    def _elements(self) -> Node: ...


class _NodeFingerprintInput(FingerprintInput):
    """The parts of nodes and of the values they hold. A value that cannot be named counts by its type alone.

    Nodes are named by their ``dependencies()``, and Penstock's functions and classes without their modules, so that a
    cache stays valid when Penstock's code is reorganized.
    """

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def of(self, value: Any) -> Iterator[bytes]:
        """Return the parts of a value; a string may name a file."""
        while _is_penstock_function(value) and hasattr(value, "__wrapped__"):
            value = value.__wrapped__  # the user's function
        if isinstance(value, str | bytes):
            self._note_file(os.fsdecode(value))
        if isinstance(value, Dependencies):
            return self._of_dependencies(value)
        return self._of_node(value) if isinstance(value, Node) else super().of(value)

    def _of_node(self, node: Node) -> Iterator[bytes]:
        if id(node) in self._seen:
            yield b"seen"
            return
        self._seen[id(node)] = node
        yield from self.of(node.dependencies())

    def _of_dependencies(self, dependencies: Dependencies) -> Iterator[bytes]:
        yield dependencies.kind.encode()
        yield from self._of_all(dependencies.values)

    def _of_object(self, value: Any) -> Iterator[bytes]:
        if isinstance(value, _Dataset) and not isinstance(value, type):
            yield from self.of(value._elements())
        elif isinstance(value, Tensor):
            yield from self._of_array(value._array)
        elif isinstance(value, RaggedTensor):
            yield from self._of_all([value.values, value.row_splits])
        elif isinstance(value, SparseTensor):
            yield from self._of_all([value.indices, value.values, value.dense_shape])
        elif isinstance(value, DType | TensorShape | TensorSpec | RaggedTensorSpec | SparseTensorSpec):
            yield repr(value).encode()
        elif _is_penstock_function(value):  # a public operation or class
            yield value.__qualname__.encode()
        else:
            try:
                yield from super()._of_object(value)
            except UnknownContentError:
                yield b"unknown"

    def _of_array(self, array: np.ndarray[Any, Any]) -> Iterator[bytes]:
        if not array.dtype.hasobject:
            yield from super()._of_array(array)
            return
        yield repr(array.shape).encode()
        yield from self._of_all(array.ravel().tolist())

    def _note_file(self, name: str) -> None:
        if name not in self.files and os.path.isfile(name):
            with suppress(OSError):  # elements do not come from a file that may not be read
                identity = identify(*locate(name))
                self.files[name] = "" if identity is None else identity.name


def _is_penstock_function(value: Any) -> bool:
    return isinstance(value, FunctionType | type) and (value.__module__ or "").partition(".")[0] == "penstock"
