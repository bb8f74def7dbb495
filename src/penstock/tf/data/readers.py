"""``tf.data.TFRecordDataset``: the records of files."""

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
        filenames: Names, nested as you like, or a dataset of names.
        compression_type: ``"GZIP"``, ``"ZLIB"``, or nothing.
        buffer_size: Not heeded: native threads read blocks ahead.
        num_parallel_reads: Of how many files records are taken in turn; None, or AUTOTUNE: one after another.
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
        names = _names(filenames)
        reads = AUTOTUNE if num_parallel_reads is None else int(num_parallel_reads)
        node: Node
        if reads == AUTOTUNE:
            node = RecordsNode(names, compression)
        elif reads < 1:
            raise InvalidArgumentError("`cycle_length` must be > 0")
        else:
            node = InterleaveNode(
                names, lambda path: RecordsNode(ListNode([path]), compression), reads, 1, origin=RECORDS
            )
        super().__init__(node, structure=INPUT, story=("TFRecordDataset: records, read natively",))


def _names(filenames: Any) -> Node:
    if isinstance(filenames, Dataset):
        return FileNamesNode(filenames)
    return ListNode(paths_of(filenames))


class FileNamesNode(Node):
    """The names that a dataset gives."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def rows(self) -> Iterator[str]:
        """Start a pass."""
        return map(path_of_element, self._dataset)
