"""Passes that go on behind an error: with the next row, as TensorFlow's iterators do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from penstock.tf.data.node import Node, PassThroughNode

_LOG = logging.getLogger("penstock.tf")
# What the code of a function raises whatever the element is: to leave out every one of them would hide it.
_OF_CODE = (AttributeError, NameError, ImportError, MemoryError)


def lasting(generate: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Give what a generator gives; when an error has ended it, the next one goes on over the state that they share.

    The chain hands rows out without a call of Python, and outlives the generators in it.
    """
    ended = False

    def generator() -> Iterator[Any]:
        nonlocal ended
        yield from generate()
        ended = True

    def generators() -> Iterator[Iterator[Any]]:
        while not ended:
            yield generator()

    return chain.from_iterable(generators())


class IgnoreErrorsNode(PassThroughNode):
    """The elements that can be had."""

    def __init__(self, before: Node, *, log: bool) -> None:
        super().__init__(before)
        self._log = log

    def rows(self) -> Iterator[Any]:
        """Start a pass."""
        rows = self.before.rows()
        while True:
            try:
                yield next(rows)
            except StopIteration:
                return
            except _OF_CODE:
                raise
            except Exception as error:
                if self._log:
                    _LOG.warning("ignore_errors: left an element out: %s", error)

    def sample(self) -> Any:
        """Return some element that can be had."""
        try:
            return self.before.sample()
        except (StopIteration, *_OF_CODE):
            raise
        except Exception:
            return next(self.rows())
