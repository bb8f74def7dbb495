"""What functions answer, as elements: structures of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.tf.convert import as_tensor
from penstock.tf.errors import InvalidArgumentError, OpError, OutOfRangeError
from penstock.tf.operation import invoke
from penstock.tf.ops.functions import in_dataset
from penstock.tf.ragged_tensor import RaggedTensor
from penstock.tf.sparse_tensor import SparseTensor
from penstock.tf.structure import leaves
from penstock.tf.tensor import Tensor
from penstock.tf.tracing import Symbol


def as_element(value: Any) -> Any:
    """Answer a structure of tensors: dicts and tuples are structures, lists become tensors, as in TensorFlow."""
    if type(value) is Tensor:
        return value
    if isinstance(value, Mapping):
        return {key: as_element(item) for key, item in value.items()}
    if isinstance(value, tuple):
        items = [as_element(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list) and any(isinstance(leaf, Symbol) for leaf in leaves(value)):
        return invoke("stack", [as_element(item) for item in value])
    if isinstance(value, Symbol | RaggedTensor | SparseTensor) or hasattr(value, "element_spec"):
        return value
    if value is None:
        raise TypeError("an element is made of tensors, and a function answered None")
    return as_tensor(value)


def as_answer(value: Any) -> Any:
    """Answer what a function of elements answered as an element; a list of several values is a tuple of them."""
    return as_element(tuple(value) if isinstance(value, list) else value)


def arguments_of(element: Any) -> tuple[Any, ...]:
    """Answer the arguments of a function of an element: tuples are spread."""
    return element if type(element) is tuple else (element,)


def call_function(function: Callable[..., Any], *arguments: Any, ended: type[OpError] = InvalidArgumentError) -> Any:
    """Call a function that a user gave.

    A StopIteration of its own would end the iteration as if there were no more elements. It is raised as ``ended``,
    and so is an OutOfRangeError: TensorFlow names it by the step that the function belongs to.
    """
    token = in_dataset.set(True)
    try:
        return function(*arguments)
    except (StopIteration, OutOfRangeError) as error:
        raise ended(f"a function of the dataset raised {type(error).__name__}: {error}") from error
    finally:
        in_dataset.reset(token)
