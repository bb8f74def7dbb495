"""Turns what the frame scanner found into errors that a person can act on."""

from __future__ import annotations

from typing import Any

from penstock._core import Fault
from penstock.compression.detect import detect, starts_plain
from penstock.errors import ChecksumError, CorruptDataError, RecordTooLargeError, TruncatedError


def error_of(fault: Fault, path: str, hint: str = "", resumed: int | None = None) -> CorruptDataError:
    """The exception that a fault becomes.

    ``hint`` says what the file seems to be instead; ``resumed`` where the reader found the next record behind a header
    that it could not read.
    """
    where = f"{path}, record {fault.record}, byte {fault.offset}"
    place: dict[str, Any] = {"path": path, "offset": fault.offset, "record": fault.record, "kind": fault.kind}
    match fault.kind:
        case "length-crc":
            return ChecksumError(f"the header's checksum does not match: {where}{hint}", stop=resumed, **place)
        case "data-crc":
            what = "the payload's checksum does not match"
            stop = fault.offset + fault.need
            return ChecksumError(f"{what}: {where} (payload at byte {fault.offset + 12})", stop=stop, **place)
        case "too-large":
            what = f"the record claims {fault.need} bytes, more than max_record_bytes allows"
            return RecordTooLargeError(f"{what}: {where}", stop=resumed, **place)
        case "truncated-header":
            what = f"the input ends inside a record's header (12 bytes needed, {fault.have} there)"
            return TruncatedError(f"{what}: {where}{hint}", stop=fault.offset + fault.have, **place)
        case _:
            what = f"the input ends inside a record ({fault.need} bytes needed, {fault.have} there)"
            return TruncatedError(f"{what}: {where}", stop=fault.offset + fault.have, **place)


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
