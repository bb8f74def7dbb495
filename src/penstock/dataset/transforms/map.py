"""map(): a function called with each element, also on threads or in processes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from penstock.dataset.block import Block, Cursor, Flow, OpenFlow, take_keys, truncated
from penstock.dataset.order import call_text
from penstock.dataset.progress import Meter
from penstock.dataset.stage import Stage
from penstock.dataset.workers import FunctionCall, Outcome, Submit, name_of, run_ahead, threads
from penstock.schema import Schema


@dataclass(frozen=True)
class FunctionStage(Stage):
    """A stage that calls a function for each element.

    Args:
        fn: Called with the element, and with a ``np.random.Generator`` where there is a ``seed``.
        workers: The number of threads or processes that call it; 0 calls it on the iterating thread.
        processes: Whether workers are processes, for functions that hold the GIL. The function must pickle.
        seed: Random numbers depend on it, the epoch and the row, not on the worker.
    """

    fn: Callable[..., Any]
    _: KW_ONLY
    workers: int = 0
    processes: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise TypeError(f"expected a function, not {type(self.fn).__name__}")
        if self.workers < 0:
            raise ValueError(f"workers must be 0 or more, not {self.workers}")
        if self.processes:
            if os.name == "nt":
                raise NotImplementedError(
                    "worker processes are not supported on Windows: use threads (processes=False)"
                )
            if not self.workers:
                raise ValueError("processes=True needs workers=, the number of processes")
            _check_pickles(self.fn)


def _check_pickles(fn: Callable[..., Any]) -> None:
    try:
        pickle.dumps(fn)
    except Exception as error:
        raise TypeError(
            f"{name_of(fn)} does not pickle, so other processes cannot call it: define it at the top of a module, "
            "or use threads (processes=False)"
        ) from error


class MapStage(FunctionStage):
    """Returns the results of the function, in the order of the elements."""

    one_to_one = True

    def open(self, upstream: OpenFlow, cursor: Cursor, meter: Meter) -> Flow:
        with closing(upstream(cursor)) as blocks, closing(run(self, blocks, meter, test=False)) as outcomes:
            for block, (results, error) in outcomes:
                if error is None:
                    yield replace(block, elements=results)
                    continue
                if results:
                    keys = take_keys(block.keys, slice(len(results)))
                    yield truncated(replace(block, elements=results, keys=keys))
                raise error

    def schema_after(self, schema: Schema) -> None:
        return None

    @property
    def calls(self) -> list[str]:
        return [call_text("map", name_of(self.fn).rpartition(".")[2], seed=self.seed)]

    def describe(self) -> list[Any]:
        return ["map", name_of(self.fn), self.seed]


def run(stage: FunctionStage, blocks: Flow, meter: Meter, *, test: bool) -> Generator[tuple[Block, Outcome]]:
    """Return each block with the outcome of the function; closing it ends the workers."""
    call = FunctionCall(stage.fn, stage.seed, test)
    if not stage.workers:
        for block in blocks:
            with meter.timed("function"):
                outcome = call(block.elements, block.keys)
            yield block, outcome
        return
    with _start_workers(stage, call) as submit:
        yield from run_ahead(blocks, submit, stage.workers + 1, meter)


def _start_workers(stage: FunctionStage, call: FunctionCall) -> AbstractContextManager[Submit]:
    if not stage.processes:
        return threads(call, stage.workers)
    # Imported here: few use processes, and multiprocessing is slow to import.
    from penstock.dataset.worker_processes import processes

    return processes(call, stage.workers)
