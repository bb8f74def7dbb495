"""Infer a schema from records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.errors import MalformedExampleError, PenstockError, SchemaError
from penstock.schema.feature import Encoding, Feature, Kind
from penstock.schema.observed_features import Observations, RecordLocation, Section, read_features
from penstock.schema.recognize_bytes import Form
from penstock.schema.schema import Schema

__all__ = ["Certainty", "Evidence", "Inference", "Inferred"]


class Inference:
    """Collects observations from records, and concludes a schema from them."""

    def __init__(self) -> None:
        self._observed: dict[tuple[Section, str], Observations] = {}
        self._records = 0
        self._is_sequence = False

    def add(self, payload: bytes, path: str, record: int) -> None:
        """Add one record; raise if it is not an Example, or contradicts earlier records."""
        location = RecordLocation(path, record)
        try:
            found = read_features(payload)
        except MalformedExampleError as error:
            raise MalformedExampleError(
                f"the record is not an Example: {error}: {location}", path=path, record=record
            ) from None
        self._records += 1
        for feature in found:
            slot = (feature.section, feature.key)
            self._is_sequence = self._is_sequence or feature.section == "sequence"
            if slot not in self._observed:
                self._observed[slot] = Observations(*slot)
            self._observed[slot].add(feature, location)

    @property
    def records(self) -> int:
        """The number of records added."""
        return self._records

    def conclude(self, *, complete: bool, files: tuple[str, ...], skipped: tuple[PenstockError, ...] = ()) -> Inferred:
        """Return the schema that fits all records so far."""
        return conclude(
            list(self._observed.values()),
            self._records,
            is_sequence=self._is_sequence,
            complete=complete,
            files=files,
            skipped=skipped,
        )


Certainty: TypeAlias = Literal["certain", "likely", "guess"]
# With this many records or values, a guess is "likely".
_LIKELY_SUPPORT = 100
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
    "binary": "bytes of unknown form",
}


@dataclass(frozen=True)
class Evidence:
    """The evidence for one feature of an inferred schema."""

    section: Section
    key: str
    records: int
    """The number of records examined."""
    present: int
    """The number of records that have the feature."""
    kind: Kind | None
    """The kind of list that stores it; None if it is unset in every record, so that the schema omits it."""
    min_count: int
    """The smallest number of values in a record, or in a step of a sequence."""
    max_count: int
    """The largest number of values in a record, or in a step of a sequence."""
    forms: Mapping[Form, int]
    """For bytes: the number of values of each form."""
    certainty: Certainty
    reasons: tuple[str, ...]
    suggestion: str | None
    """What the values may be beyond what the schema says: a guess that the schema does not make for you."""
    sample: str
    """The first values, as a short text."""


@dataclass(frozen=True)
class Inferred:
    """A schema inferred from records, and the evidence for it.

    Example:
        >>> inferred = ps.infer_schema("train-*", records=10)
        >>> inferred.records, inferred.complete
        (10, False)
        >>> inferred.evidence["tokens"].present
        10
    """

    schema: Schema
    evidence: Mapping[str, Evidence]
    """The evidence for each feature, by its name."""
    records: int
    """The number of records examined."""
    complete: bool
    """Whether all records were examined."""
    files: tuple[str, ...]
    """The files that were examined."""
    skipped: tuple[PenstockError, ...] = ()
    """The errors of damaged records, and of records that are not Examples, with ``on_error="skip"``."""

    @property
    def is_sequence(self) -> bool:
        """Whether the records are SequenceExamples.

        Example:
            >>> manifest = ps.write("train", {"label": [3, 1, 2]}, replace=True)
            >>> ps.infer_schema("train-*").is_sequence
            False
        """
        return self.schema.is_sequence


def conclude(
    observed: list[Observations],
    records: int,
    *,
    is_sequence: bool,
    complete: bool,
    files: tuple[str, ...],
    skipped: tuple[PenstockError, ...],
) -> Inferred:
    """Return the schema that fits all observations, and the evidence for it."""
    features: dict[Section, dict[str, Feature]] = {"context": {}, "sequence": {}}
    evidence: dict[str, Evidence] = {}
    keys = {seen.key for seen in observed}
    for seen in sorted(observed, key=lambda seen: seen.section):
        name = seen.key
        while name in evidence:  # the same key in both sections
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
            min_count=seen.counts.min or 0,
            max_count=seen.counts.max or 0,
            forms=dict(seen.forms),
            certainty=_certainty(seen, feature, complete),
            reasons=tuple(_reasons(seen, records)),
            suggestion=suggestion,
            sample=seen.sample,
        )
    schema = Schema(features["context"], sequence=features["sequence"] if is_sequence else None)
    return Inferred(schema, evidence, records, complete, files, skipped)


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
            pass  # no feature can hold it, such as too many elements: keep bytes
    return stored, _suggest(seen, forms)


def _suggest(seen: Observations, forms: frozenset[Form]) -> str | None:
    """Return what the bytes may be, where a wrong guess in the schema would be worse than none."""
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
    """Return a suggestion if values and row lengths have the names of TFDS for a nested ragged feature."""
    name = key.removesuffix("/ragged_flat_values")
    levels = 0
    while f"{name}/ragged_row_lengths_{levels}" in keys:
        levels += 1
    if name == key or not levels:
        return None
    return f"the values of the nested feature {name!r}, shape ({'None, ' * levels}None), as TFDS stores it"


def _certainty(seen: Observations, feature: Feature | None, complete: bool) -> Certainty:
    if feature is None or seen.counts.max == 0 or set(seen.forms) == {"empty"}:
        return "guess"
    is_stored = feature.encoding == "list" and feature.dtype != "str"
    if complete and is_stored:
        return "certain"
    support = seen.present if is_stored else sum(seen.forms.values())
    return "likely" if support >= _LIKELY_SUPPORT else "guess"


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
