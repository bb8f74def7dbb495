"""Iteration that continues after an error with the next row, as TensorFlow's does, and ``ignore_errors``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from penstock.tf.data.node import Dependencies, Node, PassThroughNode

_LOG = logging.getLogger("penstock.tf")
# Errors of the code itself, whatever the element is: skipping every element would hide them.
_CODE_ERRORS = (AttributeError, NameError, ImportError, MemoryError)


def resume_after_errors(generate: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Return the items of a generator. After an error has ended it, a new one continues from the state they share.

    The chain yields rows without a Python call for each, and outlives the generators in it.
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


class Failure(NamedTuple):
    """Takes the place of a row that could not be computed."""

    error: Exception


def rows_or_failures(rows: Iterator[Any]) -> Iterator[Any]:
    """Return the rows, with a :class:`Failure` in the place of each error."""
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except Exception as error:
            row = Failure(error)
        yield row


class IgnoreErrorsNode(PassThroughNode):
    """The elements that raise no error."""

    def __init__(self, upstream: Node, *, log: bool) -> None:
        super().__init__(upstream)
        self._log = log

    def rows(self) -> Iterator[Any]:
        rows = self._upstream.rows()
        while True:
            try:
                yield next(rows)
            except StopIteration:
                return
            except _CODE_ERRORS:
                raise
            except Exception as error:
                if self._log:
                    _LOG.warning("ignore_errors: skipped an element: %s", error)

    def dependencies(self) -> Dependencies:
        return Dependencies("ignore_errors", (self._upstream,))

    def sample(self) -> Any:
        try:
            return self._upstream.sample()
        except (StopIteration, *_CODE_ERRORS):
            raise
        except Exception:
            return next(self.rows())
