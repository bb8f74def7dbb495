"""``TFRecordDataset``, ``TextLineDataset``, ``FixedLengthRecordDataset``: datasets of the records of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from penstock.tf.data.combine import InterleaveNode
from penstock.tf.data.dataset import Dataset
from penstock.tf.data.node import AUTOTUNE, Node
from penstock.tf.data.sources import (
    FilePartsNode,
    ListNode,
    RecordsNode,
    path_of_element,
    paths_of,
    split_fixed,
    split_lines,
)
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.io.parsing import parse_example
from penstock.tf.io.records import TFRecordOptions
from penstock.tf.tensors.dtypes import string
from penstock.tf.tensors.specs import TensorSpec
from penstock.tf.tracing.recording import INPUT


class _FilesDataset(Dataset):
    """The records of files, one file after another or several in turn."""

    def __init__(self, filenames: Any, reads: Any, read: Callable[[Node], Node], depends_on: Any, line: str) -> None:
        names: Node = FileNamesNode(filenames) if isinstance(filenames, Dataset) else ListNode(paths_of(filenames))
        count = AUTOTUNE if reads is None else int(reads)
        if count < 1 and count != AUTOTUNE:
            raise InvalidArgumentError("`cycle_length` must be > 0")
        node: Node = read(names)
        if count != AUTOTUNE:
            node = InterleaveNode(
                names,
                lambda path: read(ListNode([path])),
                count,
                1,
                depends_on=depends_on,
                row_format=node.row_format,
                spec=node.spec(),
            )
        super().__init__(node, structure=INPUT, explanation=(line,))


class TFRecordDataset(_FilesDataset):
    """The records of TFRecord files, as strings.

    Args:
        filenames: File names in any nesting, or a dataset of file names.
        compression_type: ``"GZIP"``, ``"ZLIB"``, ``""`` or None.
        buffer_size: Ignored: native threads read ahead in blocks.
        num_parallel_reads: The number of files to read in turn; None or AUTOTUNE reads one after another.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        compression = TFRecordOptions.get_compression_type_string(compression_type)
        read = partial(RecordsNode, compression=compression)
        super().__init__(filenames, num_parallel_reads, read, compression, "TFRecordDataset: records, read natively")


class TextLineDataset(_FilesDataset):
    """The lines of text files, as strings without the end of the line; the arguments are those of TFRecordDataset."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        compression = TFRecordOptions.get_compression_type_string(compression_type)
        read = partial(FilePartsNode, split=split_lines, compression=compression, depends_on=("lines",))
        super().__init__(filenames, num_parallel_reads, read, compression, "TextLineDataset: lines")


class FixedLengthRecordDataset(_FilesDataset):
    """Records of one length, between a header and a footer that are skipped; otherwise as TFRecordDataset."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        sizes = (int(record_bytes), int(header_bytes or 0), int(footer_bytes or 0))
        if sizes[0] < 1 or min(sizes) < 0:
            raise InvalidArgumentError(f"record_bytes must be > 0, header_bytes and footer_bytes >= 0, found {sizes}")
        compression = TFRecordOptions.get_compression_type_string(compression_type)
        split = partial(split_fixed, sizes=sizes, check=not compression)
        read = partial(FilePartsNode, split=split, compression=compression, depends_on=("fixed", *sizes))
        depends_on = (*sizes, compression)
        super().__init__(filenames, num_parallel_reads, read, depends_on, "FixedLengthRecordDataset: records")


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: dict[str, Any],
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: Any = None,
    reader_num_threads: Any = None,
    parser_num_threads: Any = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Return batches of parsed Examples of the files that match a pattern; with ``label_key``, and their labels."""
    if label_key is not None and label_key not in features:
        raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")

    def open_file(name: Any) -> Dataset:
        dataset = (reader or TFRecordDataset)(name, *(reader_args or ()))
        if not isinstance(dataset, Dataset):
            raise TypeError(
                "The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are not supported."
            )
        return dataset

    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset = files.interleave(open_file, cycle_length=reader_num_threads or 1)
    if isinstance(dataset.element_spec, tuple):
        dataset = dataset.map(lambda key, value: value)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    dataset = dataset.repeat(num_epochs).batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)

    def parse(records: Any) -> Any:
        parsed = parse_example(records, features)
        return parsed if label_key is None else (parsed, parsed.pop(label_key))

    return dataset.map(parse).prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


class FileNamesNode(Node):
    """The file names in a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        spec = dataset._elements().spec()
        if isinstance(spec, TensorSpec) and spec.dtype != string:
            raise TypeError(
                "The `filenames` argument must contain `tf.string` elements. Got a dataset of "
                f"`tf.{spec.dtype.name}` elements."
            )
        if isinstance(spec, TensorSpec) and spec.shape.rank:
            raise TypeError("The `filenames` argument must contain `tf.string` elements of shape [] (i.e. scalars).")

    def rows(self) -> Iterator[str]:
        return map(path_of_element, self._dataset)

    def dependencies(self) -> Node:
        return self._dataset._elements()
