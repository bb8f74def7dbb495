"""Random schemas and records: decoded to the values that ``tf.io`` parses, or refused by both.

``PENSTOCK_CASES`` says how many; 100,000 take some minutes.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from example_cases import Case, cases
from oracle import Oracle

from penstock import Batch, BytesColumn, Decoder, MalformedExampleError, Nullable, Ragged

BLOCK = 5_000
BLOCKS = -(-int(os.environ.get("PENSTOCK_CASES", BLOCK)) // BLOCK)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_records_decode_as_tensorflow_parses_them(block: int) -> None:
    made = list(cases(block, BLOCK))
    replies = iter(parsed_by_tensorflow([case for case in made if not case.stricter]))
    decoded = refused = 0
    for number, case in enumerate(made):
        where = f"case {number} of block {block}: {case}"
        batch = decoded_or_refused(case)
        expected = None if case.stricter else next(replies)
        if isinstance(batch, MalformedExampleError):
            assert expected is None, f"{where}: {batch}"
            refused += 1
            continue
        assert expected is not None, f"{where}: {case.stricter or 'TensorFlow refuses'}"
        tensors, lengths = expected
        for name, feature in case.schema.items():
            key = name if name in tensors else feature.key
            assert same(batch[name], tensors[key], lengths.get(key)), f"{where}: {name}: {batch[name]}, {tensors[key]}"
        decoded += 1
    assert decoded > BLOCK / 2
    assert refused > BLOCK / 10


def parsed_by_tensorflow(made: list[Case]) -> list[Any]:
    """Ask a process of its own. Now and then its heap is damaged, it is not known by what: each half is asked again."""
    oracle = Oracle()
    try:
        return oracle.parse_examples(*((case.description, case.records, case.schema.is_sequence) for case in made))
    except RuntimeError:
        half = len(made) // 2
        return parsed_by_tensorflow(made[:half]) + parsed_by_tensorflow(made[half:]) if half else [None]
    finally:
        oracle.close()


def decoded_or_refused(case: Case) -> Batch | MalformedExampleError:
    try:
        return Decoder(case.schema, threads=1).decode(case.records)
    except MalformedExampleError as error:
        return error


def same(column: Any, theirs: Any, lengths: Any) -> bool:
    """Whether a column holds what a tensor does: dense (padded, with lengths, in a sequence), ragged or sparse."""
    if isinstance(column, Nullable):
        return same_optional(column, theirs, lengths)
    if isinstance(theirs, np.ndarray):
        return same_dense(column, theirs, lengths)
    if len(theirs) == 3:
        return same_sparse(column, *theirs)
    values, splits = theirs
    for split in splits:
        if not np.array_equal(column.offsets, split):
            return False
        column = column.values
    return flat(column) == flat(values)


def same_dense(column: Any, theirs: Any, lengths: Any) -> bool:
    if not isinstance(column, Ragged):
        raw = isinstance(column, np.ndarray) and theirs.dtype == object
        return [row.tobytes() for row in column] == theirs.tolist() if raw else flat(column) == flat(theirs)
    if lengths is not None and not np.array_equal(column.lengths, lengths):
        return False
    rows = [flat(row[: len(column[i])]) for i, row in enumerate(theirs)]
    padding = [flat(row[len(column[i]) :]) for i, row in enumerate(theirs)]
    return rows == [flat(column[i]) for i in range(len(column))] and not any(map(any, padding))


def same_sparse(column: Ragged, indices: Any, values: Any, shape: Any) -> bool:
    positions = []
    if isinstance(column.values, Ragged):
        for i in range(len(column)):
            positions += [(i, step, j) for step in range(len(column[i])) for j in range(len(column[i][step]))]
        inner = column.values.values
    else:
        positions = [(i, j) for i in range(len(column)) for j in range(len(column[i]))]
        inner = column.values
    return positions == list(map(tuple, indices)) and flat(inner) == flat(values) and shape[0] == len(column)


def same_optional(column: Nullable, theirs: Any, lengths: Any) -> bool:
    if isinstance(column.values, Ragged):  # tf.io knows no absent list: it is empty
        return same(column.values, theirs, lengths) and not column.values.lengths[~column.valid].any()
    values, splits = theirs
    outer = splits[0]
    return flat(column[column.valid].values) == flat(values) and np.array_equal(np.diff(outer) > 0, column.valid)


def flat(values: Any) -> list[Any]:
    """Values one by one: floats by their bits, text as bytes."""
    if isinstance(values, BytesColumn):
        return [v.encode() if isinstance(v, str) else v for v in values.to_numpy().ravel().tolist()]
    if isinstance(values, list):
        return [v.encode() if isinstance(v, str) else v for v in np.array(values, object).ravel().tolist()]
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return array.astype(np.float32).view(np.int32).ravel().tolist()
    if array.dtype.kind in "iub":
        return array.astype(np.int64).ravel().tolist()
    return array.ravel().tolist()
