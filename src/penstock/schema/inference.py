"""Draws a schema from records that nobody described."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.errors import MalformedExampleError, PenstockError, SchemaError
from penstock.schema.feature import Encoding, Feature, Kind
from penstock.schema.observations import Observations, Place, Section, read_features
from penstock.schema.recognize import Form
from penstock.schema.schema import Schema

__all__ = ["Certainty", "Evidence", "Inference", "Inferred"]


class Inference:
    """What has been seen so far."""

    def __init__(self) -> None:
        self._observed: dict[tuple[Section, str], Observations] = {}
        self._records = 0
        self._is_sequence = False

    def add(self, payload: bytes, path: str, record: int) -> None:
        """Take in one record; refuse one that is no Example, or contradicts those before it."""
        place = Place(path, record)
        try:
            found = read_features(payload)
        except MalformedExampleError as error:
            raise MalformedExampleError(
                f"the record is no Example: {error}: {place}", path=path, record=record
            ) from None
        self._records += 1
        for feature in found:
            slot = (feature.section, feature.key)
            self._is_sequence = self._is_sequence or feature.section == "sequence"
            if slot not in self._observed:
                self._observed[slot] = Observations(*slot)
            self._observed[slot].add(feature, place)

    @property
    def records(self) -> int:
        """How many records were taken in."""
        return self._records

    def conclude(
        self, *, complete: bool, files: tuple[str, ...], passed_over: tuple[PenstockError, ...] = ()
    ) -> Inferred:
        """Draw the schema that fits all records so far."""
        return conclude(
            list(self._observed.values()),
            self._records,
            is_sequence=self._is_sequence,
            complete=complete,
            files=files,
            passed_over=passed_over,
        )


Certainty: TypeAlias = Literal["certain", "likely", "guess"]
# So many records or values make a guess likely.
_ENOUGH = 100
_DTYPES: dict[Kind, str] = {"bytes": "bytes", "float": "float32", "int64": "int64"}
_ENCODINGS: dict[frozenset[Form], Encoding] = {
    frozenset({"jpeg"}): "jpeg",
    frozenset({"png"}): "png",
    frozenset({"jpeg", "png"}): "image",
    frozenset({"tensor"}): "tensor",
}
_FORM_NAMES: dict[Form, str] = {
    "empty": "empty",
    "text": "UTF-8 text",
    "jpeg": "JPEG",
    "png": "PNG",
    "gif": "GIF",
    "tensor": "TensorProto",
    "binary": "bytes of no known form",
}


@dataclass(frozen=True)
class Evidence:
    """What one feature of an inferred schema rests on."""

    section: Section
    key: str
    records: int
    """Records that were looked at."""
    present: int
    """Records that have the feature."""
    kind: Kind | None
    """The list that it is stored in; None where every record leaves it unset, so that the schema leaves it out."""
    min_count: int
    """Fewest values in a record (of a sequence: in a step)."""
    max_count: int
    """Most values in a record (of a sequence: in a step)."""
    forms: Mapping[Form, int]
    """For bytes: how many values have which form."""
    certainty: Certainty
    reasons: tuple[str, ...]
    suggestion: str | None
    """What it may be beyond what the schema says: a guess that is yours to make."""
    sample: str
    """The first values, as a short text."""


@dataclass(frozen=True)
class Inferred:
    """A schema drawn from records, and what it rests on."""

    schema: Schema
    evidence: Mapping[str, Evidence]
    """By the feature's name."""
    records: int
    """Records that were looked at."""
    complete: bool
    """Whether these are all records."""
    files: tuple[str, ...]
    """Files that records were taken from."""
    passed_over: tuple[PenstockError, ...] = ()
    """Damage, and records that are no Examples, where these were to be skipped."""

    @property
    def is_sequence(self) -> bool:
        """Whether the records are SequenceExamples."""
        return self.schema.is_sequence


