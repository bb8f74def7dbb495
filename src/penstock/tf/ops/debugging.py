"""``tf.debugging``: checks that return their tensor, or nothing, and raise InvalidArgumentError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.tf.errors import InvalidArgumentError
from penstock.tf.ops.batch_and_spec_rules import spec_of_first
from penstock.tf.ops.elementwise import pair
from penstock.tf.registry import operation
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow
from penstock.tf.tensors.convert import as_array, as_tensor
from penstock.tf.tensors.tensor import Tensor


@operation("debugging.check_numerics", spec=spec_of_first)
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Return the tensor, unless it has a NaN or an infinity."""
    array = as_array(tensor)
    for found, kind in ((np.isnan(array), "NaN"), (np.isinf(array), "Inf")):
        if found.any():
            raise InvalidArgumentError(f"{message} : Tensor had {kind} values")
    return as_tensor(tensor)


def Assert(condition: Any, data: Any, summarize: Any = None, name: str | None = None) -> None:
    """Raise with the data, unless the condition holds."""
    if not condition:
        raise InvalidArgumentError(f"Expected {condition} to be true. Summarized data: {data}")


def _assertion(name: str, compare: Callable[[Any, Any], Any]) -> Callable[..., None]:
    @operation(f"debugging.assert_{name}", effects="python")
    def check(x: Any, y: Any, message: str | None = None, summarize: Any = None, name: str | None = None) -> None:
        a, b = pair(x, y)
        if not np.all(compare(a, b)):
            raise InvalidArgumentError(f"{message or ''} Condition x {compare.__name__} y did not hold: {a}, {b}")

    check.__name__ = check.__qualname__ = f"assert_{name}"
    return check


assert_equal = _assertion("equal", np.equal)
assert_none_equal = _assertion("none_equal", np.not_equal)
assert_less = _assertion("less", np.less)
assert_less_equal = _assertion("less_equal", np.less_equal)
assert_greater = _assertion("greater", np.greater)
assert_greater_equal = _assertion("greater_equal", np.greater_equal)


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("debugging", name)
