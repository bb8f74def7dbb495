"""Infer the schema of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

from penstock.errors import CorruptDataError, MalformedExampleError
from penstock.records.reader import RecordReader
from penstock.schema.inference import Inference, Inferred
from penstock.storage import StrPath, find_files


def infer_schema(
    paths: StrPath | Iterable[StrPath], *, records: int | None = 1000, on_error: Literal["raise", "skip"] = "raise"
) -> Inferred:
    """Infer a schema from the records of files.

    The result shows the evidence for each feature. Files may differ: a feature that some records lack is optional.

    Args:
        paths: Files, glob patterns, directories and URLs.
        records: How many records to look at, spread over the files; None looks at all of them.
        on_error: What to do about damage, or a record that is not an Example: ``"raise"``; or ``"skip"`` it and report
            it in the result. If no record at all can be read, the first error is raised.

    Example:
        >>> inferred = ps.infer_schema("train-*")
        >>> sorted(inferred.schema)
        ['label', 'tokens', 'x']
        >>> inferred.schema["label"]
        Feature('int64')
    """
    found = find_files([paths] if isinstance(paths, str) or not isinstance(paths, Iterable) else paths)
    readers = [RecordReader(path, threads=1, on_error=on_error) for path in found]
    return infer_from(readers, records=records, on_error=on_error)


def infer_from(
    readers: Sequence[RecordReader], *, records: int | None, on_error: Literal["raise", "skip"] = "raise"
) -> Inferred:
    """Infer a schema from readers, as :func:`infer_schema` does.

    The readers have policies of their own for damage: one that raises ends its file there.
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error is 'raise' or 'skip', not {on_error!r}")
    if records is not None and records < 1:
        raise ValueError(f"records is 1 or more, or None for all; found {records}")
    # More files than records: skip those in between.
    step = 1 if records is None else -(-len(readers) // records)
    chosen = readers[::step]
    inference = Inference()
    errors: list[CorruptDataError | MalformedExampleError] = []
    complete, left = step == 1, records
    files: list[str] = []
    for number, reader in enumerate(chosen):
        share = None if left is None else left // (len(chosen) - number)
        before = inference.records
        taken, ended = _take(inference, reader, share, errors if on_error == "skip" else None)
        complete = complete and ended
        files += [reader.path] if inference.records > before else []
        left = None if left is None else left - taken
    if errors and not inference.records:
        raise errors[0]
    return inference.conclude(complete=complete, files=tuple(files), skipped=tuple(errors))


def _take(
    inference: Inference,
    reader: RecordReader,
    share: int | None,
    errors: list[CorruptDataError | MalformedExampleError] | None,
) -> tuple[int, bool]:
    """Add up to ``share`` records; return how many, and whether the file ended there."""
    taken = 0
    payloads = _numbered(reader)
    try:
        for record, payload in islice(payloads, share):
            taken += 1
            try:
                inference.add(payload, reader.path, record)
            except MalformedExampleError as error:
                if errors is None:
                    raise
                errors.append(error)
        ended = next(payloads, None) is None
    except CorruptDataError as error:
        if errors is None:
            raise
        errors.append(error)
        return taken, True
    if errors is not None:
        errors += reader.damage
    return taken, ended


def _numbered(reader: RecordReader) -> Iterator[tuple[int, bytes]]:
    """Yield the records with their numbers, which count skipped records too."""
    for chunk in reader.chunks():
        yield from enumerate(chunk, chunk.first_record)
