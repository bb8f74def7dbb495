"""What went wrong with a file, and what its owner can do about it."""

from __future__ import annotations

import difflib
import errno
import glob
import os
import re
from dataclasses import asdict, dataclass
from typing import Any

from penstock.discovery.resolve import is_file_error
from penstock.errors import CorruptDataError, MalformedExampleError, MissingExtraError, NotSeekableError, PenstockError
from penstock.integrity.problems import cause_of
from penstock.storage import is_remote

_REPAIR = "penstock repair FILE -o NEW"
_CUT_SHORT = f"its writer was killed or a copy broke off; copy it again, or keep its whole records with  {_REPAIR}"
_KEEP = f"restore the file, or keep the good records with  {_REPAIR}"

COPY_ALL = "copy the dataset again, all of its files"
MALFORMED = "malformed-example"
"""The kind of a record that is no Example, or does not fit its schema."""
A_FILE_IS_MISSING = "a file is missing"
LOOK_AT_BYTES = "to look at records that are no Examples, use  penstock cat FILE"

# The hidden name of a file that is being written.
_PARTIAL = re.compile(r"(^|[/\\])\.([^/\\]+)\.[0-9a-f]{8}\.partial$")

# By the kind of a CorruptDataError: what it means, and what to do.
MEANINGS = {
    "data-crc": (
        "the payload's checksum does not match",
        f"its bytes changed after they were written; {_KEEP}",
    ),
    "length-crc": (
        "the header's checksum does not match",
        f"the record's length is lost, and records up to the next one that checks out; {_KEEP}",
    ),
    "too-large": (
        "the record is longer than --max-record-bytes",
        "if it is meant to be so long, give --max-record-bytes a larger number",
    ),
    "truncated-header": ("the file ends inside a record's header", _CUT_SHORT),
    "truncated-record": ("the file ends inside a record", _CUT_SHORT),
    "truncated-stream": ("the compressed stream is incomplete", _CUT_SHORT),
    "inflate": (
        "the compressed data cannot be inflated",
        f"a gzip file goes on at its next member, any other ends there; {_KEEP}",
    ),
    "stream-crc": (
        "the checksum of the compressed stream does not match",
        f"the records before it match their own checksums; restore the file, or write them anew with  {_REPAIR}",
    ),
    "trailing-bytes": (
        "something follows the compressed stream",
        f"all records before it are good; write them anew, without it, with  {_REPAIR}",
    ),
    "doubtful": (
        "records that may lie inside the payload of a damaged record",
        f"if no record holds TFRecords itself, they are the file's own; keep them with  {_REPAIR} --flat",
    ),
    "missing": ("the file is not there", COPY_ALL),
    "changed": ("the file changed while it was read", "wait until its writer is done, then try again"),
    "empty": ("the file is empty", "its writer was killed, or a download failed; fetch it again"),
}

# What a disk, or a quota, answers to a write.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with one file."""

    path: str
    kind: str
    cause: str
    advice: str = ""
    record: int | None = None
    offset: int | None = None
    stop: int | None = None
    damage: str | None = None
    """What most likely happened, in a word or two."""
    feature: str | None = None
    """The feature that does not fit, where it is known."""
    case: str = ""
    """Where the advice holds, if that is not the cause."""

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "case"}

    def __str__(self) -> str:
        """Where and what, in one line."""
        place = [self.path] if self.path else []
        if self.record is not None:
            place.append(f"record {self.record}")
        if self.offset is not None:
            stop = "" if self.stop is None else f" to {self.stop}"
            place.append(f"byte {self.offset}{stop}")
        what = f"{self.damage}, {self.cause}" if self.damage else self.cause
        return f"{', '.join(place)}: {what}" if place else what


def advice_on(problems: list[Problem]) -> list[str]:
    """What to do about all of them, each said once."""
    cases = [(problem.case or problem.cause, problem.advice) for problem in problems if problem.advice]
    return list(dict.fromkeys(f"where {case}: {advice}" for case, advice in cases))


def note_on_numbers(problems: list[Problem]) -> list[str]:
    """Say what numbers of records mean where one file has several damaged places."""
    files = [problem.path for problem in problems if problem.damage]
    if len(files) == len(set(files)):
        return []
    return ["behind damage, records are numbered as far as they are known: a damaged place counts as one record"]


def is_expected(path: str, error: Exception) -> bool:
    """Whether an error is about the file, and not a mistake in the program."""
    if isinstance(error, BrokenPipeError):
        return False  # about whoever reads our output, and has left
    if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
        return False  # about our output, which alone has no name
    return is_file_error(path, error)


def problem_of(path: str, error: Exception) -> Problem:
    """Describe an error for the person who typed the command."""
    if isinstance(error, CorruptDataError):
        cause, advice = MEANINGS.get(error.kind, (str(error), ""))
        if error.seems:  # which is the better advice
            way_out = "" if error.compression is None else ": leave out --compression"
            cause, advice = f"{cause}; {error.seems}{way_out}", ""
        return Problem(path, error.kind, cause, advice, error.record, error.offset, error.stop, cause_of(error))
    if isinstance(error, MalformedExampleError):
        feature = "" if error.feature is None else f', feature "{error.feature}"'
        cause = str(error).removesuffix(f": {error.path}, record {error.record}{feature}")
        cause = f"{feature.removeprefix(', ')}: {cause}" if feature else cause
        return Problem(error.path or path, MALFORMED, cause, record=error.record, feature=error.feature)
    if isinstance(error, FileNotFoundError):
        cause = _first_lower(error.strerror or "no such file or directory")
        return Problem(path, "not-found", f"{cause}; {_look_around(path)}")
    if isinstance(error, OSError) and error.strerror:
        return _problem_of_system(path, error)
    if isinstance(error, NotSeekableError):
        cause, copy = "it is one compressed stream, without random access", "shuffle a copy, which has it"
        return Problem(error.path or path, "not-seekable", f"{cause}: {copy}:  penstock convert FILE -o COPY")
    if isinstance(error, PenstockError):
        kind = "missing-extra" if isinstance(error, MissingExtraError) else "error"
        return Problem(path, kind, str(error))
    return Problem(path, "not-readable", f"{error} ({type(error).__name__})", "check the address and your access to it")


def _problem_of_system(path: str, error: OSError) -> Problem:
    """Tell reading from writing: what is not there, and is not what is read, was to be written."""
    place = error.filename if isinstance(error.filename, str) else path
    denied = isinstance(error, PermissionError)
    if is_remote(place):
        advice = "" if denied else "check the address and the connection"
        return Problem(place, "not-readable", _first_lower(error.strerror or ""), advice, case="a URL cannot be read")
    if place == path or os.path.lexists(place):
        cause = "no permission to read it" if denied else _first_lower(error.strerror or "")
        advice = "read it as its owner, or ask for permission" if denied else ""
        return Problem(place, "not-readable", cause, advice, case="there is no permission")
    cause = f"it cannot be written: {'no permission' if denied else _first_lower(error.strerror or '')}"
    advice = "choose another place" + (", or ask for permission" if denied else "")
    return Problem(_PARTIAL.sub(r"\1\2", place), "not-writable", cause, advice)


def _look_around(path: str) -> str:
    """What to do about a file that is not there, by what is there instead."""
    if is_remote(path):
        return "check the address"
    if os.path.isdir(path):
        return "to read files of other names, name them"
    if os.path.islink(path):
        return f"it is a link to {os.readlink(path)}"
    if path.startswith("~"):
        return "a shell expands ~, where it is not quoted"
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
