"""What the person at the command line can do about a problem."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import CorruptDataError
from penstock.integrity.problems import MALFORMED, Problem
from penstock.storage import is_remote

LOOK_AT_BYTES = "to look at records that are not Examples, use  penstock cat FILE"

_REPAIR = "penstock repair FILE -o NEW"
_CUT_SHORT = f"its writer was killed or a copy broke off; copy it again, or save its whole records with  {_REPAIR}"
_SAVE = f"restore the file, or save the good records with  {_REPAIR}"
_COPY_ALL = "copy the dataset again, all of its files"
_FILE_IS_MISSING = "a file is missing"

# By the kind of a problem.
_ADVICE = {
    "data-crc": f"its bytes changed after they were written; {_SAVE}",
    "length-crc": f"the record's length is lost, and records up to the next one that checks out; {_SAVE}",
    "too-large": "if it is meant to be so long, give --max-record-bytes a larger number",
    "truncated-header": _CUT_SHORT,
    "truncated-record": _CUT_SHORT,
    "truncated-stream": _CUT_SHORT,
    "inflate": f"a gzip file goes on at its next member, any other ends there; {_SAVE}",
    "stream-crc": "the records before it match their own checksums; restore the file, "
    f"or write them to a new one with  {_REPAIR}",
    "trailing-bytes": f"all records before them are good; write these to a new file with  {_REPAIR}",
    "doubtful": f"if no record holds TFRecords itself, they belong to the file; save them with  {_REPAIR} --flat",
    "missing": _COPY_ALL,
    "changed": "wait until its writer is done, then try again",
    "empty": "its writer was killed, or a download failed; fetch it again",
    "not-seekable": "shuffle a copy, which has it:  penstock convert FILE -o COPY",
    "shard-missing": _COPY_ALL,
    "manifest-missing": _COPY_ALL,
    "manifest-appended": "wait for the writer; if it was killed, RecordWriter(FILE, append=True).close() "
    "repairs the manifest",
    "manifest-size": "it was cut short or replaced; copy the dataset again",
    "manifest-checksum": "it is not the one that was written; copy the dataset again",
    "manifest-extra": "it is left from another dataset of the same name; remove it, or readers may take it for a "
    "part of this one",
}

# When the advice holds, where the cause names a single file.
_CASES = {
    "shard-missing": _FILE_IS_MISSING,
    "manifest-missing": _FILE_IS_MISSING,
    "manifest-appended": "a writer appends to a file",
    "manifest-size": "a file has another size",
    "manifest-checksum": "a file has another checksum",
    "manifest-extra": "there is a file too many",
    "not-readable": "a file cannot be read",
}


def advice_for(problem: Problem, malformed: str = "") -> str:
    """Return what to do about one problem; ``malformed`` is for records that do not fit the schema."""
    error = problem.error
    if problem.kind == MALFORMED:
        return malformed
    if isinstance(error, CorruptDataError) and error.seems:  # which says more than the kind
        return "" if error.compression is None else "leave out --compression"
    denied = isinstance(error, PermissionError)
    if problem.kind == "not-readable":
        if is_remote(problem.path):
            return "" if denied else "check the address, the connection, and your access to it"
        return "read it as its owner, or ask for permission" if denied else ""
    if problem.kind == "not-writable":
        return "choose another place" + (", or ask for permission" if denied else "")
    return _ADVICE.get(problem.kind, "")


def advice_on(problems: Iterable[Problem]) -> list[str]:
    """Return what to do about all problems, each piece of advice once."""
    found = [(_CASES.get(problem.kind, problem.cause), advice_for(problem)) for problem in problems]
    return list(dict.fromkeys(f"where {case}: {advice}" for case, advice in found if advice))


def note_on_numbers(problems: Iterable[Problem]) -> list[str]:
    """Explain the numbers of records where a file is damaged in several places."""
    files = [problem.path for problem in problems if problem.damage]
    if len(files) == len(set(files)):
        return []
    return ["after damage, record numbers are a lower bound: each damaged place counts as one record"]
