"""``tf.compat``: text and bytes, and the names of TensorFlow 1."""

from __future__ import annotations

from typing import Any

from penstock.tf.compat import v1 as v1
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Encode text; bytes stay as they are."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Decode bytes; text stays as it is."""
    return bytes_or_text if isinstance(bytes_or_text, str) else bytes(bytes_or_text).decode(encoding)


as_str = as_text
as_str_any = as_text
bytes_or_text_types = (bytes, str)


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("compat", name)
