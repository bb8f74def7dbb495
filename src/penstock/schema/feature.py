"""One named, typed slot of a schema: what its values are, and how they sit in an Example."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from penstock.errors import SchemaError
from penstock.schema.default import NO_DEFAULT, freeze_default
from penstock.schema.dtype import FLOATS, TEXT, canonical_dtype, numpy_dtype

Shape: TypeAlias = tuple[int | None, ...]
Encoding: TypeAlias = Literal["list", "raw", "jpeg", "png", "image", "tensor"]
Kind: TypeAlias = Literal["bytes", "float", "int64"]
IMAGES: frozenset[str] = frozenset({"jpeg", "png", "image"})
# NumPy 1 knows 32 dimensions; a column adds the dimension of the rows.
MAX_RANK = 31


@dataclass(frozen=True, init=False, repr=False)
class Feature:
    """A typed slot of a schema.

    >>> Feature("float32", (3,))
    Feature('float32', (3,))

    Args:
        dtype: A name (``"float32"``, ``"str"``, ``"bfloat16"`` ...), a Python type (``int`` is int64, ``float`` is
            float32), or a NumPy dtype.
        shape: ``()`` is a scalar, ``(64, 64)`` dense, ``(None,)`` and ``(None, 3)`` ragged. Several leading None make
            nested ragged levels. Images and tensors may have None anywhere.
        encoding: How the values sit in an Example. ``"list"``: one list value per element. ``"raw"``: little-endian
            bytes. ``"jpeg"``, ``"png"``, ``"image"``: an encoded image, of shape (height, width, channels).
            ``"tensor"``: a serialized TensorProto.
        optional: An absent feature is an invalid row, not an error.
        default: The value of absent rows, of the feature's shape.
        key: The name inside the Example, where it is not the feature's name.
        partitions: For several ragged levels: keys of the int64 features that hold the row lengths, outermost first.
            A schema fills them in as TFDS names them.
    """

    dtype: str
    shape: Shape
    encoding: Encoding
    optional: bool
    default: Any
    key: str | None
    partitions: tuple[str, ...]

    def __init__(
        self,
        dtype: object,
        shape: int | Iterable[int | None] = (),
        *,
        encoding: Encoding = "list",
        optional: bool = False,
        default: Any = NO_DEFAULT,
        key: str | None = None,
        partitions: Iterable[str] = (),
    ) -> None:
        # Frozen: fields are set through object, once, here.
        put = object.__setattr__
        put(self, "dtype", canonical_dtype(dtype))
        put(self, "shape", _check_shape(shape))
        put(self, "encoding", encoding)
        put(self, "optional", bool(optional))
        put(self, "key", key)
        put(self, "partitions", _check_partitions(partitions))
        if key is not None and not isinstance(key, str):
            raise SchemaError(f"a key is a str, not {type(key).__name__}")
        self._check_encoding()
        self._check_levels()
        put(self, "default", self._check_default(default))

    @property
    def kind(self) -> Kind:
        """The list that the values are stored in: ``"bytes"``, ``"float"`` or ``"int64"``."""
        if self.encoding != "list" or self.dtype in TEXT:
            return "bytes"
        return "float" if self.dtype in FLOATS else "int64"

    @property
    def ragged_levels(self) -> int:
        """How many leading dimensions vary from row to row; 0 for images and tensors, whose rows have shapes."""
        if self.encoding in ("list", "raw"):
            return self.shape.count(None)
        return 0

    @property
    def inner_shape(self) -> Shape:
        """The dimensions behind the ragged ones."""
        return self.shape[self.ragged_levels :]

    @property
    def is_dense(self) -> bool:
        """Whether every row has the same, known shape."""
        return None not in self.shape

    @property
    def has_default(self) -> bool:
        """Whether absent rows have a value."""
        return self.default is not NO_DEFAULT

    @property
    def numpy_dtype(self) -> np.dtype[np.generic]:
        """The dtype of the column's array; bytes and str have none."""
        return numpy_dtype(self.dtype)

    def __repr__(self) -> str:
        parts = [repr(self.dtype)]
        if self.shape:
            parts.append(repr(self.shape))
        for field in fields(self)[2:]:
            value = getattr(self, field.name)
            if value != _OMITTED[field.name]:
                parts.append(f"{field.name}={value!r}")
        return f"Feature({', '.join(parts)})"

    def replace(self, **changes: Any) -> Feature:
        """Return a copy with some arguments changed."""
        return _build({field.name: getattr(self, field.name) for field in fields(self)} | changes)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that a copy is checked and its NaN is ours.
        return _build, ({field.name: getattr(self, field.name) for field in fields(self)},)

    def _check_encoding(self) -> None:
        dtype, encoding = self.dtype, self.encoding
        if encoding not in get_args(Encoding):
            raise SchemaError(f"unknown encoding {encoding!r}: one of {', '.join(get_args(Encoding))}")
        if encoding == "list" and dtype == "uint64":
            raise SchemaError('uint64 does not fit an Int64List: write encoding="raw", or dtype "int64"')
        if encoding == "raw" and dtype in TEXT:
            raise SchemaError(f'encoding="raw" is for numbers; {dtype} is stored with encoding="list"')
        if encoding in IMAGES:
            allowed = ("uint8",) if encoding == "jpeg" else ("uint8", "uint16")
            if dtype not in allowed:
                raise SchemaError(f'encoding="{encoding}" has dtype {" or ".join(allowed)}, not {dtype}')
            if len(self.shape) != 3 or 0 in self.shape or (self.shape[2] or 1) > 4:
                raise SchemaError(
                    f"an image has shape (height, width, channels) with 1 to 4 channels, such as (None, None, 3);"
                    f" found {self.shape}"
                )

    def _check_levels(self) -> None:
        if self.encoding not in ("list", "raw"):
            if self.partitions:
                raise SchemaError(f'partitions belong to ragged lists, not to encoding="{self.encoding}"')
            return
        levels = self.ragged_levels
        if None in self.inner_shape:
            raise SchemaError(
                f"None stands before all known dimensions, found {self.shape}:"
                ' write encoding="tensor" for rows of any shape'
            )
        if levels and 0 in self.shape:
            raise SchemaError(f"a ragged feature has no dimension 0: rows could not be counted, found {self.shape}")
        if self.encoding == "raw" and levels > 1:
            raise SchemaError('encoding="raw" has at most one leading None: write encoding="list" or "tensor"')
        if self.partitions and len(self.partitions) != levels - 1:
            raise SchemaError(
                f"shape {self.shape} needs {max(levels - 1, 0)} partitions (the first level is the record itself),"
                f" found {len(self.partitions)}"
            )

    def _check_default(self, default: Any) -> Any:
        if default is NO_DEFAULT:
            return default
        if self.optional:
            raise SchemaError("optional=True and default exclude each other: absent rows are invalid, or have a value")
        shape = tuple(size for size in self.shape if size is not None)
        if len(shape) != len(self.shape):
            raise SchemaError(f"a default needs a known shape, found {self.shape}: write optional=True instead")
        return freeze_default(default, self.dtype, shape)


