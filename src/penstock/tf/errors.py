"""``tf.errors``: the exceptions of TensorFlow by name, each also one that Penstock or Python would raise.

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
    """Something went wrong, and nothing more is known."""

    _code = 2


class InvalidArgumentError(OpError, ValueError):
    """A value that an operation does not take; a record that is no Example, or does not fit its description."""

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
    """A file may not be read or written."""

    _code = 7


class ResourceExhaustedError(OpError, OSError):
    """A disk is full, or something is larger than allowed."""

    _code = 8


class FailedPreconditionError(OpError, OSError):
    """Something is not in a state to do this: a closed writer, a directory that is not empty."""

    _code = 9


class AbortedError(OpError):
    """Work was given up."""

    _code = 10


class OutOfRangeError(OpError, IndexError):
    """There is nothing left."""

    _code = 11


class UnimplementedError(OpError, NotImplementedError):
    """TensorFlow can do this; here it is not done."""

    _code = 12


class InternalError(OpError):
    """A bug."""

    _code = 13


class UnavailableError(OpError, OSError):
    """A remote store does not answer."""

    _code = 14


class DataLossError(OpError, CorruptDataError):
    """Damaged data."""

    _code = 15


class UnauthenticatedError(OpError, PermissionError):
    """A remote store does not know who asks."""

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

# Stores at URLs raise these without a number.
_BY_TYPE: tuple[tuple[type[OSError], type[OpError]], ...] = (
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
)


def as_tensorflow_error(error: Exception) -> Exception:
    """Return the error that TensorFlow would raise; one that it has no word for stays as it is."""
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
    ((OpError,), UnknownError),  # some of which are ValueErrors here, and not in TensorFlow
    ((ValueError, TypeError), InvalidArgumentError),
    ((StopIteration,), OutOfRangeError),
    ((MemoryError,), ResourceExhaustedError),
    ((NotImplementedError,), UnimplementedError),
)


def error_of_python(error: Exception) -> OpError:
    """Return the error that TensorFlow raises where a Python function in a graph has raised one."""
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
