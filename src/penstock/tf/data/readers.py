"""``tf.data.TFRecordDataset``: the records of TFRecord files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.tf.data.combine import InterleaveNode
from penstock.tf.data.dataset import Dataset
from penstock.tf.data.node import AUTOTUNE, RECORDS, Node
from penstock.tf.data.sources import ListNode, RecordsNode, path_of_element, paths_of
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.io.records import TFRecordOptions
from penstock.tf.tracing.recording import INPUT


class TFRecordDataset(Dataset):
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
        names: Node = FileNamesNode(filenames) if isinstance(filenames, Dataset) else ListNode(paths_of(filenames))
        reads = AUTOTUNE if num_parallel_reads is None else int(num_parallel_reads)
        node: Node
        if reads == AUTOTUNE:
            node = RecordsNode(names, compression)
        elif reads < 1:
            raise InvalidArgumentError("`cycle_length` must be > 0")
        else:
            node = InterleaveNode(
                names,
                lambda path: RecordsNode(ListNode([path]), compression),
                reads,
                1,
                depends_on=compression,
                row_format=RECORDS,
            )
        super().__init__(node, structure=INPUT, explanation=("TFRecordDataset: records, read natively",))


class FileNamesNode(Node):
    """The file names in a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def rows(self) -> Iterator[str]:
        return map(path_of_element, self._dataset)

    def dependencies(self) -> Node:
        return self._dataset._elements()
