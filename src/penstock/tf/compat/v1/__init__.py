"""``tf.compat.v1``: the names that data code of TensorFlow 1 uses."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.tf.compat.v1.operations import CHANGED, Namespace, find
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow

# Names that are in tf itself in TensorFlow 1.
_MOVED = {
    "decode_csv": "io",
    "decode_raw": "io",
    "FixedLenFeature": "io",
    "FixedLenSequenceFeature": "io",
    "SparseFeature": "io",
    "VarLenFeature": "io",
    "gfile": "io",
    "parse_example": "io",
    "parse_single_example": "io",
    "parse_single_sequence_example": "io",
    "parse_tensor": "io",
    "read_file": "io",
    "serialize_tensor": "io",
    "string_to_number": "strings",
    "as_string": "strings",
    "substr": "strings",
    "regex_replace": "strings",
    "string_join": "strings",
    "log": "math",
    "ceil": "math",
    "is_nan": "math",
}
_UNCHANGED = frozenset(("data", "debugging", "errors", "python_io", "ragged", "random", "sparse", "train"))
_NAMESPACES = {name: Namespace(name) for name in ("image", "io", "math", "strings")}


def __getattr__(name: str) -> Any:
    tf = importlib.import_module("penstock.tf")
    if name in _NAMESPACES:
        return _NAMESPACES[name]
    if name in _MOVED:
        return find(_MOVED[name], name.removeprefix("string_"))
    if name in CHANGED or name in tf.__all__:
        return find("", name)
    if name in _UNCHANGED:
        return getattr(tf, name)
    if name == "logging":
        return importlib.import_module("logging").getLogger("tensorflow")
    return attribute_of_tensorflow("compat.v1", name)
