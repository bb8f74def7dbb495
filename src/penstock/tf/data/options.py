"""``tf.data.Options``: how a data set is run. Most of it is TensorFlow's own business, and is kept and not heeded."""

from __future__ import annotations

from types import SimpleNamespace


class Options:
    """Options of a data set.

    ``tracing`` is ours: False calls the functions that ``map`` is given behind it for each element, as they stand.
    """

    def __init__(self) -> None:
        self.deterministic: bool | None = None
        self.tracing = True
        self.autotune = SimpleNamespace()
        self.threading = SimpleNamespace()
        self.experimental_distribute = SimpleNamespace()
        self.experimental_optimization = SimpleNamespace()
        self.experimental_threading = self.threading

    def merge(self, options: Options) -> Options:
        """Answer these options, and what others set over them."""
        merged = Options()
        vars(merged).update({**vars(self), **vars(options)})
        return merged
