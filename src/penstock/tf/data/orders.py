"""Methods of data sets that put elements in another order or number, keep them, or make them ahead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.tf.data import chosen, creation, moving
from penstock.tf.data.node import AUTOTUNE, INFINITE, UNKNOWN
from penstock.tf.data.origins import RECORDS
from penstock.tf.data.planned import Planned
from penstock.tf.data.prefetched import Prefetched
from penstock.tf.data.shuffled import Shuffled
from penstock.tf.errors import InvalidArgumentError
from penstock.tf.random_state import with_random_state
from penstock.tf.specs import UNKNOWN as UNKNOWN_SPEC
from penstock.tf.structure import leaves, map_structure

if TYPE_CHECKING:
    from penstock.tf.data.dataset import Dataset

_BATCHES_AHEAD = 2


class Orders(Planned):
    """Which elements come when."""

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Draw elements from a buffer, in TensorFlow's order where there is a seed."""
        size = int(buffer_size)
        if size < 1 and size != UNKNOWN:
            raise InvalidArgumentError("buffer_size must be greater than zero or UNKNOWN_CARDINALITY")
        reshuffle = reshuffle_each_iteration is not False
        held = None if size == UNKNOWN else size
        return self._moved(Shuffled(self._node, held, seed, reshuffle=reshuffle), f"shuffle({size})")

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Go through all elements several times, or without end."""
        times = INFINITE if count is None else int(count)
        return self._moved(moving.Repeated(self._node, times), f"repeat({'' if times < 0 else times})")

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Keep the first elements."""
        return self._moved(moving.Taken(self._node, int(count)), f"take({int(count)})")

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Leave the first elements out."""
        return self._moved(moving.Skipped(self._node, int(count)), f"skip({int(count)})")

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keep the elements up to the first for which a function answers False."""
        return self._computed(
            chosen.TakenWhile(self._elements(), with_random_state(predicate)), "take_while: for each element"
        )

    def unique(self, name: str | None = None) -> Dataset:
        """Keep the elements that have not come before."""
        return self._computed(chosen.Unique(self._elements()), "unique: elements")

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Keep every ``num_shards``-th element."""
        count, place = int(num_shards), int(index)
        if count < 1:
            raise InvalidArgumentError(f"Number of shards must be greater than zero (got num_shards = {count}).")
        if not 0 <= place < count:
            raise InvalidArgumentError(f"Index must be between 0 and {count - 1} (currently index = {place}).")
        return self._moved(moving.Shard(self._node, count, place), f"shard({count}, {place})")

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Make batches ahead, on a thread. Elements before they are batched need none: native threads read ahead."""
        ahead = _BATCHES_AHEAD if int(buffer_size) == AUTOTUNE else int(buffer_size)
        if ahead < 0:
            raise InvalidArgumentError(f"buffer_size must be >= 0 or AUTOTUNE, found {ahead}")
        if not self._node.coarse or not ahead:
            return self._moved(self._node, "prefetch")
        node = Prefetched(self._node, ahead)
        return self._computed(node, f"prefetch: a thread makes {ahead} batches ahead")

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keep the elements once all have been made: in memory, or in a file, for other processes too."""
        path = creation.path_of(filename)
        if not path:
            return self._computed(moving.Cached(self._elements()), "cache: elements in memory")
        from penstock.tf.data.cache_file import CachedInFile  # what tells a stale one is imported for those who ask

        return self._computed(CachedInFile(self._elements(), path), "cache: elements in a file")

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Go on with another data set, of elements alike."""
        _check_alike(self._elements().spec(), dataset._elements().spec())
        if self._node.origin is dataset._node.origin is RECORDS and not (self._traces or dataset._traces):
            return self._moved(moving.Concatenated(self._node, dataset._node), "concatenate")
        node = moving.Concatenated(self._elements(), dataset._elements())
        structure = self._structure if self._structure == dataset._structure else None
        return self._computed(node, "concatenate: elements", structure=structure)


def _check_alike(one: Any, other: Any) -> None:
    """Refuse elements of other structures, kinds or dtypes, as far as they are known before there is one."""
    if one is None or other is None:
        return
    pairs = zip(leaves(one), leaves(other), strict=False)
    if map_structure(lambda _: None, one) != map_structure(lambda _: None, other) or not all(map(_is_alike, pairs)):
        raise TypeError(f"Incompatible dataset elements:\n  {one} vs.   {other}")


def _is_alike(pair: tuple[Any, Any]) -> bool:
    one, other = pair
    if UNKNOWN_SPEC in pair:
        return True
    return type(one) is type(other) and getattr(one, "dtype", None) == getattr(other, "dtype", None)
