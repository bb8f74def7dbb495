"""The exceptions that Penstock raises.

::

    PenstockError
    ├── CorruptDataError          path, offset, stop, record, kind
    │   ├── TruncatedError        the input ends inside a record or a compressed stream
    │   ├── ChecksumError         stored and computed checksums differ
    │   ├── RecordTooLargeError   a record is longer than ``max_record_bytes``
    │   └── CompressionError      a compressed stream cannot be inflated
    ├── MalformedExampleError     path, record, feature: a record that is no Example, or does not fit its schema
    ├── SchemaError               also a ValueError: a schema that cannot be, or does not fit its use
    ├── ManifestError             also a ValueError: a manifest that is none, or that is not understood
    ├── IndexFileError            also a ValueError: an index file that is none, or that is not understood
    │   └── StaleIndexError       an index that belongs to other data
    ├── ExpressionError           also a ValueError: text, position: a condition that is none, or fits no columns
    ├── WorkerError               a worker process died, or raised what cannot be sent
    ├── StateError                also a ValueError: a saved state that does not fit the data or the pipeline
    ├── NotSeekableError          also a ValueError: an order that needs random access to files that have none
    └── MissingExtraError         also an ImportError: an optional dependency is not installed

Errors of the operating system (``FileNotFoundError``, ``PermissionError``, a full disk) pass through unchanged.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias, TypeVar


class PenstockError(Exception):
    """Root of all errors that Penstock defines."""


class CorruptDataError(PenstockError):
    """Data that violates its format."""

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        stop: int | None = None,
        record: int | None = None,
        kind: str = "corrupt",
        records: int = 0,
        seems: str = "",
        compression: str | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        """The file, as it was named when it was opened."""
        self.offset = offset
        """Byte offset of the damaged record (in the uncompressed stream, where the file is compressed)."""
        self.stop = stop
        """Byte offset of the end of the damaged record, if known; None: all from ``offset`` on is in doubt."""
        self.record = record
        """Number of the damaged record, counted from 0."""
        self.kind = kind
        """A short, stable name of the cause, such as ``data-crc``."""
        self.records = records
        """How many records are in doubt, where the kind is ``doubtful``."""
        self.seems = seems
        """Where the file does not even begin as it should, what it seems to be, such as ``this is GZIP data``."""
        self.compression = compression
        """The compression that the file seems to have, where it was read by another."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross process borders; the default would lose the keyword arguments.
        return _rebuild, (type(self), str(self), vars(self))


_Error = TypeVar("_Error", bound=PenstockError)


def _rebuild(cls: type[_Error], message: str, details: dict[str, Any]) -> _Error:
    error = cls(message)
    vars(error).update(details)  # notes that were added included
    return error


class TruncatedError(CorruptDataError):
    """The input ends inside a record or inside a compressed stream."""


class ChecksumError(CorruptDataError):
    """A stored checksum does not match the bytes that it covers."""


class RecordTooLargeError(CorruptDataError):
    """A record claims to be longer than ``max_record_bytes``."""


class CompressionError(CorruptDataError):
    """A compressed stream cannot be inflated."""


MAY_BE_ABSENT = "optional=True or a default lets it be absent"
"""What to do about a feature that a record lacks, in the words of a schema."""


class MalformedExampleError(PenstockError):
    """A record that is no Example, or one that does not fit its schema."""

    def __init__(
        self, message: str, *, path: str | None = None, record: int | None = None, feature: str | None = None
    ) -> None:
        super().__init__(message)
        self.path = path
        """The file, as it was named when it was opened."""
        self.record = record
        """Number of the record in the file, counted from 0."""
        self.feature = feature
        """Name of the feature that does not fit, where it is known."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), str(self), vars(self))


class SchemaError(PenstockError, ValueError):
    """A schema that contradicts itself, a schema file that is none, or data that cannot have the schema."""


class ManifestError(PenstockError, ValueError):
    """A manifest that is none, or that asks for what this version does not know."""


class IndexFileError(PenstockError, ValueError):
    """An index file that is none, or that asks for what this version does not know."""


class StaleIndexError(IndexFileError):
    """An index that belongs to other data: the file that it stands for changed, or is another."""


class ExpressionError(PenstockError, ValueError):
    """A condition that cannot be parsed, or that does not fit the columns."""

    def __init__(self, message: str, *, text: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.text = text
        """The condition."""
        self.position = position
        """Where in it something is wrong, in characters from 0."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), str(self), vars(self))


class WorkerError(PenstockError):
    """A worker process died, or raised an error that cannot be sent to another process."""


class StateError(PenstockError, ValueError):
    """A saved state that does not fit the data or the pipeline that is to go on from it."""


class NotSeekableError(PenstockError, ValueError):
    """An order that needs random access to files that do not have it."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        """The first of the files, as it was named when it was opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), str(self), vars(self))


class MissingExtraError(PenstockError, ImportError):
    """An optional dependency is needed and not installed."""


def import_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or raise an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if (error.name or module).partition(".")[0] != module.partition(".")[0]:
            message = f"{purpose} needs the package {module!r}, which is there and cannot be imported: {error}"
            raise MissingExtraError(message, name=module) from error
        raise MissingExtraError(
            f"{purpose} needs the package {module!r}: install it with  pip install 'penstock[{extra}]'", name=module
        ) from error


Locate: TypeAlias = Callable[[int], tuple[str | None, int]]
"""Returns the file and the record that a row of a batch comes from."""


class RowFault(Exception):
    """What is wrong with one row."""

    def __init__(self, row: int, message: str, feature: str | None = None) -> None:
        super().__init__(message)
        self.row = row
        self.message = message
        self.feature = feature


def malformed(fault: RowFault, locate: Locate) -> MalformedExampleError:
    """Return the error for a record that does not decode."""
    path, record = locate(fault.row)
    parts = [path, f"record {record}", None if fault.feature is None else f'feature "{fault.feature}"']
    where = ", ".join(part for part in parts if part is not None)
    return MalformedExampleError(f"{fault.message}: {where}", path=path, record=record, feature=fault.feature)
