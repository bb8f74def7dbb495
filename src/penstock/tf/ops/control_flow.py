"""``tf.cond`` and ``tf.while_loop``: Python's own control flow, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Call one of two functions."""
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError(f"The {'false' if callable(true_fn) else 'true'}_fn must be callable.")
    return true_fn() if pred else false_fn()


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Call a function on what it answered before, as long as a condition holds."""
    values, left = loop_vars, None if maximum_iterations is None else int(maximum_iterations)
    while left != 0 and cond(*values):
        answer = body(*values)
        values = tuple(answer) if isinstance(answer, list | tuple) else (answer,)
        left = None if left is None else left - 1
    return values