_OMITTED: dict[str, Any] = {
    "encoding": "list",
    "optional": False,
    "default": NO_DEFAULT,
    "key": None,
    "partitions": (),
}


def _build(arguments: dict[str, Any]) -> Feature:
    return Feature(**arguments)


def fits_shape(found: tuple[int, ...], shape: Shape) -> bool:
    """Whether an array of the shape ``found`` is one of ``shape``, in which None stands for any size."""
    return len(found) == len(shape) and all(wanted in (None, size) for wanted, size in zip(shape, found, strict=True))


def _check_shape(shape: int | Iterable[int | None]) -> Shape:
    sizes = (shape,) if isinstance(shape, int | np.integer) else shape
    if isinstance(sizes, str | bytes) or not isinstance(sizes, Iterable):
        raise SchemaError(f"a shape is a tuple of sizes, such as () or (None, 3), not {type(shape).__name__}")
    checked = tuple(_check_size(size) for size in sizes)
    if len(checked) > MAX_RANK:
        raise SchemaError(f"a shape has at most {MAX_RANK} dimensions, found {len(checked)}")
    # Zeros are left out: the other sizes must be sound on their own.
    if math.prod(size for size in checked if size) >= 1 << 63:
        raise SchemaError(f"too many elements in shape {checked}")
    return checked


def _check_size(size: object) -> int | None:
    if size is None:
        return None
    try:
        number = operator.index(size)  # type: ignore[arg-type]
    except TypeError:
        raise SchemaError(f"a size in a shape is an int or None, not {type(size).__name__}") from None
    if isinstance(size, bool) or number < 0:
        raise SchemaError(f"a size in a shape is 0 or more, or None where it varies; found {size!r}")
    if number >= 1 << 63:
        raise SchemaError("a size in a shape is less than 2**63")
    return number


def _check_partitions(partitions: Iterable[str]) -> tuple[str, ...]:
    if isinstance(partitions, str):
        raise SchemaError("partitions is a tuple of keys, not one str: write (key,)")
    checked = tuple(partitions)
    if not all(isinstance(key, str) for key in checked):
        raise SchemaError("partitions are keys: each is a str")
    if len(set(checked)) != len(checked):
        raise SchemaError(f"each ragged level has a partition of its own, found {checked}")
    if len(checked) >= MAX_RANK:
        raise SchemaError(f"a feature has fewer than {MAX_RANK} partitions, found {len(checked)}")
    return checked


class Sections(NamedTuple):
    """The features of a schema by section; ``sequence`` is None for Examples."""

    context: Mapping[str, Feature]
    sequence: Mapping[str, Feature] | None = None
