"""Infers the schema of files that came without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from penstock.files import StrPath, find_files
from penstock.reader import RecordReader
from penstock.schema.inference import Inference, Inferred


def infer_schema(paths: StrPath | Iterable[StrPath], *, records: int | None = 1000) -> Inferred:
    """Draw a schema from the records of files.

    >>> ps.infer_schema("data/train-*.tfrecord").schema  # doctest: +SKIP

    The answer says what each feature rests on. Files that differ are united: what some records lack is optional.

    Args:
        paths: Files, glob patterns, directories and URLs.
        records: How many records to look at, spread over the files; None: all of them.
    """
    found = find_files([paths] if isinstance(paths, str) or not isinstance(paths, Iterable) else paths)
    return infer_from([RecordReader(path, threads=1) for path in found], records=records)


def infer_from(readers: Sequence[RecordReader], *, records: int | None) -> Inferred:
    """Draw a schema from files that are opened already, as :func:`infer_schema` does."""
    if records is not None and records < 1:
        raise ValueError(f"records is 1 or more, or None for all; found {records}")
    # More files than records: those in between are passed over.
    step = 1 if records is None else -(-len(readers) // records)
    chosen = readers[::step]
    inference = Inference()
    complete, left = step == 1, records
    for number, reader in enumerate(chosen):
        share = None if left is None else left // (len(chosen) - number)
        taken, ended = _take(inference, reader, share)
        complete = complete and ended
        left = None if left is None else left - taken
    return inference.conclude(complete=complete, files=tuple(reader.path for reader in chosen))


def _take(inference: Inference, reader: RecordReader, share: int | None) -> tuple[int, bool]:
    """Take in up to ``share`` records; answer how many, and whether the file ended there."""
    taken = 0
    payloads = iter(reader)
    for record, payload in enumerate(islice(payloads, share)):
        inference.add(payload, reader.path, record)
        taken += 1
    return taken, next(payloads, None) is None
