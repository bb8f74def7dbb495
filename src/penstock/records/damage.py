"""Turn the faults that the frame scanner finds into errors that say what to do."""

from __future__ import annotations

import codecs
from typing import Any, NamedTuple

from penstock._core import Fault
from penstock.compression.detect import detect, starts_plain
from penstock.errors import ChecksumError, CorruptDataError, RecordTooLargeError, TruncatedError

THE_FILE = "this"
"""The subject of a message about a file as it is stored."""


class Lookalike(NamedTuple):
    """What a file that does not start with a record seems to be; as text, the end of an error message."""

    what: str
    """A sentence."""
    compression: str | None = None
    """The compression to read it with, if it is a TFRecord after all."""

    def __str__(self) -> str:
        if self.compression is None:
            return f"; {self.what}"
        return f"; {self.what}: read it with compression={self.compression!r}, or leave that to 'auto'"


def error_of(
    fault: Fault,
    path: str,
    instead: Lookalike | None = None,
    *,
    stop: int | None = None,
    record: int | None = None,
    shift: int = 0,
) -> CorruptDataError:
    """Return the exception for a fault.

    Args:
        fault: What the scanner found.
        path: The path of the file.
        instead: What the file seems to be.
        stop: Where the damage ends, if that is better known than by the fault.
        record: The number of the record, instead of the fault's own.
        shift: Added to the fault's offset.
    """
    offset = fault.offset + shift
    record = fault.record if record is None else record
    where = f"{path}, record {record}, byte {offset}"
    location: dict[str, Any] = {"path": path, "offset": offset, "record": record, "kind": fault.kind}
    hint, seems = describe(instead)
    match fault.kind:
        case "length-crc":
            return ChecksumError(f"the header's checksum does not match: {where}{hint}", stop=stop, **seems, **location)
        case "data-crc":
            what = f"the payload's checksum does not match: {where} (payload at byte {offset + 12})"
            return ChecksumError(what, stop=stop or offset + fault.need, **location)
        case "too-large":
            what = f"the record claims {fault.need} bytes, more than max_record_bytes allows"
            return RecordTooLargeError(f"{what}: {where}", stop=stop, **location)
        case "truncated-header":
            what = f"the input ends inside a record's header (12 bytes needed, {fault.have} there)"
            return TruncatedError(f"{what}: {where}{hint}", stop=stop or offset + fault.have, **seems, **location)
        case _:
            what = f"the input ends inside a record ({fault.need} bytes needed, {fault.have} there)"
            return TruncatedError(f"{what}: {where}", stop=stop or offset + fault.have, **location)


def doubt_of(path: str, records: int, *, record: int, offset: int, stop: int) -> CorruptDataError:
    """Return the error for records that may be inside the payload of a damaged record."""
    what = f"{records} records may lie inside the payload of a damaged record"
    where = f"{path}, record {record}, byte {offset}; if no payload holds TFRecords, nested=False reads them"
    location: dict[str, Any] = {"path": path, "offset": offset, "stop": stop, "record": record}
    return CorruptDataError(f"{what}: {where}", kind="doubtful", records=records, **location)


def describe(instead: Lookalike | None) -> tuple[str, dict[str, Any]]:
    """Return the end of the message, and the attributes, of an error about a file that seems to be something else."""
    return ("", {}) if instead is None else (str(instead), {"seems": instead.what, "compression": instead.compression})


def lookalike(head: bytes, what: str = THE_FILE) -> Lookalike:
    """Return what data that starts with ``head`` seems to be; ``what`` is the subject of the sentence."""
    text = head[:1024].lstrip().lower()
    if head.startswith(b"version https://git-lfs"):
        return Lookalike(f"{what} is a Git LFS pointer, not the data: run  git lfs pull")
    if text.startswith((b"<!doctype html", b"<html", b"<?xml")):
        page = "the error page of a download, or the list of a folder that a web server makes"
        return Lookalike(f"{what} is an HTML or XML page: {page}")
    compression = detect(head)
    if compression and what != THE_FILE:
        return Lookalike(f"{what} is {compression} data: it was compressed twice, unpack it once")
    if compression:
        return Lookalike(f"{what} is {compression} data", compression)
    if starts_plain(head):
        return Lookalike(f"{what} is plain TFRecord data", "")
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return Lookalike(f"{what} is {name}, not a TFRecord{_ADVICE.get(name, '')}")
    if head and head == bytes(len(head)):
        return Lookalike(f"{what} starts with zeros: a disk was full, or a download never finished")
    if head[257:262] == b"ustar":
        return Lookalike(f"{what} is a tar archive, not a TFRecord")
    if _is_text(head[:1024]):
        return Lookalike(f"{what} is text, not a TFRecord: of .csv and .jsonl, {_CONVERT}; {_PASS_ON}")
    return Lookalike(f"is {what} a TFRecord file at all?")


def _is_text(head: bytes) -> bool:
    """Return whether bytes are the start of a text; the last character may be incomplete."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return text.translate(_BLANKS).isprintable() and bool(text)


_BLANKS = str.maketrans("\t\r\n", "   ")
_CONVERT = "penstock convert FILE -o NAME  makes one"
_PASS_ON = "penstock cat passes records on with --format tfrecord"
_ADVICE = dict.fromkeys(("a Parquet file", "an Arrow file", "JSON text"), f":  {_CONVERT}")
_MAGIC = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ\x00": "xz data",
    b"\x28\xb5\x2f\xfd": "zstd data",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x89HDF": "an HDF5 file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"{": "JSON text",
}
