"""Worker processes that call a function for whole blocks."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import struct
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np

from penstock.dataset.block import Block
from penstock.dataset.workers import FunctionCall, Outcome
from penstock.errors import WorkerError

_SECONDS_TO_END = 5


@contextmanager
def processes(call: FunctionCall, count: int) -> Iterator[Callable[[Block], Callable[[], Outcome]]]:
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
    """Return blocks until the other side closes."""
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
    """Return an error that survives the way to another process, with its traceback as a note."""
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


_ALIGNMENT = 64
# Shorter buffers are copied into the pickle: a table with many small entries would cost more.
_SHORTEST_SHARED = 4096
_COUNT = struct.Struct("<Q")


def send(channel: socket.socket, value: Any) -> None:
    """Send an object; what supports pickle's out-of-band buffers (arrays, columns) is written once and not copied."""
    buffers: list[memoryview] = []

    def keep_in_band(buffer: pickle.PickleBuffer) -> bool:
        with memoryview(buffer) as view:
            if view.nbytes < _SHORTEST_SHARED or not view.contiguous:
                return True
        buffers.append(buffer.raw())
        return False

    head = pickle.dumps(value, protocol=5, buffer_callback=keep_in_band)
    parts = [memoryview(head), *buffers]
    sizes = struct.pack(f"<{len(parts)}Q", *(part.nbytes for part in parts))
    file = _anonymous_file()
    try:
        with os.fdopen(file, "wb", closefd=False) as output:
            output.write(_COUNT.pack(len(parts)) + sizes)
            for part in parts:
                output.write(bytes(-output.tell() % _ALIGNMENT))
                output.write(part)
        socket.send_fds(channel, [b"\0"], [file])
    finally:
        os.close(file)


def receive(channel: socket.socket) -> Any:
    """Receive an object; EOFError where the other side has gone."""
    try:
        message, files, _, _ = socket.recv_fds(channel, 1, 1)
    except ConnectionResetError:
        message, files = b"", []
    if not message or not files:
        raise EOFError("the other process has gone")
    with os.fdopen(files[0], "rb") as file:
        file.seek(0)  # both sides share the position
        memory = np.fromfile(file, np.uint8).data
    (count,) = _COUNT.unpack_from(memory)
    sizes = struct.unpack_from(f"<{count}Q", memory, _COUNT.size)
    parts = []
    position = _COUNT.size * (1 + count)
    for size in sizes:
        position += -position % _ALIGNMENT
        parts.append(memory[position : position + size])
        position += size
    return pickle.loads(parts[0], buffers=parts[1:])


def _anonymous_file() -> int:
    # Memory of its own, not of /dev/shm, which containers keep small.
    if hasattr(os, "memfd_create"):
        return os.memfd_create("penstock", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