def conclude(
    observed: list[Observations],
    records: int,
    *,
    is_sequence: bool,
    complete: bool,
    files: tuple[str, ...],
    passed_over: tuple[PenstockError, ...],
) -> Inferred:
    """Draw the schema from all observations."""
    features: dict[Section, dict[str, Feature]] = {"context": {}, "sequence": {}}
    evidence: dict[str, Evidence] = {}
    keys = {seen.key for seen in observed}
    for seen in sorted(observed, key=lambda seen: seen.section):
        name = seen.key
        while name in evidence:  # one key in both sections
            name = f"sequence/{name}"
        feature, suggestion = _feature(seen, records)
        suggestion = suggestion or _suggest_nested(seen.key, keys)
        if feature is not None:
            features[seen.section][name] = feature if name == seen.key else feature.replace(key=seen.key)
        evidence[name] = Evidence(
            section=seen.section,
            key=seen.key,
            records=records,
            present=seen.present,
            kind=seen.kind,
            min_count=seen.counts.least or 0,
            max_count=seen.counts.most or 0,
            forms=dict(seen.forms),
            certainty=_certainty(seen, feature, complete),
            reasons=tuple(_reasons(seen, records)),
            suggestion=suggestion,
            sample=seen.sample,
        )
    schema = Schema(features["context"], sequence=features["sequence"] if is_sequence else None)
    return Inferred(schema, evidence, records, complete, files, passed_over)


def _feature(seen: Observations, records: int) -> tuple[Feature | None, str | None]:
    if seen.kind is None:
        return None, None
    optional = seen.present < records
    count = seen.counts.constant
    shape = (None,) if not count else () if count == 1 else (count,)
    stored = Feature(_DTYPES[seen.kind], shape, optional=optional)
    if seen.kind != "bytes":
        return stored, None
    forms = frozenset(seen.forms) - {"empty"}
    if forms == {"text"}:
        return stored.replace(dtype="str"), None
    encoding = _ENCODINGS.get(forms)
    if encoding and shape == () and not seen.forms["empty"] and len(seen.dtypes) == len(seen.ranks) == 1:
        try:
            return Feature(next(iter(seen.dtypes)), seen.shape or (), encoding=encoding, optional=optional), None
        except SchemaError:
            pass  # beyond what a feature holds, such as too many elements: the bytes stay bytes
    return stored, _suggest(seen, forms)


def _suggest(seen: Observations, forms: frozenset[Form]) -> str | None:
    """Say what the bytes may be, where a wrong guess would be worse than none."""
    size = seen.sizes.constant
    if forms == {"gif"}:
        return "GIF images, which may have several frames"
    if forms and forms <= {"jpeg", "png", "gif"}:
        return "encoded images"
    if forms == {"tensor"}:
        return "serialized TensorProtos of several dtypes or ranks"
    if not size or sum(seen.forms.values()) < 2:
        return None
    fitting = [f"{dtype} ({size // width},)" for dtype, width in (("uint8", 1), ("float32", 4)) if size % width == 0]
    return f'always {size} bytes: perhaps encoding="raw", such as {" or ".join(fitting)}'


def _suggest_nested(key: str, keys: set[str]) -> str | None:
    """Say where values and row lengths have the names that TFDS gives to the parts of a nested ragged feature."""
    name = key.removesuffix("/ragged_flat_values")
    levels = 0
    while f"{name}/ragged_row_lengths_{levels}" in keys:
        levels += 1
    if name == key or not levels:
        return None
    return f"the values of the nested feature {name!r}, shape ({'None, ' * levels}None), as TFDS stores it"


def _certainty(seen: Observations, feature: Feature | None, complete: bool) -> Certainty:
    if feature is None or seen.counts.most == 0 or set(seen.forms) == {"empty"}:
        return "guess"
    is_stored = feature.encoding == "list" and feature.dtype != "str"
    if complete and is_stored:
        return "certain"
    support = seen.present if is_stored else sum(seen.forms.values())
    return "likely" if support >= _ENOUGH else "guess"


def _reasons(seen: Observations, records: int) -> list[str]:
    if seen.kind is None:
        return [f"unset in all of {records} records"]
    where = "all" if seen.present == records else f"{seen.present}"
    reasons = [f"{seen.kind} in {where} of {records} records"]
    reasons.append(f"values in each {'step' if seen.section == 'sequence' else 'record'}: {seen.counts}")
    if seen.section == "sequence":
        reasons.append(f"steps: {seen.steps}")
    total = sum(seen.forms.values())
    reasons += [f"{_FORM_NAMES[form]}: {number} of {total} values" for form, number in seen.forms.most_common()]
    return reasons
