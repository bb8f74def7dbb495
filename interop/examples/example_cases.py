"""Random cases: a schema, a feature description that means the same, and a batch of records; seeded.

Records fit their schema, or have one fault. Most faults are faults to TensorFlow, too; the others are named in
``Case.stricter``: there TensorFlow has no such feature, or mixes values up in silence, and Penstock refuses.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from schema_examples import field as wire_field
from schema_examples import varint

from penstock import Feature, Schema

INTEGERS = {"int64": (-(2**63), 2**63), "int32": (-(2**31), 2**31), "uint8": (0, 256), "bool": (0, 2)}
FLOATS = ("float32", "float32", "float64", "float16")
TEXT = ("bytes", "str")
NUMBERS = {"bytes": 1, "float": 2, "int64": 3}
KINDS = ("bytes", "float", "int64")


@dataclass
class Case:
    """What both sides are asked to parse."""

    schema: Schema
    description: str
    records: list[bytes]
    stricter: str | None = None
    """Why Penstock refuses the records, whatever TensorFlow does."""


@dataclass
class Stored:
    """What a record holds under a key: an unset Feature, or a list."""

    kind: str
    values: list[Any] | None


@dataclass
class Rows:
    """The records of a case while they are made: for each, its features and feature lists by key."""

    context: list[dict[str, Stored]] = field(default_factory=list)
    lists: list[dict[str, list[Stored]]] = field(default_factory=list)


def cases(seed: int, count: int) -> Iterator[Case]:
    """Return ``count`` cases, a third of them SequenceExamples."""
    random = Random(seed)
    for _ in range(count):
        yield _CaseMaker(random).make()


class _CaseMaker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.is_sequence = random.random() < 1 / 3
        self.overrides: list[str] = []
        self.stricter: str | None = None

    def make(self) -> Case:
        random = self.random
        names = [f"f{i}" for i in range(random.randint(1, 4))]
        context = {name: self.feature() for name in names}
        sequence = None
        if self.is_sequence:
            sequence = {f"s{i}": self.step() for i in range(random.randint(1, 2))}
        schema = Schema(context, sequence=sequence)
        rows = self.rows(schema, random.choice([1, 1, 2, 3, 5] if self.is_sequence else [0, 1, 1, 2, 3, 5, 9]))
        if rows.context and random.random() < 0.4:
            self.spoil(schema, rows)
        self.vary_description(schema)
        description = schema.to_tf_source() + "".join(self.overrides)
        return Case(schema, description, [self.record(rows, i) for i in range(len(rows.context))], self.stricter)

    # Schemas

    def dtype(self) -> str:
        return self.random.choice([*INTEGERS, "int64", *FLOATS, *TEXT, "bytes"])

    def feature(self) -> Feature:
        random = self.random
        dtype = self.dtype()
        match random.randrange(8):
            case 0 | 1:
                return Feature(dtype, self.shape())
            case 2:
                shape = self.shape(zeros=False)
                return Feature(dtype, shape, default=self.default(dtype, shape))
            case 3:
                return Feature(dtype, self.shape(zeros=False), optional=True)
            case 4 | 5:
                return Feature(dtype, (None,), optional=random.random() < 0.2)
            case 6:
                return Feature(dtype, (None, random.randint(1, 3)))
        if self.is_sequence:
            return Feature(dtype, (None,))
        return Feature(dtype, (None, None)) if random.random() < 0.6 else Feature("uint8", (2, 2), encoding="raw")

    def step(self) -> Feature:
        dtype = self.dtype()
        if self.random.random() < 0.5:
            return Feature(dtype, (None,))
        return Feature(dtype, self.shape(zeros=False), optional=self.random.random() < 0.5)

    def shape(self, *, zeros: bool = True) -> tuple[int, ...]:
        return self.random.choice([(), (), (1,), (2,), (3,), (2, 2), *([(0,), (2, 0)] if zeros else [])])

    def vary_description(self, schema: Schema) -> None:
        """Ask for the same in another way, where tf.io has one."""
        for name, feature in schema.sequence.items():
            if feature.ragged_levels and self.random.random() < 0.7:
                self.overrides.append(f"sequence_features[{name!r}] = tf.io.RaggedFeature({tf_dtype(feature)})\n")
        target = "context_features" if self.is_sequence else "features"
        for name, feature in schema.context.items():
            if feature.ragged_levels != 1 or feature.encoding != "list":
                continue
            how = self.random.random()
            if feature.inner_shape and not self.is_sequence and (how < 0.5 or self.stricter == PARTIAL_ITEM):
                # This one, unlike RaggedFeature, counts the values of each record.
                if self.stricter == PARTIAL_ITEM:
                    self.stricter = None
                self.overrides.append(
                    f"{target}[{name!r}] = tf.io.FixedLenSequenceFeature("
                    f"{list(feature.inner_shape)}, {tf_dtype(feature)}, allow_missing=True)\n"
                )
            elif not feature.inner_shape and how < 0.4:
                self.overrides.append(f"{target}[{name!r}] = tf.io.VarLenFeature({tf_dtype(feature)})\n")

    # Values

    def value(self, dtype: str) -> Any:
        random = self.random
        if dtype in INTEGERS:
            low, high = INTEGERS[dtype]
            near = random.randrange(max(low, -300), min(high, 300))
            return bool(near) if dtype == "bool" else random.choice([near, random.randrange(low, high)])
        if dtype == "bytes":
            return random.randbytes(random.choice([0, 1, 5, 12, 13, 30]))
        if dtype == "str":
            return random.choice(["", "a", "grün", "twelve chars", "a longer text than that"])
        if dtype == "float32":
            return struct.unpack("<f", random.randbytes(4))[0]
        return random.choice([0.0, -0.0, 1.5, -2.25, 1024.0, math.inf, math.nan])

    def default(self, dtype: str, shape: tuple[int, ...]) -> Any:
        if shape:
            return [self.default(dtype, shape[1:]) for _ in range(shape[0])]
        value = self.value(dtype)
        # TensorFlow keeps constants by value, so that 0.0 may come back as the -0.0 of an earlier call.
        return 0.0 if value == 0 and dtype in FLOATS else value

    def values(self, feature: Feature, count: int) -> Stored:
        if feature.encoding == "raw":
            return Stored("bytes", [self.random.randbytes(4)])
        return Stored(feature.kind, [self.value(feature.dtype) for _ in range(count)])

    # Records that fit

    def rows(self, schema: Schema, count: int) -> Rows:
        rows = Rows()
        for _ in range(count):
            context: dict[str, Stored] = {}
            for name, feature in schema.context.items():
                self.put(context, name, feature)
            rows.context.append(context)
            rows.lists.append(
                {
                    name: [self.fitting_step(feature) for _ in range(self.random.randrange(4))]
                    for name, feature in schema.sequence.items()
                    if not (feature.optional or feature.ragged_levels) or self.random.random() < 0.8
                }
            )
        return rows

    def put(self, context: dict[str, Stored], name: str, feature: Feature) -> None:
        may_lack = feature.optional or feature.has_default or feature.ragged_levels
        lack = self.random.random() if may_lack else 1.0
        if lack < 0.15:
            return
        # In the context of a SequenceExample an unset feature does not take the default.
        if lack < 0.25 and not (self.is_sequence and feature.has_default):
            context[key_of(name, feature)] = Stored("unset", None)
            return
        if feature.ragged_levels == 2:
            lengths = [self.random.randrange(3) for _ in range(self.random.randrange(4))]
            context[key_of(name, feature)] = self.values(feature, sum(lengths))
            context[feature.partitions[0]] = Stored("int64", lengths)
            return
        items = self.random.randrange(4) if feature.ragged_levels else 1
        context[key_of(name, feature)] = self.values(feature, items * size_of(feature))

    def fitting_step(self, feature: Feature) -> Stored:
        if feature.ragged_levels and self.random.random() < 0.1:
            return Stored("unset", None)
        items = self.random.randrange(4) if feature.ragged_levels else 1
        return self.values(feature, items * size_of(feature))

    # One fault

    def spoil(self, schema: Schema, rows: Rows) -> None:
        random = self.random
        row = random.randrange(len(rows.context))
        if self.is_sequence and random.random() < 0.4:
            name = random.choice(list(schema.sequence))
            self.spoil_list(schema[name], name, rows.lists[row])
            return
        name = random.choice(list(schema.context))
        feature = schema[name]
        key = key_of(name, feature)
        stored = rows.context[row].get(key)
        lenient = feature.ragged_levels or feature.optional
        match random.randrange(6):
            case 0:
                rows.context[row].pop(key, None)
                if feature.partitions and stored is not None and stored.values:
                    self.stricter = PARTITIONS
            case 1:
                rows.context[row][key] = Stored("unset", None)
                if feature.partitions and stored is not None and stored.values:
                    self.stricter = PARTITIONS
            case 2:
                other = random.choice([kind for kind in KINDS if kind != feature.kind])
                dtype = {"bytes": "bytes", "float": "float32", "int64": "int64"}[other]
                rows.context[row][key] = Stored(other, [self.value(dtype) for _ in range(random.randrange(3))])
            # TensorFlow crashes where values are stored under a shape that has none.
            case 3 if feature.encoding == "list" and feature.ragged_levels < 2 and size_of(feature):
                wrong = max(0, size_of(feature) + random.choice([-1, 1, 1, 2]))
                rows.context[row][key] = self.values(feature, wrong)
                if feature.ragged_levels and wrong % size_of(feature):
                    self.stricter = PARTIAL_ITEM
                elif feature.optional and not feature.ragged_levels and wrong != size_of(feature):
                    self.stricter = OPTIONAL_COUNT
            case 4 if feature.dtype in ("int32", "uint8", "bool") and feature.encoding == "list" and stored:
                if stored.values:
                    stored.values[-1] = 2**31
                    self.stricter = OUT_OF_RANGE
            case 5 if feature.partitions and stored and stored.values:
                rows.context[row][feature.partitions[0]] = Stored("int64", [len(stored.values) + 1])
                self.stricter = PARTITIONS
            case _ if not lenient and not feature.has_default:
                rows.context[row][key] = Stored(feature.kind, [])

    def spoil_list(self, feature: Feature, name: str, lists: dict[str, list[Stored]]) -> None:
        match self.random.randrange(3):
            case 0:
                lists.pop(name, None)
            case 1:
                other = self.random.choice([kind for kind in KINDS if kind != feature.kind])
                lists[name] = [*lists.get(name, []), Stored(other, [])]
            case 2:
                wrong = max(0, size_of(feature) + self.random.choice([-1, 1]))
                lists[name] = [*lists.get(name, []), self.values(feature, wrong)]

    # Bytes

    def record(self, rows: Rows, row: int) -> bytes:
        random = self.random
        context = rows.context[row] | {"not asked for": Stored("float", [1.0])}
        entries = [self.entry(key, self.feature_message(stored)) for key, stored in context.items()]
        first, stored = next(iter(context.items()))
        if random.random() < 0.05 and stored.values is not None:  # a key that comes again: the last one counts
            entries.insert(0, self.entry(first, wire_field(3, wire_field(1, b"\x01\x02"))))
        elif random.random() < 0.5:
            random.shuffle(entries)
        message = wire_field(1, b"".join(entries))
        if not self.is_sequence:
            return message
        lists = [
            self.entry(key, b"".join(wire_field(1, self.feature_message(step)) for step in steps))
            for key, steps in rows.lists[row].items()
        ]
        return message + wire_field(2, b"".join(lists))

    def entry(self, key: str, value: bytes) -> bytes:
        return wire_field(1, wire_field(1, key.encode()) + wire_field(2, value))

    def feature_message(self, stored: Stored) -> bytes:
        if stored.values is None:
            return b""
        values = [value.encode() if isinstance(value, str) else value for value in stored.values]
        write: Callable[[Any], bytes]
        match stored.kind:
            case "bytes":
                return wire_field(1, b"".join(wire_field(1, value) for value in values))
            case "float":
                write, one_tag = _float_bytes, b"\x0d"
            case _:
                write, one_tag = varint, b"\x08"
        if self.random.random() < 0.2:
            return wire_field(NUMBERS[stored.kind], b"".join(one_tag + write(value) for value in values))
        packed = b"".join(map(write, values))
        return wire_field(NUMBERS[stored.kind], wire_field(1, packed) if values else b"")


PARTIAL_ITEM = "values that make no whole number of items"
OPTIONAL_COUNT = "an optional feature of a fixed shape, which tf.io has not, with another count"
OUT_OF_RANGE = "an integer that a narrow dtype does not hold"
PARTITIONS = "row lengths that do not add up to the values"


def _float_bytes(value: float) -> bytes:
    return struct.pack("<f", value)


def key_of(name: str, feature: Feature) -> str:
    return name if feature.key is None else feature.key


def size_of(feature: Feature) -> int:
    return math.prod(size or 0 for size in feature.inner_shape)


def tf_dtype(feature: Feature) -> str:
    return {"bytes": "tf.string", "float": "tf.float32", "int64": "tf.int64"}[feature.kind]
