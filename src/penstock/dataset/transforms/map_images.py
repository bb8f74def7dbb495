"""map_images(): decodes and transforms encoded pictures, a block of rows in one native call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.codec.image_transform import ImageTransform, PictureTransformer
from penstock.columns import AnyColumn, Batch
from penstock.columns.stored_column import plain
from penstock.dataset.block import Block, Cursor, Flow, OpenFlow, as_batch, take_from_block, truncated
from penstock.dataset.order import call_text
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.progress import Meter
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.source.shards import Shards
from penstock.dataset.stage import Stage
from penstock.errors import MalformedExampleError, RowFault, SchemaError, malformed
from penstock.parallel import available_cpus
from penstock.schema import Schema
from penstock.schema.feature import IMAGES
from penstock.schema.schema import keep_images_encoded


def map_images(
    pipeline: Pipeline,
    transform: ImageTransform,
    columns: tuple[str, ...] | None,
    *,
    seed: int,
    threads: int | None,
    decode: bool,
) -> Pipeline:
    """Return a pipeline of transformed pictures, which reads them encoded."""
    start = pipeline.start
    if pipeline.yields_batches:
        raise TypeError("map_images() comes before batch(): random numbers belong to rows")
    schema = start.source.schema if isinstance(start, ReadRows) else None
    if columns is None:
        if schema is None:
            raise TypeError("map_images() of joined datasets needs columns=[...]")
        columns = tuple(name for name, feature in schema.items() if feature.encoding in IMAGES)
        if not columns:
            raise SchemaError(
                'the schema has no feature with encoding="jpeg", "png" or "image": name bytes columns, columns=[...]'
            )
    elif schema is not None and not pipeline.stages:
        schema.select(columns)  # raises for an unknown name
    encoded = pipeline.change_source(lambda source: source.with_schema(_encoded(source.schema, columns)))
    found = (encoded or pipeline).start
    options: dict[str, Any] = {"threads": threads, "decode": decode}
    if isinstance(found, ReadRows):
        shards = found.source.shards
        options |= {"shards": shards, "on_error": found.source.on_error}
    return (encoded or pipeline).then(MapImagesStage(transform, columns, seed, **options))


def _encoded(schema: Schema, names: tuple[str, ...]) -> Schema:
    """Return a schema that reads some of the images as bytes."""
    encoded = keep_images_encoded(schema)
    return schema | {name: encoded[name] for name in names if schema[name].encoding in IMAGES}


@dataclass(frozen=True)
class MapImagesStage(Stage):
    """Transforms the pictures of some columns."""

    one_to_one = True

    transform: ImageTransform
    columns: tuple[str, ...]
    seed: int
    threads: int | None = None
    shards: Shards | None = None
    """The files of the rows, for errors."""
    on_error: Any = "raise"
    decode: bool = True
    """False leaves pictures encoded and adds a column of their parts."""

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        threads = self.threads or (available_cpus() if self.shards is None else self.shards.options.thread_count)
        transform = PictureTransformer(self.transform, seed=self.seed, threads=threads)
        with closing(upstream(cursor)) as blocks:
            for block in blocks:
                with meter.timed("function"):
                    done, faults = self._changed(block, transform)
                    done, error = self._without(faults, block, done, meter)
                if error is None:
                    yield done
                    continue
                if len(done):
                    yield truncated(done)
                raise error

    def _without(
        self, faults: dict[int, RowFault], block: Block, done: Block, meter: Meter
    ) -> tuple[Block, MalformedExampleError | None]:
        """Return a transformed block without its bad rows; or the rows before the first, and the error to raise."""
        if not faults:
            return done, None
        locate = self._locator(block)
        if self.on_error == "raise":
            first = min(faults)
            return take_from_block(done, slice(first)), malformed(faults[first], locate)
        for row in sorted(faults):
            error = malformed(faults[row], locate)
            if callable(self.on_error):
                self.on_error(error)
            meter.skip(error)
        return take_from_block(done, [row for row in range(len(block)) if row not in faults]), None

    def _changed(self, block: Block, transform: PictureTransformer) -> tuple[Block, dict[int, RowFault]]:
        """Return a block with transformed pictures, and what is wrong with each of its bad rows."""
        elements = block.elements
        rows, epochs = block.keys
        if isinstance(elements, Batch):
            changed, faults = self._of(elements, transform, rows, epochs)
            return replace(block, elements=elements | changed), faults
        if not elements:
            return block, {}
        if not all(isinstance(element, Mapping) for element in elements):
            raise TypeError(f"map_images() needs elements that are dicts, not {type(elements[0]).__name__}")
        pictures = as_batch([{name: self._value(element, name) for name in self.columns} for element in elements])
        changed, faults = self._of(pictures, transform, rows, epochs)
        new = Batch(changed).rows()
        return replace(block, elements=[{**element, **row} for element, row in zip(elements, new, strict=True)]), faults

    def _of(
        self,
        batch: Batch,
        transform: PictureTransformer,
        rows: NDArray[np.int64],
        epochs: NDArray[np.int64],
    ) -> tuple[dict[str, AnyColumn], dict[int, RowFault]]:
        changed: dict[str, AnyColumn] = {}
        faults: dict[int, RowFault] = {}
        for name in self.columns:
            column = plain(self._value(batch, name))
            if self.decode:
                changed[name], found = transform(column, rows, epochs)
            else:
                changed[f"{name}_part"], found = transform.parts(column, rows, epochs)
            for row, message in found.items():
                faults.setdefault(row, RowFault(row, message, name))
        return changed, faults

    def _value(self, element: Mapping[str, Any] | Batch, name: str) -> Any:
        if name not in element:
            raise SchemaError(f"map_images(): there is no column {name!r}, but {', '.join(map(repr, element.keys()))}")
        return element[name]

    def _locator(self, block: Block) -> Callable[[int], tuple[str | None, int]]:
        def locate(number: int) -> tuple[str | None, int]:
            row = int(block.keys.rows[number])
            if self.shards is None:
                return None, row
            shards, records = self.shards.split(np.array([row]))
            return self.shards.paths[int(shards[0])], int(records[0])

        return locate

    @property
    def calls(self) -> list[str]:
        return [call_text("map_images", list(self.columns), seed=self.seed)]

    def schema_after(self, schema: Schema) -> Schema | None:
        return None

    def describe(self) -> list[Any]:
        return ["map_images", _json(asdict(self.transform)), list(self.columns), self.seed, self.decode]


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _json(item) for name, item in value.items()}
    return [_json(item) for item in value] if isinstance(value, tuple | list) else value
