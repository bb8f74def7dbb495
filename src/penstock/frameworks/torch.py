"""torch: prefetch batches as tensors to a device; datasets for a ``DataLoader``."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.codec.image_transform import ImageTransform
from penstock.columns import BytesColumn, Nullable, Ragged
from penstock.columns import collate as collate_rows
from penstock.dataset.dataset import Dataset
from penstock.dataset.iterator import DatasetIterator
from penstock.errors import import_extra
from penstock.frameworks.feed import Feed, convert_leaves, is_numeric, ragged_parts, raise_absent, shard_for_process

torch = import_extra("torch", "torch", "feeding torch")
__all__ = ["IterableDataset", "MapDataset", "collate", "convert", "feed"]
RaggedAs: TypeAlias = Literal["nested", "padded"]
Move: TypeAlias = Callable[[Any], Any]


def feed(
    dataset: Dataset,
    *,
    device: Any = "cpu",
    ahead: int = 2,
    ragged: RaggedAs = "nested",
    images: ImageTransform | None = None,
) -> Feed:
    """Iterate over a dataset as tensors on a device.

    To a CUDA device, tensors are copied from pinned memory on a separate stream, while the loop uses the ones before.
    On the CPU, tensors own the memory that they were decoded into; nothing is copied.

    Args:
        dataset: The whole dataset. With several ranks (``torch.distributed``), each reads its shard, unless
            ``shard()`` was called.
        device: Where to place tensors.
        ahead: How many elements to prefetch.
        ragged: What ragged columns become: ``"nested"`` tensors (jagged), or ``"padded"`` with zeros.
        images: Decode and transform on the device what ``map_images(images, decode=False)`` left encoded. JPEG goes to
            nvJPEG in batches, by torchvision.
    """
    shard, device = shard_for_process(dataset, *_ranks()), torch.device(device)
    if device.type != "cuda":

        def convert_all(element: Any) -> Any:
            rest, pictures = _split_pictures(element, images, device)
            return _with_pictures(convert(rest, device=device, ragged=ragged), pictures)

        return Feed(shard, convert_all, ahead=ahead)
    stream = torch.cuda.Stream(device)
    in_flight: deque[tuple[Any, list[Any]]] = deque()  # pinned memory of copies, until their events have happened

    def place(element: Any) -> tuple[Any, list[Any], Any]:
        while in_flight and in_flight[0][0].query():
            in_flight.popleft()
        pinned: list[Any] = []
        moved: list[Any] = []

        def move(tensor: Any) -> Any:
            pinned.append(tensor if tensor.is_pinned() else _pinned_like(tensor).copy_(tensor))
            moved.append(pinned[-1].to(device, non_blocking=True))
            return moved[-1]

        with torch.cuda.stream(stream):
            rest, pictures = _split_pictures(element, images, device)
            placed = _with_pictures(convert_leaves(rest, lambda value: _leaf(value, ragged, move)), pictures)
            moved.extend(pictures.values())
            event = stream.record_event()
        in_flight.append((event, pinned))
        return placed, moved, event

    def arrive(placed: tuple[Any, list[Any], Any]) -> Any:
        element, moved, event = placed
        current = torch.cuda.current_stream(device)
        current.wait_event(event)
        for tensor in moved:
            tensor.record_stream(current)  # so that its memory is not reused while a kernel still reads it
        return element

    return Feed(_decode_into_pinned_memory(shard), place, arrive=arrive, ahead=ahead)


def _split_pictures(element: Any, images: ImageTransform | None, device: Any) -> tuple[Any, dict[str, Any]]:
    """Return the other columns of an element, and its pictures, decoded on the device."""
    if images is None:
        return element, {}
    from penstock.frameworks.torch_images import decode_pictures

    columns = dict(element.items())
    names = [name for name in columns if f"{name}_part" in columns]
    pictures = {name: decode_pictures(columns[name], columns[f"{name}_part"], images, device) for name in names}
    left_out = {*names, *(f"{name}_part" for name in names)}
    return {name: column for name, column in columns.items() if name not in left_out}, pictures


def _with_pictures(element: Any, pictures: dict[str, Any]) -> Any:
    """Add decoded pictures to an element."""
    return {**element, **pictures} if pictures else element


def _decode_into_pinned_memory(dataset: Dataset) -> Dataset:
    """Decode dense columns into pinned memory, if that does not make reading slower."""
    reads = dataset._pipeline.reads
    if reads is None or not reads.source.shards.local_and_plain:
        return dataset
    return dataset.with_allocator(_pinned_array)


def _pinned_array(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    array: NDArray[Any] = _pinned_like(torch.from_numpy(np.empty(0, dtype)), shape).numpy()
    return array


def _pinned_like(tensor: Any, shape: Sequence[int] | None = None) -> Any:
    return torch.empty(tensor.shape if shape is None else shape, dtype=tensor.dtype, pin_memory=True)


def convert(element: Any, *, device: Any = "cpu", ragged: RaggedAs = "nested") -> Any:
    """Convert a batch, or a dict or tuple of columns, to tensors; strings become lists."""
    return convert_leaves(element, lambda value: _leaf(value, ragged, lambda tensor: tensor.to(device)))


def collate(rows: Sequence[Any]) -> Any:
    """Collate rows of NumPy values into a batch of tensors: a ``collate_fn`` that supports ragged rows and strings."""
    return convert(collate_rows(rows))


class IterableDataset(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
    """A dataset for a ``DataLoader``: across workers and ranks, each element is read once.

    After ``batch()``, pass ``batch_size=None`` to the loader. Batches come in the order of the dataset, whatever the
    number of workers. Each iteration of a loader is the next epoch. ``StatefulDataLoader`` saves and resumes it.

    Args:
        dataset: The whole dataset, as for :func:`feed`.
        ragged: What ragged columns become: ``"nested"`` tensors (jagged), or ``"padded"`` with zeros.
    """

    def __init__(self, dataset: Dataset, *, ragged: RaggedAs = "nested") -> None:
        self._dataset, self._ragged = dataset, ragged
        self._epochs = Epochs()
        self._ranks: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self._shard())

    def __iter__(self) -> _Elements:
        shard, worker = self._shard(), torch.utils.data.get_worker_info()
        if worker is not None:
            shard = shard.shard(worker.id, worker.num_workers)
        epoch = self._epochs.begin(None if worker is None else worker.seed - worker.id)
        return _Elements(shard.epoch(epoch), self._ragged, self._epochs)

    def _shard(self) -> Dataset:
        return shard_for_process(self._dataset, *(self._ranks or _ranks()))

    def __getstate__(self) -> dict[str, Any]:
        # A spawned worker does not know the rank of its parent.
        return vars(self) | {"_ranks": self._ranks or _ranks()}


class _Elements:
    """One epoch of one worker, with state for ``StatefulDataLoader``."""

    def __init__(self, dataset: Dataset, ragged: RaggedAs, epochs: Epochs) -> None:
        self._elements: DatasetIterator = iter(dataset)
        self._ragged, self._epochs = ragged, epochs

    def __iter__(self) -> _Elements:
        return self

    def __next__(self) -> Any:
        return convert(next(self._elements), ragged=self._ragged)

    def state_dict(self) -> dict[str, Any]:
        return self._elements.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._elements.load_state_dict(state)
        self._epochs.resume(self._elements.epoch)


class MapDataset(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
    """A map-style dataset for the samplers of a ``DataLoader``; one call reads the rows of a batch.

    Rows are dicts of NumPy values for the loader's ``default_collate``; :func:`collate` is faster and supports ragged
    columns.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, position: int) -> Any:
        return self._dataset[position]

    def __getitems__(self, positions: list[int]) -> list[Any]:
        elements = self._dataset[positions]
        return elements if isinstance(elements, list) else [elements.row(i) for i in range(len(positions))]


