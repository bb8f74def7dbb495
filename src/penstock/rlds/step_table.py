"""The steps of all files of a dataset: their indexes joined, and values read by their places."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.columns import BytesColumn
from penstock.dataset.source.shards import Shards
from penstock.errors import ChecksumError, CorruptDataError, ManifestError
from penstock.index.build import known_identity
from penstock.index.file_identity import Identity
from penstock.parallel import available_cpus
from penstock.rlds.index_file import open_step_index, renew_step_index
from penstock.rlds.step_features import StepFeature
from penstock.rlds.step_index import Ints, Places, StepIndex, bounds_of, join_texts
from penstock.storage import is_remote, locate


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Texts of steps."""

    codes: NDArray[np.uint32]
    values: BytesColumn


class StepTable:
    """The steps of files, numbered through all files and episodes. Pickles; another process opens the indexes again.

    Args:
        shards: The files of episodes, and how they are read.
        features: The features of a step.
        identity: That of the files when they were opened in another process.

    Raises:
        CorruptDataError: The files have another identity by now.
        ManifestError: A file has more or fewer episodes than the metadata says.
    """

    def __init__(self, shards: Shards, features: Sequence[StepFeature], identity: str | None = None) -> None:
        self.paths, self.options = tuple(dict.fromkeys(shards.paths)), shards.options
        self.features = {feature.name: feature for feature in features}
        self._shards = shards
        self._readers: tuple[int, _core.ValueReader | None] = (0, None)
        cpus = available_cpus()
        options = replace(self.options, threads=max(1, cpus // max(1, len(self.paths))), on_damage="raise")

        def load(path: str) -> StepIndex:
            return open_step_index(path, features, options)

        with ThreadPoolExecutor(max(1, min(cpus, len(self.paths))), "penstock-index") as pool:
            indexes = list(pool.map(load, self.paths))
        counts = dict(zip(shards.paths, shards.known_counts or (), strict=False))
        for path, index in zip(self.paths, indexes, strict=True):
            if counts.get(path, len(index.lengths)) != len(index.lengths):
                raise ManifestError(
                    f"{path}: the metadata lists {counts[path]} episodes, the file has {len(index.lengths)}"
                )
        self._join(indexes, features)
        if identity not in (None, self.identity):
            raise CorruptDataError(
                f"a file changed since the dataset was opened; open it again: {self.paths[0]}, or one next to it",
                path=self.paths[0],
                kind="changed",
            )

    def _join(self, indexes: list[StepIndex], features: Sequence[StepFeature]) -> None:
        none = np.empty(0, np.int64)
        self.identities: list[Identity] = [index.identity for index in indexes]
        digest = hashlib.sha256(repr([identity.to_json() for identity in self.identities]).encode())
        for index in indexes:
            digest.update(index.record_ends.offsets.tobytes() + index.record_ends.checksums.tobytes())
        self.identity = digest.hexdigest()[:32]
        """An identity of the files by their content, also between their ends."""
        self.lengths: Ints = np.concatenate([none, *(index.lengths for index in indexes)])
        """The number of steps of each episode."""
        self.bounds: Ints = bounds_of(self.lengths)
        """The first step of each episode, and the number of all steps."""
        self._first_steps = bounds_of(np.array([index.steps for index in indexes], np.int64))
        self.first_episodes: Ints = bounds_of(np.array([len(index.lengths) for index in indexes], np.int64))
        """The first episode of each file, and the number of all episodes."""
        self.columns: dict[str, NDArray[Any]] = {}
        self.texts: dict[str, TextColumn] = {}
        self._places: dict[str, Places] = {}
        for feature in features:
            name = feature.name
            if feature.storage == "column":
                self.columns[name] = _joined([_pop(index.columns, name) for index in indexes])
                self.columns[name].flags.writeable = False
            elif feature.storage == "text":
                found = [_pop(index.texts, name) for index in indexes]
                texts = join_texts([(texts.codes, texts.values) for texts in found])
                values = BytesColumn.from_offsets(
                    bounds_of(np.array([len(value) for value in texts.values], np.int64)),
                    np.frombuffer(b"".join(texts.values), np.uint8),
                    text=feature.feature.dtype == "str",
                )
                self.texts[name] = TextColumn(texts.codes, values)
            else:
                parts = [_pop(index.places, name) for index in indexes]
                self._places[name] = Places(
                    _joined([part.offsets for part in parts]),
                    _joined([part.lengths for part in parts]),
                    _joined([part.checksums for part in parts]),
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return StepTable, (self._shards, tuple(self.features.values()), self.identity)

    @property
    def episodes(self) -> int:
        """The number of episodes."""
        return len(self.lengths)

    def stored_bytes(self, name: str) -> int:
        """Return the usual size of a value that is read by its place."""
        lengths = self._places[name].lengths
        return int(lengths[: 1 << 16].mean()) if len(lengths) else 0

    def read(self, name: str, steps: Ints) -> BytesColumn:
        """Read the values of a feature at some steps, each checked by its own checksum.

        Raises:
            ChecksumError: A value is damaged.
            CorruptDataError: The file changed after it was indexed.
        """
        places = self._places[name]
        files = np.searchsorted(self._first_steps, steps, side="right") - 1
        offsets, lengths = places.offsets[steps], places.lengths[steps].astype(np.uint64)
        checksums = places.checksums[steps]
        if any(map(is_remote, self.paths)):
            return self._read_remote(name, steps, files, offsets, lengths, checksums)
        found = self._reader().read(files, offsets, lengths, checksums)
        if isinstance(found[0], str):
            self._raise_fault(name, int(steps[found[1]]))
        views, buffer = found
        return BytesColumn(views, [buffer])

    def _read_remote(
        self, name: str, steps: Ints, files: Ints, offsets: Any, lengths: Any, checksums: Any
    ) -> BytesColumn:
        values = []
        for step, file, offset, length, checksum in zip(steps, files, offsets, lengths, checksums, strict=True):
            store, path = locate(self.paths[file])
            data = store.read(path, int(offset), int(offset + length))
            if _core.crc32c(data) != checksum or len(data) != length:
                self._raise_fault(name, int(step))
            values.append(data)
        return BytesColumn.from_values(values, text=False)

    def _reader(self) -> _core.ValueReader:
        """Return the reader of the files; a forked child opens its own."""
        process, reader = self._readers
        if process != os.getpid() or reader is None:
            # One thread: steps are read ahead on several.
            reader = _core.ValueReader([locate(path)[1] for path in self.paths], threads=1)
            self._readers = (os.getpid(), reader)
        return reader

    def record_of(self, step: int) -> tuple[str, int, int]:
        """Return the file that holds a step, the number of its record, and the number of the step in it."""
        file = int(np.searchsorted(self._first_steps, step, side="right")) - 1
        episode = int(np.searchsorted(self.bounds, step, side="right")) - 1
        return self.paths[file], episode - int(self.first_episodes[file]), step - int(self.bounds[episode])

    def _raise_fault(self, name: str, step: int) -> NoReturn:
        path, record, number = self.record_of(step)
        store, file = locate(path)
        place = f"{path}, record {record}, step {number}, feature {name!r}"
        changed = known_identity(store, file) != self.identities[self.paths.index(path)]
        if changed or renew_step_index(path, tuple(self.features.values()), self.options):
            raise CorruptDataError(
                f"the file changed since its steps were indexed; open the dataset again: {place}",
                path=path,
                record=record,
                kind="changed",
            )
        raise ChecksumError(
            f"a value is damaged; penstock verify lists all damage of a file: {place}",
            path=path,
            offset=int(self._places[name].offsets[step]),
            record=record,
            kind="data-crc",
        )


def _pop(values: Mapping[str, Any], name: str) -> Any:
    """Return what an index holds of a feature, and drop it there, so that it is in memory once."""
    assert isinstance(values, dict)
    return values.pop(name)


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
