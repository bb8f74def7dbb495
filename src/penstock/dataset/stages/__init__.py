"""Stages: what is done to blocks of elements on their way, one file for each kind."""

from penstock.dataset.stages.batched import Batched as Batched
from penstock.dataset.stages.batched import Packed as Packed
from penstock.dataset.stages.bucketed import Bucketed as Bucketed
from penstock.dataset.stages.cached import Cached as Cached
from penstock.dataset.stages.cached_on_disk import CachedOnDisk as CachedOnDisk
from penstock.dataset.stages.choice import Skipped as Skipped
from penstock.dataset.stages.choice import Strided as Strided
from penstock.dataset.stages.choice import Taken as Taken
from penstock.dataset.stages.filter import Filter as Filter
from penstock.dataset.stages.map import Map as Map
from penstock.dataset.stages.padding import Pad as Pad
from penstock.dataset.stages.padding import Padding as Padding
from penstock.dataset.stages.prefetched import Prefetched as Prefetched
from penstock.dataset.stages.repeated import RepeatedFlow as RepeatedFlow
from penstock.dataset.stages.stage import Stage as Stage
from penstock.dataset.stages.unbatched import Unbatched as Unbatched
from penstock.dataset.stages.window_shuffled import WindowShuffled as WindowShuffled
