"""Random feature descriptions and records, most of which match; seeded."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from penstock.tf import train

KEYS = ["a", "b", "c", "d"]
DTYPES = ["int64", "float32", "string"]
PARTITIONS = ["RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds"]


class Case(NamedTuple):
    """The source text of a call on ``records``, and the records."""

    source: str
    records: list[bytes]


def example_cases(seed: int, count: int) -> Iterator[Case]:
    random = Random(seed)
    for _ in range(count):
        yield _Maker(random).example_case()


def sequence_cases(seed: int, count: int) -> Iterator[Case]:
    random = Random(seed)
    for _ in range(count):
        # At least one record: TensorFlow requires features even of none.
        yield _Maker(random, fewest=1).sequence_case()


class _Maker:
    def __init__(self, random: Random, *, fewest: int = 0) -> None:
        self.random = random
        self.rows = max(fewest, random.choice([0, 1, 1, 2, 3, 5]))
        self.spoil = random.random() < 0.3
        self.context: list[dict[str, Any]] = [{} for _ in range(self.rows)]
        self.lists: list[dict[str, list[Any]]] = [{} for _ in range(self.rows)]

    def example_case(self) -> Case:
        random = self.random
        specs = {key: self.example_spec(key) for key in KEYS[: random.randint(1, 4)]}
        described = f"{{{', '.join(f'{key!r}: {spec}' for key, spec in specs.items())}}}"
        records = [self.example(row) for row in range(self.rows)]
        if self.rows == 1 and random.random() < 0.7:
            call = random.choice(["parse_single_example", "parse_example"])
            return Case(f"tf.io.{call}(records[0], {described})", records)
        return Case(f"tf.io.parse_example(records, {described})", records)

    def sequence_case(self) -> Case:
        random = self.random
        context = {key: self.context_spec(key) for key in KEYS[: random.randint(0, 2)]}
        sequence = {key: self.sequence_spec(key) for key in KEYS[: random.randint(0, 3)]}
        described = ", ".join(
            f"{{{', '.join(f'{key!r}: {spec}' for key, spec in specs.items())}}}" for specs in (context, sequence)
        )
        records = [self.sequence_example(row) for row in range(self.rows)]
        if self.rows == 1 and random.random() < 0.7:
            call = random.choice(["parse_single_sequence_example", "parse_sequence_example"])
            return Case(f"tf.io.{call}(records[0], {described})", records)
        return Case(f"tf.io.parse_sequence_example(records, {described})", records)

    # Descriptions, and values for them

    def example_spec(self, key: str) -> str:
        makers = [self.fixed, self.fixed, self.var, self.fixed_sequence, self.ragged, self.sparse]
        return self.random.choice(makers)(key)

    def context_spec(self, key: str) -> str:
        return self.random.choice([self.fixed, self.var, self.ragged])(key)

    def sequence_spec(self, key: str) -> str:
        random, dtype = self.random, self.random.choice(DTYPES)
        kind = random.randrange(3)
        shape: list[int] = random.choice([[], [2], [1, 2]])
        size = _size(shape)
        for row in self.lists:
            if random.random() < 0.9:
                steps = random.randrange(4)
                row[key] = [self.values(dtype, size if kind == 0 else random.randrange(3)) for _ in range(steps)]
        self.maybe_spoil_lists(key)
        if kind == 0:
            return f"tf.io.FixedLenSequenceFeature({shape}, tf.{dtype}, allow_missing={random.random() < 0.7})"
        if kind == 1:
            return f"tf.io.VarLenFeature(tf.{dtype})"
        return f"tf.io.RaggedFeature(tf.{dtype}{self.splits_dtype()})"

    def fixed(self, key: str) -> str:
        random, dtype = self.random, self.random.choice(DTYPES)
        shape: list[int] = random.choice([[], [], [1], [3], [2, 2], [0]])
        size = _size(shape)
        default = ""
        if random.random() < 0.4:
            count = size if random.random() < 0.9 else size + 1
            value = {"int64": 5, "float32": 1.5, "string": "x"}[dtype]
            default = f", {[value] * count if shape or count != 1 else value!r}"
        self.fill(key, dtype, lambda: size, missing=0.2 if default else 0.02)
        return f"tf.io.FixedLenFeature({shape}, tf.{dtype}{default})"

    def var(self, key: str) -> str:
        dtype = self.random.choice(DTYPES)
        self.fill(key, dtype, lambda: self.random.randrange(4), missing=0.2)
        return f"tf.io.VarLenFeature(tf.{dtype})"

    def fixed_sequence(self, key: str) -> str:
        random, dtype = self.random, self.random.choice(DTYPES)
        shape: list[int] = random.choice([[], [2], [1, 2]])
        padding = {"int64": 5, "float32": 1.5, "string": "x"}[dtype]
        default = f", default_value={padding!r}" if random.random() < 0.4 else ""
        self.fill(key, dtype, lambda: _size(shape) * random.randrange(3), missing=0.2)
        return f"tf.io.FixedLenSequenceFeature({shape}, tf.{dtype}, allow_missing=True{default})"

    def sparse(self, key: str) -> str:
        random, dtype = self.random, self.random.choice(DTYPES)
        sizes = [random.randint(3, 6) for _ in range(random.choice([1, 1, 2]))]
        for row in self.context:
            count = random.randrange(4)
            row[f"{key} values"] = self.values(dtype, count)
            for place, size in enumerate(sizes):
                row[f"{key} {place}"] = ("int64", [random.randrange(size) for _ in range(count)])
        keys = [f"{key} {place}" for place in range(len(sizes))]
        one = len(sizes) == 1 and random.random() < 0.5
        index, size = (keys[0], sizes[0]) if one else (keys, sizes)
        return f"tf.io.SparseFeature({index!r}, '{key} values', tf.{dtype}, {size})"

    def ragged(self, key: str) -> str:
        random, dtype = self.random, self.random.choice(DTYPES)
        levels = random.choice([0, 0, 1, 1, 2])
        kinds = [random.choice([*PARTITIONS, "UniformRowLength"]) for _ in range(levels)]
        for row in self.context:
            # TensorFlow raises for one Example without row splits; in a batch it is an empty row, as it is here.
            if len(self.context) == 1 or random.random() < 0.9:
                self.put_ragged(row, key, dtype, kinds)
        parts = [
            f"tf.io.RaggedFeature.{kind}({2 if kind == 'UniformRowLength' else f'{key} {level}'!r})"
            for level, kind in enumerate(kinds)
        ]
        value_key = f", value_key={key + ' values'!r}"
        described = f", partitions=[{', '.join(parts)}]" if parts else ""
        return f"tf.io.RaggedFeature(tf.{dtype}{value_key}{described}{self.splits_dtype()})"

    def splits_dtype(self) -> str:
        return self.random.choice(["", ", row_splits_dtype=tf.int64"])

    def put_ragged(self, row: dict[str, Any], key: str, dtype: str, kinds: list[str]) -> None:
        random = self.random
        count = random.randint(1, 3)  # rows of the outermost level
        if kinds and kinds[0] == "UniformRowLength":
            count = random.randint(0, 2)
        for level, kind in enumerate(kinds):
            lengths = [2 if kind == "UniformRowLength" else random.randrange(4) for _ in range(count)]
            if kind == "ValueRowIds" and lengths:
                lengths[-1] = max(1, lengths[-1])  # row ids cannot express rows after the last value
            limits = [sum(lengths[: place + 1]) for place in range(count)]
            stored = {
                "RowSplits": [0, *limits],
                "RowLengths": lengths,
                "RowStarts": [0, *limits][:-1],
                "RowLimits": limits,
                "ValueRowIds": [place for place, length in enumerate(lengths) for _ in range(length)],
            }
            if kind in stored:
                row[f"{key} {level}"] = ("int64", stored[kind])
            count = sum(lengths)
        row[f"{key} values"] = self.values(dtype, count)

    def fill(self, key: str, dtype: str, count: Any, *, missing: float) -> None:
        random = self.random
        for row in self.context:
            if random.random() >= missing:
                row[key] = self.values(dtype, count())
        if self.spoil and self.context and random.random() < 0.4:
            row = random.choice(self.context)
            match random.randrange(4):
                case 0:
                    row.pop(key, None)
                case 1:
                    row[key] = None
                case 2:
                    row[key] = self.values(random.choice(DTYPES), random.randrange(3))
                case 3 if dtype != "string" and count():  # TensorFlow is known to crash on others
                    row[key] = self.values(dtype, count() + 1)

    def maybe_spoil_lists(self, key: str) -> None:
        if self.spoil and self.lists and self.random.random() < 0.4:
            row = self.random.choice(self.lists)
            row[key] = [*row.get(key, []), self.values(self.random.choice(DTYPES), self.random.randrange(3))]

    def values(self, dtype: str, count: int) -> tuple[str, list[Any]]:
        random = self.random
        choices: dict[str, list[Any]] = {
            "int64": [0, 1, -1, 2**40],
            "float32": [0.0, 1.5, float("nan"), -0.0],
            "string": [b"", b"x", b"more than twelve bytes"],
        }
        return dtype, [random.choice(choices[dtype]) for _ in range(count)]

    # Records

    def example(self, row: int) -> bytes:
        message = train.Example()
        for key, stored in self.context[row].items():
            _put(message.features.feature[key], stored)
        return bytes(message.SerializeToString())

    def sequence_example(self, row: int) -> bytes:
        message = train.SequenceExample()
        for key, stored in self.context[row].items():
            _put(message.context.feature[key], stored)
        for key, steps in self.lists[row].items():
            feature_list = message.feature_lists.feature_list[key]
            for stored in steps:
                _put(feature_list.feature.add(), stored)
        return bytes(message.SerializeToString())


def _put(feature: Any, stored: tuple[str, list[Any]] | None) -> None:
    if stored is None:
        return
    dtype, values = stored
    name = {"int64": "int64_list", "float32": "float_list", "string": "bytes_list"}[dtype]
    getattr(feature, name).SetInParent()
    getattr(feature, name).value.extend(values)


def _size(shape: list[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
