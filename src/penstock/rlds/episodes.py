"""Episodes: the episodes of a dataset, what is computed of them, and their steps as a dataset."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, SupportsIndex, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.arguments import int_at_least, names_in, one_of
from penstock.columns import Batch
from penstock.dataset.dataset import Dataset
from penstock.dataset.order import AllRows, Epoch
from penstock.dataset.pipeline import Pipeline
from penstock.dataset.random_access import position_in
from penstock.dataset.read_rows import ReadRows
from penstock.dataset.transforms.mix import Stop
from penstock.discovery.split_slices import Split
from penstock.discovery.tfds_directory import FEATURES_FILE
from penstock.errors import NotSeekableError
from penstock.records.read_options import IndexLocation
from penstock.rlds.chosen_episodes import ChosenEpisodes
from penstock.rlds.statistics import (
    DatasetStatistics,
    FeatureStatistics,
    Method,
    compute_statistics,
    load_statistics,
    store_statistics,
)
from penstock.rlds.step_features import load_step_features
from penstock.rlds.step_source import NO_AXES, Span, StepColumn, StepSource, StepView
from penstock.rlds.step_table import StepTable
from penstock.rlds.windows import Goal, GoalChoice, Pad, RowPlan
from penstock.schema.formats.tfds import MAX_BYTES
from penstock.storage import StrPath, read_whole, split_path


class Episodes:
    """The episodes of a dataset, in memory without their pictures. Immutable: each method returns new ones.

    ``len(episodes)`` is their number, ``episodes[3]`` the steps of one of them as a :class:`penstock.Batch`, and
    ``episodes[10:20]`` some of them. :meth:`steps` makes a dataset of their steps. :func:`penstock.rlds.open` opens
    them.

    Example:
        >>> episodes = ps.rlds.open("robot/1.0.0", split="train")
        >>> len(episodes), episodes.lengths[:3].tolist()
        (10, [6, 7, 8])
        >>> episodes[0]["action"].shape
        (6, 2)
    """

    def __init__(self, content: ChosenEpisodes) -> None:
        self._content = content

    def __repr__(self) -> str:
        return f"<Episodes: {len(self):,} with {int(self.lengths.sum()):,} steps: {', '.join(self.column_names)}>"

    def __len__(self) -> int:
        return len(self._content.numbers)

    def __iter__(self) -> Iterator[Batch]:
        for number in range(len(self)):
            yield self[number]

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        """Return the steps of one episode as a batch, or some of the episodes.

        Example:
            >>> episodes[-1]["observation/camera"].shape
            (6, 8, 8, 3)
            >>> len(episodes[2:5])
            3
        """
        if isinstance(key, slice):
            return self._with(numbers=self._content.numbers[key])
        number = position_in(key, len(self))
        view = self._view(1, 1, "repeat", {}, decode=True)
        first, stop = (int(bound) for bound in view.plan.bounds[number : number + 2])
        return StepSource(view).fetch(np.arange(first, stop))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of steps of each episode.

        Example:
            >>> int(episodes.lengths.sum())
            80
        """
        return self._content.lengths

    @property
    def column_names(self) -> list[str]:
        """The names of the features of a step, flat: ``"observation/camera"``.

        Example:
            >>> episodes.column_names[:2]
            ['observation/camera', 'observation/state']
        """
        return self._content.names

    @property
    def records(self) -> Dataset[dict[str, Any]]:
        """The whole episodes, one row each, with the features that are not those of steps.

        Example:
            >>> int(episodes.records[3]["episode_id"])
            3
        """
        return self._content.records.select(self._content.rows)

    def column(self, name: str) -> NDArray[Any]:
        """Return the numbers of a feature, for all steps of all episodes.

        Row ``i`` of :meth:`steps` is step ``i`` here, unless that is called with ``pad="drop"``.

        Example:
            >>> late = np.flatnonzero(episodes.column("reward") > 0)
            >>> len(episodes.steps().select(late))
            10
        """
        return self._content.numbers_of(name)[self._content.table_steps]

    def map(self, fn: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Episodes:
        """Compute columns of numbers from those of each episode, once and now.

        Windows and chunks are made of what it returns. For functions of single rows, pictures included, map the
        dataset that :meth:`steps` returns.

        Args:
            fn: Called with the numbers and texts of an episode, ``{"action": array of [steps, 2], ...}``, without
                pictures; returns those that change or are new, with a row for each step.

        Example:
            >>> def to_deltas(episode):
            ...     return {"action": np.diff(episode["action"], axis=0, prepend=0)}
            >>> episodes.map(to_deltas)[0]["action"].shape
            (6, 2)
        """
        return self._with(columns=self._content.computed(fn))

    def filter(self, fn: Callable[[dict[str, Any]], Any]) -> Episodes:
        """Return the episodes for which a function returns true; it is called as that of :meth:`map` is.

        Example:
            >>> len(episodes.filter(lambda episode: episode["reward"].sum() > 0))
            10
        """
        kept = [bool(fn(self._content.episode(number))) for number in range(len(self))]
        return self._with(numbers=self._content.numbers[np.array(kept, np.bool_)])

    def subsample(self, stride: int) -> Episodes:
        """Return the episodes with every ``stride``-th step, for data that was recorded at a higher rate.

        Example:
            >>> episodes.subsample(2).lengths[:3].tolist()
            [3, 4, 4]
        """
        return self._with(stride=self._content.stride * int_at_least("stride", stride, 1))

    def statistics(self) -> DatasetStatistics:
        """Return statistics of all columns of numbers: computed once, on all CPUs, and stored in the cache folder.

        Example:
            >>> episodes.statistics()["observation/state"].std.shape
            (3,)
        """
        content = self._content
        identity = self._view(1, 1, "repeat", {}, decode=False).digest
        stores = content.table.options.index != "none"
        shapes = {name: column.shape[1:] for name, column in content.columns.items()}
        found = load_statistics(identity, shapes) if stores else None
        if found is None:
            chosen = content.table_steps
            columns = {name: column[chosen] for name, column in content.columns.items()}
            found = compute_statistics(columns, len(self), len(chosen))
            if stores:
                store_statistics(identity, found)
        return found

    def normalize(
        self,
        names: Iterable[str],
        *,
        method: Method = "normal",
        statistics: Mapping[str, FeatureStatistics] | None = None,
        mask: Mapping[str, ArrayLike] | None = None,
    ) -> Episodes:
        """Normalize features of numbers.

        Args:
            names: The features.
            method: ``"normal"``: mean 0, standard deviation 1. ``"bounds"``: from minimum and maximum to -1 and 1.
                ``"quantiles"``: from the quantiles of 1 % and 99 % to -1 and 1; what lies beyond is clipped.
            statistics: Those to use, such as of the training split; by default of these episodes.
            mask: For features of which only some numbers are normalized, the others being kept: True for those that
                are, ``{"action": [True] * 6 + [False]}``.

        Example:
            >>> normalized = episodes.normalize(["action", "observation/state"])
            >>> bool(np.allclose(normalized.column("action").mean(axis=0), 0, atol=1e-6))
            True
        """
        one_of("method", method, get_args(Method))
        known = self.statistics() if statistics is None else statistics
        changed: dict[str, NDArray[Any]] = {}
        for name in names_in(names):
            column = self._content.numbers_of(name)
            normalized = known[name].normalize(column, method)
            if mask is not None and name in mask:
                normalized = np.where(np.asarray(mask[name], np.bool_), normalized, column.astype(np.float32))
            changed[name] = normalized
        return self._with(columns={**self._content.columns, **changed})

    def steps(
        self,
        *,
        window: int | None = None,
        horizon: int | None = None,
        pad: Pad = "repeat",
        observation: Sequence[str] = ("observation",),
        action: Sequence[str] = ("action",),
        goal: GoalChoice | None = None,
        goal_seed: int = 0,
        decode: bool = True,
    ) -> Dataset[dict[str, Any]]:
        """Return a dataset of steps, each with the observations before it and the actions after it in its episode.

        It is a :class:`penstock.Dataset`: it has a length and random access, and is shuffled, sharded among ranks,
        mixed and resumed as such. A step is read without the rest of its episode.

        Args:
            window: How many observations a row holds, its own as the last one, in a new first dimension. None holds
                its own, without that dimension.
            horizon: How many actions a row holds, its own as the first one, in the same way.
            pad: What stands for steps beyond an episode: ``"repeat"`` its first and last step, ``"zero"`` zeros and
                empty strings; the columns ``observation_mask`` and ``action_mask`` are True where a step exists.
                ``"drop"`` leaves out rows that need such steps.
            observation: The features that have the window: names, or those of folders.
            action: The features that have the horizon.
            goal: Adds the observation of a later step of the episode, as columns ``goal/...``: ``"last"``, or
                ``"future"``, which draws one at random, another one in each epoch.
            goal_seed: The same seed and epoch give the same goals.
            decode: Whether pictures are decoded; False returns their files as bytes.

        Example:
            >>> steps = episodes.steps(window=2, horizon=4)
            >>> len(steps)
            80
            >>> row = steps[0]
            >>> row["observation"]["camera"].shape, row["action"].shape
            ((2, 8, 8, 3), (4, 2))
            >>> row["observation_mask"]
            array([False,  True])
            >>> batch = next(iter(steps.shuffle(seed=7).batch(16)))
            >>> batch["observation/state"].shape
            (16, 2, 3)
        """
        one_of("pad", pad, get_args(Pad))
        steps_before = 1 if window is None else int_at_least("window", window, 1)
        steps_after = 1 if horizon is None else int_at_least("horizon", horizon, 1)
        has_axis = NO_AXES | {"window": window is not None, "chunk": horizon is not None}
        of_row: dict[str, StepColumn] = {}
        for name in self.column_names:
            folder = _folder_of(name, observation)
            span: Span = "step" if folder is None else "window"
            of_row[name] = StepColumn(name, "chunk" if _folder_of(name, action) is not None else span)
            if folder is not None and goal is not None:
                of_row[f"goal/{name.removeprefix(f'{folder}/')}"] = StepColumn(name, "goal")
        view = self._view(steps_before, steps_after, pad, of_row, decode=decode)
        chosen = None
        if goal is not None:
            one_of("goal", goal, get_args(GoalChoice))
            chosen = Goal(goal, operator.index(goal_seed))
        view = replace(view, has_axis=has_axis, goal=chosen)
        source = StepSource(view)
        reads = ReadRows(source, AllRows(source.shards), None, source.block_rows)
        return Dataset._of(Pipeline(reads), 0)

    def _view(self, window: int, horizon: int, pad: Pad, of_row: Mapping[str, StepColumn], *, decode: bool) -> StepView:
        content = self._content
        return StepView(
            table=content.table,
            numbers=content.numbers,
            stride=content.stride,
            columns=content.columns,
            plan=RowPlan(content.lengths, window, horizon, pad),
            row_columns=of_row or {name: StepColumn(name, "step") for name in content.names},
            has_axis=NO_AXES,
            decode=decode,
        )

    def _with(self, **changes: Any) -> Episodes:
        return Episodes(replace(self._content, **changes))


def _folder_of(name: str, folders: Sequence[str]) -> str | None:
    """Return the folder that a feature is in, or the feature itself where it is listed; None if it is in none."""
    return next((folder for folder in folders if name == folder or name.startswith(f"{folder}/")), None)


def mix(
    datasets: Sequence[Dataset[Any]],
    weights: Sequence[float] | None = None,
    *,
    seed: int,
    balance: bool = True,
    stop: Stop = "never",
) -> Dataset[Any]:
    """Draw each step from one of several datasets, at random.

    Args:
        datasets: Datasets of steps, shuffled before they are mixed.
        weights: How often each is drawn from, in proportion; None weighs all the same.
        seed: The same seed and epoch give the same choice.
        balance: Multiply each weight by the size of its dataset, so that with equal weights each step comes equally
            often, whichever dataset it is in.
        stop: As in :meth:`penstock.Dataset.mix`: by default, each dataset that ends starts again.

    Example:
        >>> many, few = episodes.steps(decode=False), episodes[:1].steps(decode=False)
        >>> mixed = ps.rlds.mix([many.shuffle(seed=1), few.shuffle(seed=1)], [1, 2], seed=0)
        >>> len(list(mixed.take(100)))
        100
    """
    if not datasets:
        raise ValueError("a mix needs a dataset")
    shares = [1.0] * len(datasets) if weights is None else [float(weight) for weight in weights]
    if balance and len(shares) == len(datasets):
        shares = [share * len(dataset) for share, dataset in zip(shares, datasets, strict=True)]
    return datasets[0].mix(*datasets[1:], weights=shares, seed=seed, stop=stop)


def open_episodes(
    paths: StrPath | Iterable[StrPath],
    split: str | Split | None = None,
    *,
    index: IndexLocation = "cache",
    max_record_bytes: int = 1 << 30,
    threads: int | None = None,
) -> Episodes:
    """Open the episodes of an RLDS dataset that TFDS wrote.

    The first time, all files are read once to find the steps of each episode. What is found is stored as an index:
    numbers and texts of all steps, and where their pictures are.

    Args:
        paths: The folder of the dataset, as for :class:`penstock.Dataset`.
        split: The split, or slices of splits: ``"train"``, ``"train[:90%]"``.
        index: Where to store the index: in the user's ``"cache"`` folder, in a ``"sidecar"`` file next to each of the
            files, or not at all (``"none"``).
        max_record_bytes: A longer episode is an error, whatever its header says.
        threads: Threads that read ahead. By default one per CPU that the process may use.

    Raises:
        SchemaError: The dataset has no episodes.
        NotSeekableError: Its files are compressed, so that no step can be read alone.
        CorruptDataError: A file is damaged.

    Example:
        >>> ps.rlds.open("robot/1.0.0", split="train[:50%]")
        <Episodes: 5 with 40 steps: observation/camera, observation/state, action, reward, language_instruction>
    """
    records = Dataset(paths, split=split, index=index, max_record_bytes=max_record_bytes, threads=threads)
    reads = records._pipeline.require_reads("rlds.open()")
    shards = reads.source.shards
    if not shards.is_tfrecord:
        raise NotSeekableError(
            f"steps are read out of TFRecord files, and {shards.paths[0]} is an ArrayRecord file: write a copy, "
            'ps.tfds.write("COPY/1.0.0", {"train": ps.Dataset(FOLDER, split="train")})',
            path=shards.paths[0],
        )
    folder, _ = split_path(shards.paths[0]) if shards.paths else ("", "")
    features = load_step_features(read_whole(folder + FEATURES_FILE, MAX_BYTES))
    table = StepTable(shards, features)
    rows = reads.rows.at(np.arange(len(records)), Epoch()).rows
    in_shard, number = shards.split(rows)
    first = table.first_episodes[np.array([table.paths.index(path) for path in shards.paths], np.int64)]
    numbers = first[in_shard] + number
    rows_of_numbers = np.full(table.episodes, -1, np.int64)
    rows_of_numbers[numbers] = np.arange(len(numbers))
    return Episodes(ChosenEpisodes(table, records, numbers, rows_of_numbers, 1, table.columns))
