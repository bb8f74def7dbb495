"""Names outside the data layer come from an installed TensorFlow, which is imported on first use."""

from __future__ import annotations

import importlib.util
from typing import Any


class NotInDataLayerError(AttributeError):
    """A name of TensorFlow outside the data layer was used, and TensorFlow is not installed."""


def attribute_of_tensorflow(path: str, name: str) -> Any:
    """Return an attribute that our module lacks: ``"io", "x"`` is TensorFlow's ``tf.io.x``."""
    dotted = f"{path}.{name}".removeprefix(".")
    # Python itself looks up names such as __path__ and __wrapped__.
    if name.startswith("__"):
        raise AttributeError(f"tf.{path} has no attribute {name!r}")
    if _is_installed("tensorflow"):
        found: Any = importlib.import_module("tensorflow")
        for part in dotted.split("."):
            found = getattr(found, part)
        return found
    if dotted == "keras" and _is_installed("keras"):
        return importlib.import_module("keras")
    if dotted == "function":
        return _function
    what = "keras" if dotted == "keras" else "tensorflow"
    raise NotInDataLayerError(
        f"tf.{dotted} is not part of the data layer of penstock.tf, and {what} is not installed:"
        f"  pip install {what}  adds it",
        name=name,
    )


def _is_installed(package: str) -> bool:
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None  # a folder of that name, without code, has no origin


def _function(func: Any = None, **options: Any) -> Any:
    """Replace ``tf.function`` without TensorFlow: the function is returned unchanged."""
    return func if func is not None else lambda decorated: decorated
