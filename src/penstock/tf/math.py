"""``tf.math``: elementwise operations and reductions."""

from __future__ import annotations

from typing import Any

from penstock.tf.ops.elementwise import *  # noqa: F403 (all of them, and nothing else)
from penstock.tf.ops.elementwise import floormod as mod  # noqa: F401
from penstock.tf.ops.elementwise import truediv as divide  # noqa: F401
from penstock.tf.ops.reductions import *  # noqa: F403
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("math", name)
