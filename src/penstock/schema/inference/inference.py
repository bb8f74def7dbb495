"""Takes in records one by one, from any number of files, and concludes a schema."""

from __future__ import annotations

from penstock.errors import MalformedExampleError, PenstockError
from penstock.schema.inference.evidence import Observations, Place
from penstock.schema.inference.inferred import Inferred, conclude
from penstock.schema.inference.record_features import Section, read_features


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
