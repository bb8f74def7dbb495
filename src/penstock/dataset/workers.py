"""Calls user functions for each element of a block, with per-row random numbers, on threads that shut down safely."""

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
    """The results of a function for a block: all of them, or those before the element that raised."""

    results: list[Any]
    error: Exception | None


@dataclass(frozen=True)
class FunctionCall:
    """A function to call for the elements of blocks, on any thread or process."""

    fn: Callable[..., Any]
    seed: int | None
    test: bool
    """Whether to convert results to bool."""

    def __call__(self, elements: Elements, keys: RowKeys, stopped: Callable[[], bool] = bool) -> Outcome:
        """Call the function for each element, until ``stopped`` returns true."""
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
                if isinstance(raised, StopIteration):  # which a generator would turn into an error without the row
                    error = RuntimeError(
                        "the function raised StopIteration, which does not end a dataset: use take() or filter()"
                    )
                    error.__cause__ = raised
                error.add_note(f"raised by {name_of(self.fn)} for row {row} in epoch {epoch}")
                return Outcome(results, error)
        return Outcome(results, None)


class RandomNumbers:
    """Seeded random numbers per row and epoch, the same on every thread and process."""

    def __init__(self, seed: int) -> None:
        self._philox = np.random.Philox(key=seed % _UINT64)
        self._generator = np.random.Generator(self._philox)
        self._state: Any = self._philox.state

    def of(self, epoch: int, row: int) -> np.random.Generator:
        """Return the generator of a row in an epoch; the next call reuses it for another row."""
        # Creating a generator takes ten times as long as setting its state, because it asks the system for entropy.
        # Philox is counter-based: rows are positions in the stream of a key, 2**192 numbers apart.
        self._state["state"]["key"][1] = epoch % _UINT64
        self._state["state"]["counter"][3] = row % _UINT64
        self._philox.state = self._state
        return self._generator


def name_of(fn: Callable[..., Any]) -> str:
    """Return the module and qualified name of a function."""
    if isinstance(fn, partial):
        return name_of(fn.func)
    named = fn if hasattr(fn, "__qualname__") else type(fn)
    # In a process that multiprocessing spawned, the main script is called __mp_main__.
    module = "__main__" if named.__module__ == "__mp_main__" else named.__module__
    return f"{module}.{named.__qualname__}"


Submit: TypeAlias = Callable[[Block], Callable[[], Outcome]]
"""Hands a block to a worker; the function that it returns waits for the outcome."""


def run_ahead(blocks: Flow, submit: Submit, max_pending: int, meter: Meter) -> Iterator[tuple[Block, Outcome]]:
    """Yield each block with its outcome, in order, with at most ``max_pending`` blocks submitted."""
    waiting: deque[tuple[Block, Callable[[], Outcome]]] = deque()
    ended = False
    failure: Exception | None = None
    while waiting or not ended:
        while not ended and len(waiting) < max_pending:
            try:
                block = next(blocks)
            except StopIteration:
                ended = True
            except Exception as error:  # raised after the blocks before it
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
    """Run threads that process whole blocks; on exit each finishes only its current element."""
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
            del job, block, future  # so that an idle thread keeps no block alive

    def submit(block: Block) -> Callable[[], Outcome]:
        future: Future[Outcome] = Future()
        jobs.put((block, future))
        return future.result

    def stop() -> None:
        stopping.set()
        for _ in started:
            jobs.put(None)

    with stopped_at_exit(started, stop):
        for number in range(count):
            thread = threading.Thread(target=work, name=f"penstock-function-{number}", daemon=True)
            thread.start()
            started.append(thread)
        yield submit


_EXIT_TIMEOUT_SECONDS = 5.0
"""How long the end of a program waits for a user's function to finish its current element."""
_active: dict[object, Callable[[float | None], None]] = {}


@contextmanager
def stopped_at_exit(threads: Sequence[threading.Thread], stop: Callable[[], None]) -> Iterator[None]:
    """Stop and join threads after the ``with`` block, or when the program ends within it.

    The threads are daemons, so that a program can end while they wait for a consumer. But a daemon that wakes during
    interpreter shutdown is unwound, and the process aborts if native code is on its stack.
    """
    owner, key = os.getpid(), object()

    def end(timeout: float | None) -> None:
        if os.getpid() != owner:  # a forked child has no such threads
            return
        stop()
        for thread in threads:
            # The current thread may be collecting this as garbage; a thread that failed to start has no ident.
            if thread is not threading.current_thread() and thread.ident is not None:
                thread.join(timeout)

    _active[key] = end
    try:
        yield
    finally:
        del _active[key]
        end(None)


@atexit.register
def _stop_all() -> None:
    # The first ones consume from the later ones, and close them.
    for end in list(_active.values()):
        end(_EXIT_TIMEOUT_SECONDS)
