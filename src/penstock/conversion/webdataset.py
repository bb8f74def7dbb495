"""Read WebDataset tars: members with the same name up to the first dot are the columns of one row.

Values are copied byte for byte: pictures as pictures, text and JSON as text, ``.cls`` and the like as integers, and
everything else as bytes. Nothing is unpickled.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from isal import igzip, isal_zlib

from penstock.conversion.pictures import EXTENSIONS
from penstock.conversion.table_stream import ArrowBatches, TableStream
from penstock.errors import (
    CorruptDataError,
    PenstockError,
    RecordTooLargeError,
    SchemaError,
    TruncatedError,
    import_extra,
)
from penstock.schema import Feature, Schema
from penstock.writing.image_features import HEAD_BYTES, common_feature, feature_of_image

TARS = (".tar", ".tar.gz", ".tgz")
"""The extensions of tars."""
_KEY = "__key__"
_INTEGERS = frozenset({"cls", "cls2", "index", "inx", "id", "count"})
_TEXT = frozenset({"txt", "text", "transcript", "json", "jsn", "caption"})
_PIECE = 1 << 20
_BLOCK_BYTES, _BLOCK_ROWS = 16 << 20, 1024


def open_webdataset(paths: Sequence[str], max_record_bytes: int) -> TableStream:
    """Return the samples of tars as rows: the key, and a column for each extension.

    The headers of all members are read before, for the columns and the formats of pictures.

    Raises:
        CorruptDataError: A tar is damaged, or a member is longer than ``max_record_bytes``.
        SchemaError: A sample has two members of the same extension, or a member has the name of the column of keys.
    """
    pa = import_extra("pyarrow", "arrow", "converting WebDataset tars")
    schema, rows = _describe(paths, max_record_bytes)
    fields = pa.schema([pa.field(name, _arrow_type(pa, f), nullable=f.optional) for name, f in schema.items()])
    reader = ArrowBatches(fields, _batches(paths, max_record_bytes, schema, fields))
    return TableStream(reader, schema, rows)


def _describe(paths: Sequence[str], limit: int) -> tuple[Schema, int]:
    columns: dict[str, int] = {}
    pictures: dict[str, set[Feature]] = {}
    rows = 0
    for sample in _samples(paths, limit, HEAD_BYTES):
        rows += 1
        for name, head in sample.items():
            columns[name] = columns.get(name, 0) + 1
            if _is_picture(name):
                pictures.setdefault(name, set()).add(feature_of_image(head))
    if not rows:
        raise SchemaError(f"{paths[0]} holds no files")
    features = {
        name: (common_feature(pictures[name]) if name in pictures else _feature(name)).replace(optional=count < rows)
        for name, count in columns.items()
    }
    return Schema(features), rows


def _feature(name: str) -> Feature:
    last = name.rpartition(".")[2]
    return Feature("int64" if last in _INTEGERS else "str" if last in _TEXT or name == _KEY else "bytes")


def _is_picture(name: str) -> bool:
    return name != _KEY and f".{name}".lower().endswith(EXTENSIONS)


def _arrow_type(pa: Any, feature: Feature) -> Any:
    return {"int64": pa.int64(), "str": pa.large_string()}.get(feature.dtype, pa.large_binary())


def _batches(paths: Sequence[str], limit: int, schema: Schema, fields: Any) -> Iterator[Any]:
    rows: list[dict[str, bytes]] = []
    size = 0
    for sample in _samples(paths, limit, None):
        rows.append(sample)
        size += sum(map(len, sample.values()))
        if size >= _BLOCK_BYTES or len(rows) == _BLOCK_ROWS:
            yield _batch(rows, schema, fields)
            rows, size = [], 0
    if rows:
        yield _batch(rows, schema, fields)


def _batch(rows: list[dict[str, bytes]], schema: Schema, fields: Any) -> Any:
    import pyarrow as pa

    columns = [
        pa.array([_value(name, feature, row[_KEY], row.get(name)) for row in rows], fields.field(name).type)
        for name, feature in schema.items()
    ]
    return pa.record_batch(columns, schema=fields)


def _value(name: str, feature: Feature, key: bytes, data: bytes | None) -> Any:
    try:
        if data is not None and feature.dtype == "str":
            return data.decode()
        if data is None or feature.dtype != "int64":
            return data
        if -(1 << 63) <= (number := int(data)) < 1 << 63:
            return number
    except ValueError:
        pass
    wanted = "text in UTF-8" if feature.dtype == "str" else "an integer of 64 bits"
    raise SchemaError(f"expected {wanted} in {key.decode('utf-8', 'replace')}.{name}, found other bytes")


def _samples(paths: Sequence[str], limit: int, head: int | None) -> Iterator[dict[str, bytes]]:
    """Yield the members of each sample by their extensions: whole, or their first ``head`` bytes."""
    for path in paths:
        with _open_tar(path, limit) as tar:
            sample: dict[str, bytes] = {}
            headers: list[Any] = vars(tar)["members"]
            for member in tar:
                headers.clear()  # or all headers would stay in memory
                sparse: Any = member.sparse or ()
                if member.size < 0 or any(number < 0 for hole in sparse for number in hole):  # it would lead back
                    raise CorruptDataError("a header claims a negative number", path=path, offset=member.offset)
                key, extension = _split(member.name)
                if not member.isreg() or not extension:
                    continue
                if any("\ud800" <= character <= "\udfff" for character in extension):
                    raise CorruptDataError("the name of a member is not UTF-8", path=path, offset=member.offset)
                if member.size > limit:
                    message = f"the member {member.name[:80]!r} has {member.size:,} bytes, more than max_record_bytes"
                    raise RecordTooLargeError(message, path=path, offset=member.offset)
                if extension == _KEY:
                    raise SchemaError(f"{path}: rename the member {member.name[:80]!r}: keys have the column {_KEY!r}")
                if sample and sample[_KEY] != key:
                    yield sample
                    sample = {}
                if extension in sample:
                    raise SchemaError(f"{path}: two members are {member.name[:80]!r}")
                sample[_KEY] = key
                sample[extension] = _read(tar, member, head, path)
            if sample:
                yield sample


def _split(name: str) -> tuple[bytes, str]:
    """Return the key of a member and its extension, which begins at the first dot of the file's name."""
    folder, _, file = name.removeprefix("./").rpartition("/")
    stem, _, extension = file.partition(".")
    if not stem or stem.startswith("__"):
        return b"", ""  # hidden, or what WebDataset calls meta data
    key = f"{folder}/{stem}" if folder else stem
    return key.encode("utf-8", "surrogateescape"), extension


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo, head: int | None, path: str) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    wanted = member.size if head is None else min(head, member.size)
    data = file.read(wanted)
    if len(data) < wanted:
        raise TruncatedError(f"the file ends in the member {member.name[:80]!r}", path=path, offset=member.offset)
    return data


