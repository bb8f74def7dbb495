"""Feature: the dtype, shape and encoding of one named value of an Example."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, get_args

import numpy as np

from penstock.errors import SchemaError
from penstock.schema.default import NO_DEFAULT, freeze_default
from penstock.schema.dtype import FLOATS, INTEGERS, TEXT, DtypeLike, canonical_dtype, numpy_dtype
from penstock.schema.logical import check_logical

Shape: TypeAlias = tuple[int | None, ...]
Encoding: TypeAlias = Literal["list", "raw", "jpeg", "png", "image", "tensor"]
Kind: TypeAlias = Literal["bytes", "float", "int64"]
IMAGES: frozenset[str] = frozenset({"jpeg", "png", "image"})
# NumPy 1 has at most 32 dimensions, and a column adds one for its rows.
MAX_RANK = 31


class FeatureArguments(TypedDict, total=False):
    """The arguments of :class:`Feature`."""

    dtype: DtypeLike
    shape: int | Iterable[int | None]
    encoding: Encoding
    optional: bool
    default: Any
    key: str | None
    partitions: Iterable[str]
    names: Iterable[str]
    logical: str | None


@dataclass(frozen=True, init=False, repr=False)
class Feature:
    """The dtype, shape and encoding of one feature of a schema. Immutable.

    Args:
        dtype: A name such as ``"float32"``, ``"str"`` or ``"bfloat16"``, a Python type (``int`` is int64, ``float`` is
            float32), or a NumPy dtype.
        shape: ``()`` is a scalar, ``(64, 64)`` is dense, ``(None,)`` and ``(None, 3)`` are ragged. Several leading None
            are nested ragged levels. Images and tensors may have None anywhere.
        encoding: How an Example stores the values. ``"list"``: one list item per element. ``"raw"``: little-endian
            bytes. ``"jpeg"``, ``"png"``, ``"image"``: an encoded image of shape (height, width, channels).
            ``"tensor"``: a serialized TensorProto.
        optional: Whether the feature may be absent. Absent rows are None, in a ``ps.Nullable`` column.
        default: The value of absent rows, with the feature's shape. Excludes ``optional``.
        key: The name in the Example, if it differs from the name in the schema.
        partitions: For nested ragged levels, the keys of the int64 features that hold the row lengths, outermost first.
            By default a schema chooses the names that TFDS uses.
        names: The names of the classes that an integer feature numbers: value 0 is the first one.
        logical: What the stored values mean in Arrow and data frames, by Arrow's name of the type:
            ``"timestamp[us, tz=UTC]"``, ``"date32[day]"``, ``"decimal128(10, 2)"``, ``"struct"``.

    Raises:
        SchemaError: The arguments contradict each other, or no Example can store such values.

    Example:
        >>> ps.Feature("float32", (None, 3))
        Feature('float32', (None, 3))
        >>> ps.Feature("uint8", (None, None, 3), encoding="jpeg", optional=True)
        Feature('uint8', (None, None, 3), encoding='jpeg', optional=True)
        >>> ps.Feature(int, names=["cat", "dog"])
        Feature('int64', names=('cat', 'dog'))
    """

    dtype: str
    shape: Shape
    encoding: Encoding
    optional: bool
    default: Any
    key: str | None
    partitions: tuple[str, ...]
    names: tuple[str, ...]
    logical: str | None

    def __init__(
        self,
        dtype: DtypeLike,
        shape: int | Iterable[int | None] = (),
        *,
        encoding: Encoding = "list",
        optional: bool = False,
        default: Any = NO_DEFAULT,
        key: str | None = None,
        partitions: Iterable[str] = (),
        names: Iterable[str] = (),
        logical: str | None = None,
    ) -> None:
        put = object.__setattr__  # the dataclass is frozen
        put(self, "dtype", canonical_dtype(dtype))
        put(self, "shape", _check_shape(shape))
        put(self, "encoding", encoding)
        put(self, "optional", bool(optional))
        put(self, "key", key)
        put(self, "partitions", _check_partitions(partitions))
        put(self, "names", _check_names(names, self.dtype))
        put(self, "logical", check_logical(logical, self.dtype, optional=self.optional, has_names=bool(self.names)))
        if key is not None and not isinstance(key, str):
            raise SchemaError(f"key must be a str, found {type(key).__name__}")
        self._check_encoding()
        self._check_levels()
        put(self, "default", self._check_default(default))

    @property
    def kind(self) -> Kind:
        """The kind of list that stores the values: ``"bytes"``, ``"float"`` or ``"int64"``.

        Example:
            >>> ps.Feature("bool").kind, ps.Feature("uint8", (28, 28), encoding="raw").kind
            ('int64', 'bytes')
        """
        if self.encoding != "list" or self.dtype in TEXT:
            return "bytes"
        return "float" if self.dtype in FLOATS else "int64"

    @property
    def ragged_levels(self) -> int:
        """The number of leading dimensions that vary from row to row; 0 for images and tensors.

        Example:
            >>> ps.Feature("float32", (None, 3)).ragged_levels
            1
        """
        if self.encoding in ("list", "raw"):
            return self.shape.count(None)
        return 0

    @property
    def inner_shape(self) -> Shape:
        """The dimensions after the ragged ones.

        Example:
            >>> ps.Feature("float32", (None, 3)).inner_shape
            (3,)
        """
        return self.shape[self.ragged_levels :]

    @property
    def is_dense(self) -> bool:
        """Whether all rows have the same, known shape.

        Example:
            >>> ps.Feature("float32", (3,)).is_dense, ps.Feature("float32", (None,)).is_dense
            (True, False)
        """
        return None not in self.shape

    @property
    def has_default(self) -> bool:
        """Whether absent rows have a default value.

        Example:
            >>> ps.Feature("int64", default=0).has_default
            True
        """
        return self.default is not NO_DEFAULT

    @property
    def numpy_dtype(self) -> np.dtype[np.generic]:
        """The NumPy dtype of the column.

        Raises:
            SchemaError: The feature is bytes or str, whose columns are not arrays.

        Example:
            >>> ps.Feature(float).numpy_dtype
            dtype('float32')
        """
        return numpy_dtype(self.dtype)

    def __repr__(self) -> str:
        parts = [repr(self.dtype)]
        if self.shape:
            parts.append(repr(self.shape))
        for field in fields(self)[2:]:
            value = getattr(self, field.name)
            if value != _DEFAULTS[field.name]:
                text = _names_text(value) if field.name == "names" else repr(value)
                parts.append(f"{field.name}={text}")
        return f"Feature({', '.join(parts)})"

    def replace(self, **changes: Unpack[FeatureArguments]) -> Feature:
        """Return a copy with some arguments changed.

        Example:
            >>> ps.Feature("float32", (3,)).replace(optional=True)
            Feature('float32', (3,), optional=True)
        """
        return _build({field.name: getattr(self, field.name) for field in fields(self)} | dict(changes))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, which checks the copy and shares one NaN object between equal defaults.
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
                raise SchemaError(f'encoding="{encoding}" needs dtype {" or ".join(allowed)}, found {dtype}')
            if len(self.shape) != 3 or 0 in self.shape or (self.shape[2] or 1) > 4:
                raise SchemaError(
                    f"an image needs the shape (height, width, channels) with 1 to 4 channels, such as (None, None, 3);"
                    f" found {self.shape}"
                )

    def _check_levels(self) -> None:
        if self.encoding not in ("list", "raw"):
            if self.partitions:
                raise SchemaError(f'partitions are for ragged lists, not for encoding="{self.encoding}"')
            return
        levels = self.ragged_levels
        if None in self.inner_shape:
            raise SchemaError(
                f"None must come before all known dimensions, found {self.shape}:"
                ' use encoding="tensor" for rows of any shape'
            )
        if levels and 0 in self.shape:
            raise SchemaError(f"a ragged feature cannot have a dimension of size 0, found {self.shape}")
        if self.encoding == "raw" and levels > 1:
            raise SchemaError('encoding="raw" allows at most one leading None: use encoding="list" or "tensor"')
        if self.partitions and len(self.partitions) != levels - 1:
            raise SchemaError(
                f"shape {self.shape} needs {max(levels - 1, 0)} partitions (the first level is the record itself),"
                f" found {len(self.partitions)}"
            )

    def _check_default(self, default: Any) -> Any:
        if default is NO_DEFAULT:
            return default
        if self.optional:
            raise SchemaError("optional=True and default exclude each other: absent rows are None, or have a value")
        shape = tuple(size for size in self.shape if size is not None)
        if len(shape) != len(self.shape):
            raise SchemaError(f"a default needs a known shape, found {self.shape}: use optional=True instead")
        return freeze_default(default, self.dtype, shape)


_DEFAULTS: dict[str, Any] = {
    "encoding": "list",
    "optional": False,
    "default": NO_DEFAULT,
    "key": None,
    "partitions": (),
    "names": (),
    "logical": None,
}
_NAMES_SHOWN = 8


def _build(arguments: dict[str, Any]) -> Feature:
    return Feature(**arguments)


def fits_shape(found: tuple[int, ...], shape: Shape) -> bool:
    """Whether an array of shape ``found`` fits ``shape``, in which None is any size."""
    return len(found) == len(shape) and all(wanted in (None, size) for wanted, size in zip(shape, found, strict=True))


def _check_shape(shape: int | Iterable[int | None]) -> Shape:
    sizes = (shape,) if isinstance(shape, int | np.integer) else shape
    if isinstance(sizes, str | bytes) or not isinstance(sizes, Iterable):
        raise SchemaError(f"shape must be a tuple of sizes, such as () or (None, 3), found {type(shape).__name__}")
    checked = tuple(_check_size(size) for size in sizes)
    if len(checked) > MAX_RANK:
        raise SchemaError(f"shape must have at most {MAX_RANK} dimensions, found {len(checked)}")
    # Ignore zeros: the product of the other sizes must not overflow either.
    if math.prod(size for size in checked if size) >= 1 << 63:
        raise SchemaError(f"too many elements in shape {checked}")
    return checked


def _check_size(size: object) -> int | None:
    if size is None:
        return None
    try:
        number = operator.index(size)  # type: ignore[arg-type]
    except TypeError:
        raise SchemaError(f"a size in shape must be an int or None, found {type(size).__name__}") from None
    if isinstance(size, bool) or number < 0:
        raise SchemaError(f"a size in shape must be 0 or more, or None if it varies, found {size!r}")
    if number >= 1 << 63:
        raise SchemaError("a size in shape must be less than 2**63")
    return number


def _check_partitions(partitions: Iterable[str]) -> tuple[str, ...]:
    if isinstance(partitions, str):
        raise SchemaError("partitions must be a tuple of keys, found one str: write (key,)")
    checked = tuple(partitions)
    if not all(isinstance(key, str) for key in checked):
        raise SchemaError("each of partitions must be a str")
    if len(set(checked)) != len(checked):
        raise SchemaError(f"partitions must be distinct, one for each ragged level, found {checked}")
    if len(checked) >= MAX_RANK:
        raise SchemaError(f"a feature must have fewer than {MAX_RANK} partitions, found {len(checked)}")
    return checked


def _check_names(names: Iterable[str], dtype: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise SchemaError("names must be a list of names, found one str: write [name]")
    checked = tuple(names)
    if checked and dtype not in INTEGERS:
        raise SchemaError(f"names are those of the classes that an integer numbers, found dtype {dtype}")
    if not all(isinstance(name, str) for name in checked):
        raise SchemaError("each of names must be a str")
    if len(set(checked)) != len(checked):
        twice = next(name for name in checked if checked.count(name) > 1)
        raise SchemaError(f"names must be distinct, one for each class; {twice!r} occurs twice")
    return checked


def _names_text(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, names[:_NAMES_SHOWN]))
    if len(names) > _NAMES_SHOWN:
        return f"({shown}, and {len(names) - _NAMES_SHOWN} more)"
    return f"({shown}{',' if len(names) == 1 else ''})"


class Sections(NamedTuple):
    """The features of a schema by section; ``sequence`` is None for Examples."""

    context: Mapping[str, Feature]
    sequence: Mapping[str, Feature] | None = None