def _leaf(value: Any, ragged: RaggedAs, move: Move) -> Any:
    if isinstance(value, Nullable):
        raise_absent()
    if isinstance(value, BytesColumn):
        return value.to_list()
    if isinstance(value, Ragged):
        return _ragged_leaf(value, ragged, move)
    if isinstance(value, np.ndarray) and value.dtype == object:  # images of different sizes
        return [_leaf(row, ragged, move) for row in value]
    return move(_tensor(np.asarray(value))) if is_numeric(value) else value


def _ragged_leaf(column: Ragged, ragged: RaggedAs, move: Move) -> Any:
    values, offsets = ragged_parts(column)
    if isinstance(values, BytesColumn):
        return column.to_list()
    if ragged == "padded":
        return move(_tensor(column.to_padded()))
    if len(offsets) > 1:
        raise TypeError(f'a nested tensor has one ragged level, the column has {len(offsets)}: pass ragged="padded"')
    return torch.nested.nested_tensor_from_jagged(move(_tensor(values)), move(_tensor(offsets[0])))


def _tensor(array: NDArray[Any]) -> Any:
    """Return a tensor that shares the memory of an array, if torch supports it."""
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = array.copy()
    if array.dtype.name == "bfloat16":  # torch cannot import this NumPy dtype
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _ranks() -> tuple[int, int]:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


_SEED_BITS = 32
_SEED = (1 << _SEED_BITS) - 1


class Epochs:
    """Counts epochs in memory that workers share.

    For each epoch, a loader starts new workers with a fresh copy of the dataset and a random seed, the same for all of
    them. So the first worker with a new seed increments the count, and the others see that their seed was counted.
    Count and seed share one word, which is read and written atomically: workers that increment at the same time write
    the same word.
    """

    def __init__(self) -> None:
        self._word = torch.zeros(1, dtype=torch.int64).share_memory_()
        self._last: tuple[int, int] | None = None  # of this process only: persistent workers last for several epochs

    def begin(self, seed: int | None) -> int:
        """Return the number of the epoch that starts; its workers share ``seed``."""
        word = int(self._word[0])
        count = word >> _SEED_BITS
        own_seed = 0 if seed is None else (seed & _SEED) or 1
        if self._last is not None and self._last[0] == os.getpid():
            count = self._last[1] + 1
        elif seed is None or word & _SEED != own_seed:
            count += 1
        self._write(count, own_seed)
        return count - 1

    def resume(self, epoch: int) -> None:
        """Continue counting from an epoch that was resumed."""
        self._write(epoch + 1, int(self._word[0]) & _SEED)

    def _write(self, count: int, seed: int) -> None:
        self._word[0] = count << _SEED_BITS | seed
        self._last = os.getpid(), count
