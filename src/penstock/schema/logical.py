"""Logical types: what the stored values of a feature mean in Arrow, pandas and Polars, such as a date.

They have Arrow's names. A struct is stored as its fields, ``a/b``, and a marker ``a``, which is False where the struct
is absent, and else absent itself, so that it takes no space. So are maps, and lists of both.
"""

from __future__ import annotations

import re

from penstock.errors import SchemaError
from penstock.schema.dtype import INTEGERS

_STORED_AS = (
    (r"date32\[day\]|time32\[m?s\]", ("int32", "int64")),
    (r"(date64\[ms\]|time64\[[un]s\]|(duration|timestamp)\[([mun]?s)\]|timestamp\[[mun]?s, tz=[^\]]+\])", ("int64",)),
    (r"decimal(32|64|128|256)\(\d{1,2}, -?\d{1,2}\)", ("str",)),
    (r"dictionary|ordered dictionary", tuple(INTEGERS)),
    (r"null", ("bool",)),
)
_NESTED = re.compile(r"((?:list<)*)(struct|map)(>*)")
MAX_LEVELS = 30
"""The most lists around a struct."""


def check_logical(logical: str | None, dtype: str, *, optional: bool, has_names: bool) -> str | None:
    """Return a logical type if a feature can have it.

    Raises:
        SchemaError: The logical type is unknown, or does not fit the other arguments of the feature.
    """
    if logical is None:
        return None
    if not isinstance(logical, str):
        raise SchemaError(f"logical must be a str, found {type(logical).__name__}")
    dtypes = next((dtypes for pattern, dtypes in _STORED_AS if re.fullmatch(pattern, logical)), ())
    if nested_levels(logical) is not None:
        dtypes = ("bool",)
    if not dtypes:
        raise SchemaError(
            f"unknown logical type {logical[:80]!r}: Arrow's name of one, such as 'timestamp[us, tz=UTC]'"
        )
    if dtype not in dtypes:
        wanted = "an integer dtype" if len(dtypes) > 2 else f"dtype {' or '.join(dtypes)}"
        raise SchemaError(f"the logical type {logical!r} needs {wanted}, found {dtype}")
    if dtypes == ("bool",) and not optional:
        raise SchemaError(f"the logical type {logical!r} needs optional=True")
    if "dictionary" in logical and not has_names:
        raise SchemaError(f"the logical type {logical!r} needs names")
    return logical


def nested_levels(logical: str | None) -> int | None:
    """Return the number of lists around a struct or map; None for another logical type."""
    found = None if logical is None else _NESTED.fullmatch(logical)
    if not found or len(found[1]) // 5 != len(found[3]) or len(found[3]) > MAX_LEVELS:
        return None
    return len(found[3])
