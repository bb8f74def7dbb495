"""Calls of a user's function: once for each element of a block, with random numbers of the element's own."""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from penstock.dataset.block import Block, Elements, Flow, iter_elements
from penstock.dataset.order import RowKeys
from penstock.dataset.progress import Meter

_UINT64 = 2**64


class Outcome(NamedTuple):
    """What a function made of a block: all results, or those in front of the element that it failed for."""

    results: list[Any]
    error: Exception | None


@dataclass(frozen=True)
class FunctionCall:
    """A function, ready to be called for the elements of blocks on any thread or process."""

    fn: Callable[..., Any]
    seed: int | None
    test: bool
    """Whether the truth of what it returns is all that is wanted."""

    def __call__(self, elements: Elements, keys: RowKeys, stopped: Callable[[], bool] = bool) -> Outcome:
        """Call the function for each element; ends early once ``stopped``."""
        results: list[Any] = []
        random = None if self.seed is None else RandomNumbers(self.seed)
        rows = zip(iter_elements(elements), keys.rows.tolist(), keys.epochs.tolist(), strict=True)
        for element, row, epoch in rows:
            if stopped():
                break
            try:
                result = self.fn(element) if random is None else self.fn(element, random.of(epoch, row))
                results.append(bool(result) if self.test else result)
            except Exception as raised:
                error = raised
                if isinstance(raised, StopIteration):  # or generators would turn it into an error that names no row
                    error = RuntimeError("the function raised StopIteration, which does not end a dataset")
                    error.__cause__ = raised
                error.add_note(f"raised by {name_of(self.fn)} for row {row} in epoch {epoch}")
                return Outcome(results, error)
        return Outcome(results, None)


class RandomNumbers:
    """The random numbers of rows, derived from a seed: the same wherever and whenever they are asked for."""

    def __init__(self, seed: int) -> None:
        self._philox = np.random.Philox(key=seed % _UINT64)
        self._generator = np.random.Generator(self._philox)
        self._fresh: Any = self._philox.state

    def of(self, epoch: int, row: int) -> np.random.Generator:
        """Return the generator of a row in an epoch; it is another row's at the next call."""
        # To make a generator takes ten times as long as to set one, because it asks the system for entropy. This one is
        # counter-based: rows are places in the stream of a key, 2**192 numbers apart.
        self._fresh["state"]["key"][1] = epoch % _UINT64
        self._fresh["state"]["counter"][3] = row % _UINT64
        self._philox.state = self._fresh
        return self._generator


def name_of(fn: Callable[..., Any]) -> str:
    """Name a function by its module and its name in it."""
    if isinstance(fn, partial):
        return name_of(fn.func)
    named = fn if hasattr(fn, "__qualname__") else type(fn)
    # A process that multiprocessing started has the script under a name of its own, though it is the same script.
    module = "__main__" if named.__module__ == "__mp_main__" else named.__module__
    return f"{module}.{named.__qualname__}"


Submit: TypeAlias = Callable[[Block], Callable[[], Outcome]]
"""Hands a block to a worker; the answer waits for the outcome."""


def run_ahead(blocks: Flow, submit: Submit, most: int, meter: Meter) -> Iterator[tuple[Block, Outcome]]:
    """Return each block with its outcome, while up to ``most`` blocks are with the workers."""
    waiting: deque[tuple[Block, Callable[[], Outcome]]] = deque()
    ended = False
    failure: Exception | None = None
    while waiting or not ended:
        while not ended and len(waiting) < most:
            try:
                block = next(blocks)
            except StopIteration:
                ended = True
            except Exception as error:  # its turn comes behind the blocks before it
                ended, failure = True, error
            else:
                waiting.append((block, submit(block)))
        if waiting:
            block, outcome = waiting.popleft()
            with meter.timed("function"):
                result = outcome()
            yield block, result
    if failure is not None:
        raise failure


@contextmanager
def threads(call: FunctionCall, count: int) -> Iterator[Submit]:
    """Run threads that take whole blocks; at the end they finish the element that they are at, and no more."""
    jobs: SimpleQueue[tuple[Block, Future[Outcome]] | None] = SimpleQueue()
    stopping = threading.Event()
    started: list[threading.Thread] = []

    def work() -> None:
        while (job := jobs.get()) is not None:
            block, future = job
            try:
                future.set_result(call(block.elements, block.keys, stopping.is_set))
            except BaseException as error:
                future.set_exception(error)
            del job, block, future  # or an idle thread would keep a block alive

    def submit(block: Block) -> Callable[[], Outcome]:
        future: Future[Outcome] = Future()
        jobs.put((block, future))
        return future.result

    def stop() -> None:
        stopping.set()
        for _ in started:
            jobs.put(None)

    with ended(started, stop):
        for number in range(count):
            thread = threading.Thread(target=work, name=f"penstock-function-{number}", daemon=True)
            thread.start()
            started.append(thread)
        yield submit


_PATIENCE = 5.0
"""Seconds that the end of a program waits for a function of its user; normally it is done within one element."""
_open: dict[object, Callable[[float | None], None]] = {}


@contextmanager
def ended(threads: Sequence[threading.Thread], tell: Callable[[], None]) -> Iterator[None]:
    """Behind the block, or where the program ends in it, tell threads to end and wait for them.

    They are daemons, so that a program can end while they wait for a consumer that will not come. But a daemon that
    wakes while the interpreter goes is unwound, and where native code is on its stack the process aborts.
    """
    owner, key = os.getpid(), object()

    def end(patience: float | None) -> None:
        if os.getpid() != owner:  # a forked child has no such threads
            return
        tell()
        for thread in threads:
            # The current one may be collecting this as garbage; one that could not be started has no number.
            if thread is not threading.current_thread() and thread.ident is not None:
                thread.join(patience)

    _open[key] = end
    try:
        yield
    finally:
        del _open[key]
        end(None)


@atexit.register
def _end_all() -> None:
    # Those that were opened first are the consumers of the others, which they close.
    for end in list(_open.values()):
        end(_PATIENCE)
