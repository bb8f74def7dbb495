"""Passes that go on behind an error: with the next row, as TensorFlow's iterators do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from penstock.tf.data.node import Moving, Node
from penstock.tf.errors import OpError

_LOG = logging.getLogger("penstock.tf")

# What functions and operations raise because of an element.
_OF_ELEMENTS = (OpError, ValueError, TypeError, ArithmeticError, LookupError)


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


class WithoutErrors(Moving):
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
            except _OF_ELEMENTS as error:
                if self._log:
                    _LOG.warning("ignore_errors: left an element out: %s", error)

    def sample(self) -> Any:
        """Answer some element that can be had."""
        try:
            return self.before.sample()
        except _OF_ELEMENTS:
            return next(self.rows())
