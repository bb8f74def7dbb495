"""``tf.io.TFRecordWriter`` and its options, and ``tf_record_iterator`` of TensorFlow 1. Also ``tf.python_io``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any, ClassVar, Literal

from penstock.records.reader import RecordReader
from penstock.records.writer import RecordWriter
from penstock.tf.errors import FailedPreconditionError, tensorflow_errors

Compression = Literal["", "ZLIB", "GZIP"]


class TFRecordCompressionType:
    """The compressions as numbers."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """Compression of records. Only the type and level have an effect; the other zlib options are ignored."""

    compression_type_map: ClassVar[dict[int, Compression]] = {0: "", 1: "ZLIB", 2: "GZIP"}

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.compression_type = self.get_compression_type_string(compression_type)
        self.compression_level = compression_level
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> Compression:
        """Return the name of a compression, given as options, name, number or None."""
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return options  # type: ignore[no-any-return]
        raise ValueError(f'Not a valid compression_type: "{options}"')


class TFRecordWriter:
    """Write records to a file, overwriting it in place."""

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        level = options.compression_level
        with tensorflow_errors():
            self._writer = RecordWriter(
                os.fspath(path),
                compression=options.compression_type,
                level=2 if level is None or level < 0 else level,
                atomic=False,
            )

    def write(self, record: Any) -> None:
        """Write one record."""
        data = record.encode() if isinstance(record, str) else record
        if not isinstance(data, bytes | bytearray):
            raise TypeError(f"expected bytes, found {type(record).__name__}")
        self._check_open()
        with tensorflow_errors():
            self._writer.write(data)

    def flush(self) -> None:
        """Hand all records to the operating system."""
        self._check_open()
        with tensorflow_errors():
            self._writer.flush()

    def close(self) -> None:
        """Finish the file."""
        with tensorflow_errors():
            self._writer.close()

    def _check_open(self) -> None:
        if self._writer.closed:
            raise FailedPreconditionError("Writer is closed.")

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # As in TensorFlow, a writer that is never closed leaves a complete file.
        try:
            self._writer.close()
        except Exception:
            pass


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Iterate over the records of a file."""
    compression = TFRecordOptions.get_compression_type_string(options)
    with tensorflow_errors():
        yield from RecordReader(os.fspath(path), compression=compression)
