"""What is wrong with a file: the problem, its likely cause, and how an exception becomes one."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from penstock import _core
from penstock.compression import detect
from penstock.errors import CorruptDataError, MalformedExampleError, MissingExtraError, NotSeekableError, PenstockError
from penstock.storage import FileStore, is_remote, locate

Cause: TypeAlias = Literal[
    "bit rot",
    "missing bytes",
    "appended bytes",
    "overwritten, missing or extra bytes",
    "copied as text",
    "truncated",
    "missing",
    "torn tail",
    "zero-filled block",
    "wrong compression",
    "not a TFRecord",
    "too large",
    "in doubt",
    "other",
]

MALFORMED = "malformed-example"
"""The kind of a record that is not an Example, or does not fit its schema."""

MEANINGS = {
    "data-crc": "the payload's checksum does not match",
    "length-crc": "the header's checksum does not match",
    "too-large": "the record is longer than max_record_bytes",
    "truncated-header": "the file ends inside a record's header",
    "truncated-record": "the file ends inside a record",
    "truncated-stream": "the compressed stream is incomplete",
    "inflate": "the compressed data cannot be inflated",
    "stream-crc": "the checksum of the compressed stream does not match",
    "trailing-bytes": "extra bytes follow the compressed stream",
    "doubtful": "records that may be inside the payload of a damaged record",
    "missing": "the file does not exist",
    "changed": "the file changed while it was read",
    "empty": "the file is empty",
}
"""What is wrong, by the kind of a CorruptDataError."""

# The hidden name of a file that is being written.
_PARTIAL = re.compile(r"(^|[/\\])\.([^/\\]+)\.[0-9a-f]{8}\.partial$")

# The smallest unit that disks and file systems lose.
_SECTOR = 512
# These many bytes identify a gzip or zlib stream.
_HEAD = 64
# How much of a damaged range is examined.
_EXAMINED = 1 << 20
# A transfer in text mode changes the whole file: this much after the damage shows it.
_EXAMINED_AFTER = 64 << 10
# A length with this many wrong bits is still recognized.
_FEW_BITS = 2
# This many line ends that are all CRLF are no coincidence: fewer than one range in 2**32.
_MANY_LINES = 4


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with one file.

    >>> (problem,) = ps.verify("gone.tfrecord").problems
    >>> problem.kind
    'not-found'
    >>> print(problem)
    gone.tfrecord: no such file or directory; check the name
    """

    path: str
    kind: str
    """A stable word, such as ``"data-crc"``: see ``docs/records.md``."""
    cause: str
    """What is wrong, in a sentence."""
    record: int | None = None
    offset: int | None = None
    stop: int | None = None
    damage: str | None = None
    """What most likely happened, in a word or two."""
    feature: str | None = None
    """The feature that does not fit, if known."""
    error: Exception | None = field(default=None, repr=False, compare=False)
    """The exception that describes it, which was not raised."""

    def __str__(self) -> str:
        """Return the location and the cause, in one line."""
        where = [self.path] if self.path else []
        if self.record is not None:
            where.append(f"record {self.record}")
        if self.offset is not None:
            stop = "" if self.stop is None else f" to {self.stop}"
            where.append(f"byte {self.offset}{stop}")
        what = f"{self.damage}, {self.cause}" if self.damage else self.cause
        return f"{', '.join(where)}: {what}" if where else what

    def _document(self, advise: Callable[[Problem], str] | None = None) -> dict[str, Any]:
        """Return the problem as JSON values, with what ``advise`` returns as ``"advice"``."""
        found: dict[str, Any] = {}
        for entry in fields(self):
            if entry.name != "error":
                found[entry.name] = getattr(self, entry.name)
            if entry.name == "cause" and advise is not None:
                found["advice"] = advise(self)
        return found


def problem_of(path: str, error: Exception) -> Problem:
    """Return the problem that an exception describes, which was raised while ``path`` was read or written."""
    if isinstance(error, CorruptDataError):
        cause = MEANINGS.get(error.kind, str(error)) + (f"; {error.seems}" if error.seems else "")
        location: dict[str, Any] = {"record": error.record, "offset": error.offset, "stop": error.stop}
        return Problem(path, error.kind, cause, **location, damage=cause_of(error), error=error)
    if isinstance(error, MalformedExampleError):
        feature = "" if error.feature is None else f', feature "{error.feature}"'
        cause = str(error).removesuffix(f": {error.path}, record {error.record}{feature}")
        cause = f"{feature.removeprefix(', ')}: {cause}" if feature else cause
        return Problem(error.path or path, MALFORMED, cause, record=error.record, feature=error.feature, error=error)
    if isinstance(error, FileNotFoundError):
        cause = _first_lower(error.strerror or "no such file or directory")
        return Problem(path, "not-found", f"{cause}; {_suggestion(path)}", error=error)
    if isinstance(error, OSError) and error.strerror:
        return _problem_of_system(path, error)
    if isinstance(error, NotSeekableError):
        cause = "it is one compressed stream, without random access"
        return Problem(error.path or path, "not-seekable", cause, error=error)
    if isinstance(error, PenstockError):
        kind = "missing-extra" if isinstance(error, MissingExtraError) else "error"
        return Problem(path, kind, str(error), error=error)
    return Problem(path, "not-readable", f"{error} ({type(error).__name__})", error=error)


def problem_among(paths: Sequence[str], error: Exception) -> Problem:
    """Return the problem that an exception describes, which was raised while any of the ``paths`` was read."""
    path, filename = getattr(error, "path", None), getattr(error, "filename", None)
    if filename in paths or isinstance(error, FileNotFoundError):
        path = path or filename
    return problem_of(path or ("" if isinstance(error, PenstockError) else paths[0]), error)


