"""Worker processes that call a function for whole blocks."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess
from typing import Any

from penstock.dataset.block import Block
from penstock.dataset.shared_memory import receive, send
from penstock.dataset.stages.function import Call, Outcome
from penstock.errors import WorkerError

_SECONDS_TO_END = 5


@contextmanager
def processes(call: Call, count: int) -> Iterator[Callable[[Block], Callable[[], Outcome]]]:
    """Run processes that take blocks in turn, so that the results of each come in the order of its blocks."""
    workers: list[tuple[SpawnProcess, socket.socket]] = []
    owner = os.getpid()
    try:
        # All of them start before any is waited for. A fork would copy locks that other threads hold: they are spawned.
        workers.extend(_start(pickle.dumps(call)) for _ in range(count))
        turns = cycle(workers)

        def submit(block: Block) -> Callable[[], Outcome]:
            process, channel = next(turns)
            with suppress(BrokenPipeError, ConnectionResetError):  # whoever waits for the outcome will hear of it
                send(channel, (block.elements, block.keys))
            return lambda: _outcome(process, channel)

        yield submit
    finally:
        for _, channel in workers:
            channel.close()
        if os.getpid() == owner:
            for process, _ in workers:
                process.terminate()
            for process, _ in workers:
                process.join(_SECONDS_TO_END)
                process.kill()  # where the function catches signals
                process.join()
                process.close()


def _start(call: bytes) -> tuple[SpawnProcess, socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        process = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(theirs, call), name="penstock-function", daemon=True
        )
        # Ctrl-C in a terminal reaches the workers too. It is for the process that iterates; they inherit that it is
        # blocked, and end with it. The tracker starts with the first worker, and would unblock it again.
        resource_tracker.ensure_running()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return process, ours


def _outcome(process: SpawnProcess, channel: socket.socket) -> Outcome:
    try:
        outcome: Outcome = receive(channel)
    except EOFError:
        process.join(_SECONDS_TO_END)
        raise WorkerError(f"a worker process died: {_cause_of_death(process.exitcode)}") from None
    return outcome


def _cause_of_death(status: int | None) -> str:
    if status is None or status >= 0:
        return (
            f"exit status {status}; it has said why on standard error (in a script, what starts processes stands below "
            '`if __name__ == "__main__":`)'
        )
    killed = signal.Signals(-status)
    return f"{killed.name}{', perhaps for want of memory' if killed == signal.SIGKILL else ''}"


def _serve(channel: socket.socket, pickled: bytes) -> None:
    """Answer blocks until the other side closes."""
    call: Callable[..., Outcome]
    try:
        call = pickle.loads(pickled)
    except Exception as unreadable:
        call = _failing(unreadable)
    # The other side may go at any time, and takes with it what is still to be sent.
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            results, error = call(*receive(channel))
            try:
                send(channel, Outcome(results, error and _portable(error)))
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as unsendable:
                send(channel, Outcome([], _portable(unsendable)))


def _failing(error: Exception) -> Callable[..., Outcome]:
    def fail(*_: Any) -> Outcome:
        return Outcome([], error)

    return fail


def _portable(error: Exception) -> Exception:
    """Answer an error that survives the way to another process, with its traceback as a note."""
    trace = "".join(traceback.format_exception(error))
    copy: Exception
    try:
        copy = pickle.loads(pickle.dumps(error))
        assert isinstance(copy, type(error))
    except Exception:
        copy = WorkerError(f"{type(error).__name__}: {error}")
        for note in getattr(error, "__notes__", ()):
            copy.add_note(note)
    copy.add_note(f"in a worker process:\n{trace}")
    return copy
