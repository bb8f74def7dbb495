"""``tf.errors``: TensorFlow's exceptions by name, each of them also an exception of Penstock or Python.

So ``except tf.errors.NotFoundError`` and ``except FileNotFoundError`` both catch a missing file.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.errors import MAY_BE_ABSENT, CorruptDataError, MalformedExampleError, PenstockError, SchemaError
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow


class OpError(PenstockError):
    """Root of the errors that operations raise."""

    _code = 2

    def __init__(self, *args: Any) -> None:
        """Create with a message, or with TensorFlow's arguments: node_def, op and message."""
        super().__init__(*(args[2:3] if len(args) > 2 else args))

    @property
    def message(self) -> str:
        """What went wrong."""
        return str(self)

    @property
    def error_code(self) -> int:
        """The number that TensorFlow gives this kind of error."""
        return self._code


class CancelledError(OpError):
    """Work was cancelled."""

    _code = 1


class UnknownError(OpError):
    """An error of unknown cause."""

    _code = 2


class InvalidArgumentError(OpError, ValueError):
    """An invalid argument; a record that is not an Example, or does not match its feature description."""

    _code = 3


class DeadlineExceededError(OpError, TimeoutError):
    """Work took too long."""

    _code = 4


class NotFoundError(OpError, FileNotFoundError):
    """A file does not exist."""

    _code = 5


class AlreadyExistsError(OpError, FileExistsError):
    """A file exists already."""

    _code = 6


class PermissionDeniedError(OpError, PermissionError):
    """No permission to read or write a file."""

    _code = 7


class ResourceExhaustedError(OpError, OSError):
    """A disk is full, or something is larger than allowed."""

    _code = 8


class FailedPreconditionError(OpError, OSError):
    """An object is in the wrong state: a closed writer, a directory that is not empty."""

    _code = 9


class AbortedError(OpError):
    """Work was aborted."""

    _code = 10


class OutOfRangeError(OpError, IndexError):
    """An iterator is exhausted, or an index is out of range."""

    _code = 11


class UnimplementedError(OpError, NotImplementedError):
    """TensorFlow supports this; penstock.tf does not."""

    _code = 12


class InternalError(OpError):
    """A bug."""

    _code = 13


class UnavailableError(OpError, OSError):
    """A remote store cannot be reached."""

    _code = 14


class DataLossError(OpError, CorruptDataError):
    """Damaged data."""

    _code = 15


class UnauthenticatedError(OpError, PermissionError):
    """A remote store requires credentials."""

    _code = 16


_BY_ERRNO: dict[int | None, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EEXIST: AlreadyExistsError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
}

# Remote stores raise these without an errno.
_BY_TYPE: tuple[tuple[type[OSError], type[OpError]], ...] = (
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
)


def as_tensorflow_error(error: Exception) -> Exception:
    """Return the error that TensorFlow would raise; an error without a counterpart is returned unchanged."""
    if isinstance(error, OpError):
        return error
    if isinstance(error, CorruptDataError):
        found = DataLossError(str(error))
        vars(found).update(vars(error))  # path, offset, record
        return found
    if isinstance(error, MalformedExampleError | SchemaError):
        return InvalidArgumentError(str(error).replace(MAY_BE_ABSENT, "a default_value lets it be absent"))
    if isinstance(error, OSError):
        where = f"{error.filename}; " if error.filename else ""
        by_type = next((found for base, found in _BY_TYPE if isinstance(error, base)), UnknownError)
        kind = _BY_ERRNO.get(error.errno, by_type)
        return kind(f"{where}{error.strerror or error}")
    return error


_BY_PYTHON: tuple[tuple[tuple[type[Exception], ...], type[OpError]], ...] = (
    ((OpError,), UnknownError),  # some are ValueErrors here, but not in TensorFlow
    ((ValueError, TypeError), InvalidArgumentError),
    ((StopIteration,), OutOfRangeError),
    ((MemoryError,), ResourceExhaustedError),
    ((NotImplementedError,), UnimplementedError),
)


def error_of_python(error: Exception) -> OpError:
    """Return the error that TensorFlow raises when a Python function in a graph raises this one."""
    kind = next((found for bases, found in _BY_PYTHON if isinstance(error, bases)), UnknownError)
    return kind(f"{type(error).__name__}: {error}")


@contextmanager
def tensorflow_errors() -> Iterator[None]:
    """Raise TensorFlow's errors in place of Penstock's and the operating system's."""
    try:
        yield
    except (PenstockError, OSError) as error:
        found = as_tensorflow_error(error)
        if found is error:
            raise
        raise found from error


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("errors", name)
