"""The steps that data sets begin with, made of what users give."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from penstock.tf.convert import as_array, as_tensor
from penstock.tf.data.elements import as_element
from penstock.tf.data.sources import Numbers, Slices
from penstock.tf.dtypes import as_dtype, int64, string
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.io import gfile
from penstock.tf.shape import TensorShape
from penstock.tf.sparse_tensor import SparseTensor
from penstock.tf.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec
from penstock.tf.structure import leaves
from penstock.tf.tensor import Tensor


def slices(tensors: Any) -> Slices:
    """Slice tensors, and what becomes tensors."""
    element = as_element(tensors)
    if any(isinstance(leaf, SparseTensor) for leaf in leaves(element)):
        raise NotImplementedError(
            "slices of a SparseTensor are not part of penstock.tf: tf.sparse.to_dense makes it dense"
        )
    return Slices(element)


def numbers(args: tuple[Any, ...], output_type: Any) -> Numbers:
    """Count as ``range`` does."""
    if not 1 <= len(args) <= 3:
        raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
    bounds = [int(as_array(arg, None if hasattr(arg, "dtype") else int64)) for arg in args]
    dtype = as_dtype(output_type)
    if not (dtype.is_integer or dtype.is_floating):
        raise InvalidArgumentError(f"Unsupported data type: {dtype.name}")
    return Numbers(range(*bounds), np.dtype(dtype.numpy))


def matching_files(file_pattern: Any) -> Tensor:
    """List the files of patterns, in order; none at all is an error."""
    patterns = [_text(pattern) for pattern in np.ravel(as_array(_plain(file_pattern))).tolist()]
    found = sorted(path for pattern in patterns for path in gfile.glob(pattern))
    if not found:
        raise InvalidArgumentError(f"No files matched pattern: {', '.join(patterns)}")
    return as_tensor(found)


def paths_of(filenames: Any) -> list[str]:
    """Answer the names of files, however they are nested."""
    array = as_array(_plain(filenames))
    if array.dtype != object and array.size:
        raise TypeError(f"The `filenames` argument must contain `tf.string` elements. Got `{array.dtype}` elements.")
    return [_text(name) for name in array.ravel().tolist()]


def path_of(path: Any) -> str:
    """Answer one name."""
    (name,) = paths_of(path)
    return name


def path_of_element(element: Any) -> str:
    """Answer the name of a file that an element is."""
    if not isinstance(element, Tensor) or element.dtype != string or element.ndim:
        raise TypeError("The `filenames` argument must contain scalar `tf.string` elements.")
    return _text(element.numpy())


def signature_of(output_signature: Any, output_types: Any, output_shapes: Any) -> Any:
    """Answer the specs of what a generator gives, which are given as such or as types and shapes."""
    if output_signature is not None:
        if output_types is not None or output_shapes is not None:
            raise TypeError("The `output_types` and `output_shapes` arguments can't be used with `output_signature`.")
        return _checked(output_signature)
    if output_types is None:
        raise TypeError("Either `output_signature` or `output_types` must be specified.")
    return _specs(output_types, output_shapes)


def _checked(signature: Any) -> Any:
    if any(not isinstance(leaf, TensorSpec | RaggedTensorSpec | SparseTensorSpec) for leaf in leaves(signature)):
        raise TypeError("`output_signature` must contain objects that are subclass of `tf.TypeSpec`.")
    return signature


def _specs(types: Any, shapes: Any) -> Any:
    if isinstance(types, dict):
        return {key: _specs(item, None if shapes is None else shapes[key]) for key, item in types.items()}
    if isinstance(types, tuple | list):
        each = [None] * len(types) if shapes is None else shapes
        return tuple(_specs(item, shape) for item, shape in zip(types, each, strict=True))
    return TensorSpec(TensorShape(shapes), types)


def _plain(names: Any) -> Any:
    if isinstance(names, os.PathLike):
        return os.fspath(names)
    return [_plain(name) for name in names] if isinstance(names, list | tuple) else names


def _text(name: Any) -> str:
    return os.fsdecode(name)
