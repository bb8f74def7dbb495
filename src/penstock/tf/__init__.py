"""The data layer of TensorFlow, without TensorFlow: ``import penstock.tf as tf``.

All other names come from an installed TensorFlow, which is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from penstock.tf import errors as errors
from penstock.tf import io as io
from penstock.tf.ops.creation import (
    cast,
    constant,
    convert_to_tensor,
    ensure_shape,
    fill,
    identity,
    one_hot,
    ones,
    ones_like,
    range,
    rank,
    saturate_cast,
    shape,
    size,
    zeros,
    zeros_like,
)
from penstock.tf.ops.elementwise import (
    abs,
    add,
    clip_by_value,
    cos,
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    matmul,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    pow,
    round,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    subtract,
    tanh,
    truediv,
)
from penstock.tf.ops.functions import case, cond, map_fn, numpy_function, py_function, while_loop
from penstock.tf.ops.indexing import boolean_mask, gather, where
from penstock.tf.ops.reductions import (
    argmax,
    argmin,
    argsort,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
    sequence_mask,
    sort,
    unique,
)
from penstock.tf.ops.shaping import (
    broadcast_to,
    concat,
    expand_dims,
    pad,
    repeat,
    reshape,
    reverse,
    split,
    squeeze,
    stack,
    tile,
    transpose,
    unstack,
)
from penstock.tf.tensorflow_dispatch import is_tensorflow_tensor
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from penstock.tf.tensors.ragged_tensor import RaggedTensor
from penstock.tf.tensors.shape import TensorShape
from penstock.tf.tensors.sparse_tensor import SparseTensor
from penstock.tf.tensors.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec
from penstock.tf.tensors.tensor import Operators, Tensor

divide = truediv
newaxis = None
__version__ = "2.21.0"  # the version of TensorFlow whose results these are

# Namespaces that are imported on first use, and their modules.
_NAMESPACES = {
    "compat": "compat",
    "data": "data",
    "debugging": "ops.debugging",
    "dtypes": "tensors.dtypes",
    "image": "image",
    "math": "math",
    "python_io": "io.records",
    "ragged": "ops.ragged",
    "random": "ops.random",
    "sparse": "ops.sparse",
    "strings": "ops.strings",
    "train": "train",
}

__all__ = [
    "DType",
    "RaggedTensor",
    "RaggedTensorSpec",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorShape",
    "TensorSpec",
    "abs",
    "add",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "bfloat16",
    "bool",
    "boolean_mask",
    "broadcast_to",
    "case",
    "cast",
    "clip_by_value",
    "complex64",
    "complex128",
    "concat",
    "cond",
    "constant",
    "convert_to_tensor",
    "cos",
    "cumsum",
    "divide",
    "double",
    "ensure_shape",
    "equal",
    "errors",
    "executing_eagerly",
    "exp",
    "expand_dims",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "gather",
    "greater",
    "greater_equal",
    "half",
    "identity",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "is_tensor",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "map_fn",
    "matmul",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "newaxis",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "pow",
    "py_function",
    "range",
    "rank",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "repeat",
    "reshape",
    "reverse",
    "round",
    "saturate_cast",
    "sequence_mask",
    "shape",
    "sigmoid",
    "sign",
    "sin",
    "size",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "string",
    "subtract",
    "tanh",
    "tile",
    "transpose",
    "truediv",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique",
    "unstack",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]


def executing_eagerly() -> bool:  # type: ignore[valid-type]
    """Return True: operations always run eagerly."""
    return True


def is_tensor(x: Any) -> bool:  # type: ignore[valid-type]
    """Return whether a value is a tensor: dense, ragged or sparse, ours or TensorFlow's."""
    # Symbols have the operators of tensors, whatever they stand for.
    return isinstance(x, Operators | RaggedTensor | SparseTensor) or is_tensorflow_tensor(x)


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return importlib.import_module(f"penstock.tf.{_NAMESPACES[name]}")
    found = attribute_of_tensorflow("", name)
    if name == "keras":
        importlib.import_module("penstock.tf.data.keras_feed").accept_datasets()
    return found
