"""Calls ahead of the consumer: by none, by threads or by processes, with the results in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from queue import SimpleQueue
from typing import TypeAlias

from penstock.dataset.block import Block, Flow
from penstock.dataset.meter import Meter
from penstock.dataset.stages.ending import ended
from penstock.dataset.stages.function import Call, FunctionStage, Outcome

Submit: TypeAlias = Callable[[Block], Callable[[], Outcome]]
"""Hands a block to a worker; the answer waits for the outcome."""


def run(stage: FunctionStage, blocks: Flow, meter: Meter, *, test: bool) -> Generator[tuple[Block, Outcome]]:
    """Answer each block with what the function made of it; closing it ends the workers."""
    call = Call(stage.fn, stage.seed, test)
    if not stage.workers:
        for block in blocks:
            with meter.timed("function"):
                outcome = call(block.elements, block.keys)
            yield block, outcome
        return
    with _crew(stage, call) as submit:
        yield from _ahead(blocks, submit, stage.workers + 1, meter)


def _crew(stage: FunctionStage, call: Call) -> AbstractContextManager[Submit]:
    if not stage.processes:
        return threads(call, stage.workers)
    # Imported here: few use processes, and multiprocessing is slow to import.
    from penstock.dataset.stages.processes import processes

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
def threads(call: Call, count: int) -> Iterator[Submit]:
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
