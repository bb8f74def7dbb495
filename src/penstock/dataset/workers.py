"""Calls of a user's function: once for each element of a block, with random numbers of the element's own."""

from __future__ import annotations

import atexit
import os
import pickle
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from penstock.dataset.block import Block, Elements, Flow, each
from penstock.dataset.order import RowKeys
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage

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
        rows = zip(each(elements), keys.rows.tolist(), keys.epochs.tolist(), strict=True)
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


@dataclass(frozen=True)
class FunctionStage(Stage):
    """A stage that calls a function for each element.

    Args:
        fn: Called with the element, and with a ``np.random.Generator`` where there is a ``seed``.
        workers: How many threads or processes call it; 0: the one that iterates.
        processes: Whether workers are processes, for functions that hold the GIL. The function must pickle.
        seed: Random numbers are derived from it, from the epoch and from the row: the same whoever calls.
    """

    fn: Callable[..., Any]
    _: KW_ONLY
    workers: int = 0
    processes: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise TypeError(f"a function is expected, found {type(self.fn).__name__}")
        if self.workers < 0:
            raise ValueError(f"workers are 0 or more, not {self.workers}")
        if self.processes:
            if os.name == "nt":
                raise NotImplementedError("Windows passes no files between processes: use threads (processes=False)")
            if not self.workers:
                raise ValueError("processes=True needs workers: how many processes")
            _check_pickles(self.fn)


def _check_pickles(fn: Callable[..., Any]) -> None:
    try:
        pickle.dumps(fn)
    except Exception as error:
        raise TypeError(
            f"{name_of(fn)} does not pickle, so other processes cannot call it: define it at the top of a module, "
            "or use threads (processes=False)"
        ) from error


Submit: TypeAlias = Callable[[Block], Callable[[], Outcome]]
"""Hands a block to a worker; the answer waits for the outcome."""


def run(stage: FunctionStage, blocks: Flow, meter: Meter, *, test: bool) -> Generator[tuple[Block, Outcome]]:
    """Return each block with what the function made of it; closing it ends the workers."""
    call = FunctionCall(stage.fn, stage.seed, test)
    if not stage.workers:
        for block in blocks:
            with meter.timed("function"):
                outcome = call(block.elements, block.keys)
            yield block, outcome
        return
    with _crew(stage, call) as submit:
        yield from _ahead(blocks, submit, stage.workers + 1, meter)


def _crew(stage: FunctionStage, call: FunctionCall) -> AbstractContextManager[Submit]:
    if not stage.processes:
        return threads(call, stage.workers)
    # Imported here: few use processes, and multiprocessing is slow to import.
    from penstock.dataset.worker_processes import processes

    return processes(call, stage.workers)


def _ahead(blocks: Flow, submit: Submit, most: int, meter: Meter) -> Iterator[tuple[Block, Outcome]]:
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
