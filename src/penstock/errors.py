"""The exceptions that Penstock raises.

::

    PenstockError
    ├── CorruptDataError          path, offset, stop, record, kind
    │   ├── TruncatedError        the input ends inside a record or a compressed stream
    │   ├── ChecksumError         stored and computed checksums differ
    │   ├── RecordTooLargeError   a record is longer than ``max_record_bytes``
    │   └── CompressionError      a compressed stream cannot be inflated
    └── MissingExtraError         also an ImportError: an optional dependency is not installed

Errors of the operating system (``FileNotFoundError``, ``PermissionError``, a full disk) pass through unchanged.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class PenstockError(Exception):
    """Root of all errors that Penstock defines."""


class CorruptDataError(PenstockError):
    """Data that is not what its format says it must be."""

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        stop: int | None = None,
        record: int | None = None,
        kind: str = "corrupt",
    ) -> None:
        super().__init__(message)
        self.path = path
        """The file, as it was named when it was opened."""
        self.offset = offset
        """Byte offset of the damaged record (in the uncompressed stream, where the file is compressed)."""
        self.stop = stop
        """Byte offset behind the damaged record, where it is known; None: all from ``offset`` on is in doubt."""
        self.record = record
        """Number of the damaged record, counted from 0."""
        self.kind = kind
        """A short, stable name of the cause, such as ``data-crc``."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross process borders; the default would lose the keyword arguments.
        return _rebuild, (type(self), str(self), vars(self))


def _rebuild(cls: type[CorruptDataError], message: str, details: dict[str, Any]) -> CorruptDataError:
    return cls(message, **details)


class TruncatedError(CorruptDataError):
    """The input ends inside a record or inside a compressed stream."""


class ChecksumError(CorruptDataError):
    """A stored checksum does not match the bytes that it covers."""


class RecordTooLargeError(CorruptDataError):
    """A record claims to be longer than ``max_record_bytes``."""


class CompressionError(CorruptDataError):
    """A compressed stream cannot be inflated."""


class MissingExtraError(PenstockError, ImportError):
    """An optional dependency is needed and not installed."""


def import_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or raise an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package {module!r}: install it with  pip install 'penstock[{extra}]'", name=module
        ) from error