@contextmanager
def _open_tar(path: str, limit: int) -> Iterator[tarfile.TarFile]:
    inflate_error: Any = isal_zlib.error
    with open(path, "rb") as stored:
        gzip: Any = igzip.IGzipFile
        file: Any = gzip(fileobj=stored) if stored.read(2) == b"\x1f\x8b" else stored
        stored.seek(0)
        try:
            pieces: Any = _InPieces(file, limit, path)
            with tarfile.open(fileobj=pieces, mode="r:") as tar:
                yield tar
        except PenstockError:
            raise
        except (tarfile.TarError, igzip.BadGzipFile, inflate_error, EOFError) as error:
            raise CorruptDataError(f"the tar is damaged: {error}", path=path) from None
        except (ValueError, ArithmeticError, LookupError) as error:  # tarfile trusts the numbers in headers
            raise CorruptDataError(f"a header of the tar is damaged: {error}", path=path) from None


class _InPieces:
    """A file that is read in pieces, so that a length in a damaged header allocates no more than there is."""

    def __init__(self, file: Any, limit: int, path: str) -> None:
        self._file, self._limit, self._path = file, limit, path
        self.tell: Callable[[], int] = file.tell

    def seek(self, offset: int) -> int:
        if not 0 <= offset < 1 << 63:
            raise CorruptDataError(f"a header of the tar leads to the offset {offset}", path=self._path)
        position: int = self._file.seek(offset)
        return position

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > self._limit + (1 << 20):
            raise RecordTooLargeError(f"a header of the tar claims {size:,} bytes", path=self._path)
        pieces = []
        while size and (piece := self._file.read(min(size, _PIECE))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


def is_tar(path: str) -> bool:
    """Whether a file is a tar by its extension."""
    return path.lower().endswith(TARS)
