"""Turns what the frame scanner found into errors that a person can act on."""

from __future__ import annotations

from typing import Any

from penstock._core import Fault
from penstock.compression.detect import detect, starts_plain
from penstock.errors import ChecksumError, CorruptDataError, RecordTooLargeError, TruncatedError


def error_of(
    fault: Fault, path: str, hint: str = "", *, stop: int | None = None, record: int | None = None, shift: int = 0
) -> CorruptDataError:
    """The exception that a fault becomes.

    ``hint`` says what the file seems to be instead, ``stop`` where the damage ends, if that is known better than by the
    fault. ``record`` stands for the fault's own number; ``shift`` is added to its offset.
    """
    offset = fault.offset + shift
    record = fault.record if record is None else record
    where = f"{path}, record {record}, byte {offset}"
    place: dict[str, Any] = {"path": path, "offset": offset, "record": record, "kind": fault.kind}
    match fault.kind:
        case "length-crc":
            return ChecksumError(f"the header's checksum does not match: {where}{hint}", stop=stop, **place)
        case "data-crc":
            what = f"the payload's checksum does not match: {where} (payload at byte {offset + 12})"
            return ChecksumError(what, stop=stop or offset + fault.need, **place)
        case "too-large":
            what = f"the record claims {fault.need} bytes, more than max_record_bytes allows"
            return RecordTooLargeError(f"{what}: {where}", stop=stop, **place)
        case "truncated-header":
            what = f"the input ends inside a record's header (12 bytes needed, {fault.have} there)"
            return TruncatedError(f"{what}: {where}{hint}", stop=stop or offset + fault.have, **place)
        case _:
            what = f"the input ends inside a record ({fault.need} bytes needed, {fault.have} there)"
            return TruncatedError(f"{what}: {where}", stop=stop or offset + fault.have, **place)


def doubt_of(path: str, records: int, *, record: int, offset: int, stop: int) -> CorruptDataError:
    """The error that stands for records of which it is not known whether they are the file's own."""
    what = f"{records} records may lie inside the payload of a damaged record"
    where = f"{path}, record {record}, byte {offset}"
    place: dict[str, Any] = {"path": path, "offset": offset, "stop": stop, "record": record}
    return CorruptDataError(f"{what}: {where}", kind="doubtful", records=records, **place)


def lookalike(head: bytes, what: str = "this") -> str:
    """Name what starts with ``head`` seems to be, with what to do; ``what`` is the subject of the sentence."""
    text = head[:1024].lstrip().lower()
    if head.startswith(b"version https://git-lfs"):
        return f"; {what} is a Git LFS pointer, not the data: run  git lfs pull"
    if text.startswith((b"<!doctype html", b"<html", b"<?xml")):
        return f"; {what} is an HTML or XML page, probably the error page of a download"
    compression = detect(head)
    if compression:
        return f"; {what} is {compression} data: read it with compression={compression!r}, or leave that to 'auto'"
    if starts_plain(head):
        return f"; {what} is plain TFRecord data: read it with compression='', or leave that to 'auto'"
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return f"; {what} is {name}, not a TFRecord"
    if head and head == bytes(len(head)):
        return f"; {what} starts with zeros: a disk was full, or a download never finished"
    if head[257:262] == b"ustar":
        return f"; {what} is a tar archive, not a TFRecord"
    return f"; is {what} a TFRecord file at all?"


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
