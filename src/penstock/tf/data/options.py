"""``tf.data.Options``: all names of TensorFlow, checked, merged and compared as there; few have an effect here."""

from __future__ import annotations

from typing import Any, ClassVar, Self


class _Fields:
    """Named fields with defaults; a name that does not exist raises when it is set."""

    _defaults: ClassVar[dict[str, Any]] = {}
    _same_as: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        values = {name: item() if isinstance(item, type) else item for name, item in self._defaults.items()}
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_frozen", False)

    def __getattr__(self, name: str) -> Any:
        values = object.__getattribute__(self, "__dict__").get("_values", {})
        name = type(self)._same_as.get(name, name)
        if name not in values:
            raise AttributeError(f"tf.data.{type(self).__name__} has no option {name!r}", name=name, obj=self)
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        name = type(self)._same_as.get(name, name)
        if name not in self._values:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.", name=name, obj=self)
        if self._frozen:
            raise ValueError(
                "Mutating `tf.data.Options()` returned by `tf.data.Dataset.options()` has no effect. Use "
                "`tf.data.Dataset.with_options(options)` to set or update dataset options."
            )
        self._values[name] = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values == other._values

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def merge(self, options: Self) -> Self:
        """Return these options, overridden by those of others that are set."""
        merged = type(self)()
        defaults = type(self)()._values
        for name, value in options._values.items():
            mine = self._values[name]
            if isinstance(value, _Fields):
                merged._values[name] = mine.merge(value)
            elif isinstance(value, list):
                merged._values[name] = list(dict.fromkeys([*mine, *value]))
            else:
                merged._values[name] = mine if value == defaults[name] else value
        return merged

    def frozen(self) -> Self:
        """Return a copy that cannot be changed."""
        copy = type(self)().merge(self)
        for value in copy._values.values():
            if isinstance(value, _Fields):
                object.__setattr__(value, "_frozen", True)
        object.__setattr__(copy, "_frozen", True)
        return copy


class AutotuneOptions(_Fields):
    """How TensorFlow tunes parallelism; ignored."""

    _defaults = dict.fromkeys(
        ("autotune_algorithm", "cpu_budget", "enabled", "initial_parallelism", "min_parallelism", "ram_budget")
    )


class ThreadingOptions(_Fields):
    """How many threads TensorFlow uses; ignored: native threads decode batches."""

    _defaults = dict.fromkeys(("max_intra_op_parallelism", "private_threadpool_size"))


class DistributeOptions(_Fields):
    """How TensorFlow shards a dataset among workers; ignored: use ``shard``."""

    _defaults = dict.fromkeys(("auto_shard_policy", "num_devices"))


class OptimizationOptions(_Fields):
    """What TensorFlow's graph optimizer does; ignored."""

    _defaults = dict.fromkeys(
        (
            *("apply_default_optimizations", "filter_fusion", "filter_parallelization", "inject_prefetch"),
            *("map_and_batch_fusion", "map_and_filter_fusion", "map_fusion", "map_parallelization"),
            *("noop_elimination", "parallel_batch", "seq_interleave_prefetch", "shuffle_and_repeat_fusion"),
        )
    )


class Options(_Fields):
    """Options of a dataset.

    ``tracing`` is Penstock's own: False calls the functions passed to ``map`` after it for each element.
    """

    _defaults: ClassVar[dict[str, Any]] = {
        "autotune": AutotuneOptions,
        "dataset_name": None,
        "deterministic": None,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": None,
        "experimental_optimization": OptimizationOptions,
        "experimental_slack": None,
        "experimental_symbolic_checkpoint": None,
        "experimental_warm_start": None,
        "framework_type": list,
        "threading": ThreadingOptions,
        "tracing": True,
    }
    _same_as: ClassVar[dict[str, str]] = {
        "experimental_deterministic": "deterministic",
        "experimental_threading": "threading",
    }