def _problem_of_system(path: str, error: OSError) -> Problem:
    """Distinguish reading from writing: a path that does not exist, and is not that of the input, is an output."""
    found = error.filename if isinstance(error.filename, str) else path
    cause = _first_lower(error.strerror or "")
    denied = isinstance(error, PermissionError)
    if is_remote(found):
        return Problem(found, "not-readable", cause, error=error)
    if found == path or os.path.lexists(found):
        return Problem(found, "not-readable", "no permission to read it" if denied else cause, error=error)
    cause = f"it cannot be written: {'no permission' if denied else cause}"
    return Problem(_PARTIAL.sub(r"\1\2", found), "not-writable", cause, error=error)


def _suggestion(path: str) -> str:
    """Return what to do about a file that does not exist, by what exists in its place."""
    if is_remote(path):
        return "check the address"
    if os.path.isdir(path):
        return "to read files of other names, name them"
    if os.path.islink(path):
        return f"it is a link to {os.readlink(path)}"
    if path.startswith("~"):
        return "a shell expands ~ only where it is not quoted"
    folder, name = os.path.split(path)
    unfinished = glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.*.partial"))
    if unfinished:
        return f"its writer did not finish, what it had flushed is in {unfinished[0]}"
    if not os.path.isdir(folder or "."):
        return f"there is no directory {folder}"
    names = os.listdir(folder or ".")
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.8) or sorted(
        n for n in names if name and n.startswith(name)
    )
    return f"did you mean {os.path.join(folder, near[0])}?" if near else "check the name"


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def cause_of(error: CorruptDataError) -> Cause:
    """Return what most likely happened, judged by the damaged bytes."""
    match error.kind:
        case "truncated-stream" | "empty":
            return "truncated"
        case "missing":
            return "missing"
        case "too-large":
            return "too large"
        case "doubtful":
            return "in doubt"
        case "trailing-bytes" | "changed":
            return "other"
    if error.compression is not None:
        return "wrong compression"
    if error.seems and error.kind in ("length-crc", "inflate"):
        return "not a TFRecord"
    damaged = _DamagedRange.of(error)
    if error.kind in ("truncated-header", "truncated-record"):
        # If a record follows, the file does not end there: the header claims bytes that are gone.
        return "torn tail" if damaged is None or damaged.stop == damaged.file_size else "missing bytes"
    return "bit rot" if damaged is None else damaged.cause()


@dataclass(frozen=True)
class _DamagedRange:
    """The damaged bytes of a plain file: from the start of a record to that of the next whole one."""

    start: int
    stop: int
    file_size: int
    data: bytes
    """The bytes, as far as they are examined."""
    around: bytes
    """The same, and some of the bytes that follow."""

    @classmethod
    def of(cls, error: CorruptDataError) -> _DamagedRange | None:
        """Read the range; return None if it is unknown, or the file is compressed."""
        if error.path is None or error.path == "-" or error.offset is None or error.stop is None:
            return None
        store, path = locate(error.path)
        try:
            size = store.stat(path).size
            if size is None or _is_compressed(store, path):
                return None
            stop = max(error.stop, min(size, error.offset + _EXAMINED_AFTER))
            data = store.read(path, error.offset, min(stop, error.offset + _EXAMINED))
        except OSError:
            return None
        return cls(error.offset, error.stop, size, data[: error.stop - error.offset], data)

    def cause(self) -> Cause:
        if self._is_text_copy():
            return "copied as text"
        if self._has_zero_sector():
            return "zero-filled block"
        payload_bytes = self.stop - self.start - 16
        length = int.from_bytes(self.data[:8], "little")
        if payload_bytes >= 0 and (length ^ payload_bytes).bit_count() <= _FEW_BITS:
            return "bit rot"  # the record is as long as it was
        if self._header_is_sound():
            return "missing bytes" if length > payload_bytes else "overwritten, missing or extra bytes"
        if self._payload_is_sound():
            return "bit rot"
        return "appended bytes" if self.stop == self.file_size else "overwritten, missing or extra bytes"

    def _header_is_sound(self) -> bool:
        return len(self.data) >= 12 and _masked_crc(self.data[:8]) == self.data[8:12]

    def _payload_is_sound(self) -> bool:
        is_complete = len(self.data) == self.stop - self.start >= 16
        return is_complete and _masked_crc(self.data[12:-4]) == self.data[-4:]

    def _is_text_copy(self) -> bool:
        """Whether every line feed follows a carriage return, as after a transfer in text mode."""
        lines = self.around.count(b"\n")
        return lines >= _MANY_LINES and self.around.count(b"\r\n") == lines

    def _has_zero_sector(self) -> bool:
        """Whether the range has a sector of zeros, or zeros in place of a header."""
        if not any(self.data[:12]) and len(self.data) >= 12:
            return True
        first = -self.start % _SECTOR
        zeros = bytes(_SECTOR)
        starts = range(first, len(self.data) - _SECTOR + 1, _SECTOR)
        return any(self.data[at : at + _SECTOR] == zeros for at in starts)


def _masked_crc(data: bytes) -> bytes:
    """Return the checksum of some bytes as a frame stores it."""
    return _core.mask_crc(_core.crc32c(data)).to_bytes(4, "little")


def _is_compressed(store: FileStore, path: str) -> bool:
    return bool(detect(store.read(path, 0, _HEAD)))
