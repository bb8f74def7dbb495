"""Worker processes that call a function for whole blocks, which they exchange through shared memory."""

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
from functools import partial
from itertools import cycle
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np

from penstock.dataset.block import Block
from penstock.dataset.workers import FunctionCall, Outcome
from penstock.errors import WorkerError

_JOIN_TIMEOUT_SECONDS = 5


@contextmanager
def processes(call: FunctionCall, count: int) -> Iterator[Callable[[Block], Callable[[], Outcome]]]:
    """Run processes that take blocks in turn; each returns results in the order of its blocks."""
    workers: list[tuple[SpawnProcess, socket.socket]] = []
    owner = os.getpid()
    try:
        # Start all before waiting for any. They are spawned, because a fork would copy locks that other threads hold.
        workers.extend(_start(pickle.dumps(call)) for _ in range(count))
        turns = cycle(workers)

        def submit(block: Block) -> Callable[[], Outcome]:
            process, channel = next(turns)
            with suppress(BrokenPipeError, ConnectionResetError):  # raised by the function that waits for the outcome
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
                process.join(_JOIN_TIMEOUT_SECONDS)
                process.kill()  # in case the function ignores SIGTERM
                process.join()
                process.close()


def _start(call: bytes) -> tuple[SpawnProcess, socket.socket]:
    parent_end, child_end = socket.socketpair()
    with child_end:
        process = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(child_end, call), name="penstock-function", daemon=True
        )
        # Ctrl-C in a terminal reaches the workers too, but only the iterating process should handle it: workers
        # inherit a blocked SIGINT and end with their parent. Start the resource tracker first, as it unblocks SIGINT.
        resource_tracker.ensure_running()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        except BaseException:
            parent_end.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return process, parent_end


def _outcome(process: SpawnProcess, channel: socket.socket) -> Outcome:
    try:
        outcome: Outcome = receive(channel)
    except EOFError:
        process.join(_JOIN_TIMEOUT_SECONDS)
        raise WorkerError(f"a worker process died: {_exit_reason(process.exitcode)}") from None
    return outcome


def _exit_reason(status: int | None) -> str:
    if status is None or status >= 0:
        return (
            f"exit status {status}; see standard error for the reason (in a script, put the code that starts processes "
            'below `if __name__ == "__main__":`)'
        )
    killed = signal.Signals(-status)
    return f"{killed.name}{', possibly out of memory' if killed == signal.SIGKILL else ''}"


def _serve(channel: socket.socket, pickled: bytes) -> None:
    """Process blocks until the other side closes."""
    call: Callable[..., Outcome]
    try:
        call = pickle.loads(pickled)
    except Exception as unreadable:
        call = partial(_fail, unreadable)
    # The other side may close at any time, even while results are sent.
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            results, error = call(*receive(channel))
            try:
                send(channel, Outcome(results, error and _picklable(error)))
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as unsendable:
                send(channel, Outcome([], _picklable(unsendable)))


def _fail(error: Exception, *_: Any) -> Outcome:
    return Outcome([], error)


def _picklable(error: Exception) -> Exception:
    """Return an error that can be sent to another process, with its traceback as a note."""
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
# Shorter buffers are copied into the pickle, which costs less than one more entry in the table of buffers.
_MIN_SHARED_BYTES = 4096
_COUNT = struct.Struct("<Q")


def send(channel: socket.socket, value: Any) -> None:
    """Send an object; out-of-band buffers of pickle (arrays, columns) are written once, without another copy."""
    buffers: list[memoryview] = []

    def keep_in_band(buffer: pickle.PickleBuffer) -> bool:
        with memoryview(buffer) as view:
            if view.nbytes < _MIN_SHARED_BYTES or not view.contiguous:
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
    """Receive an object; raise EOFError if the other side has closed."""
    try:
        message, files, _, _ = socket.recv_fds(channel, 1, 1)
    except ConnectionResetError:
        message, files = b"", []
    if not message or not files:
        raise EOFError("the other process closed the connection")
    with os.fdopen(files[0], "rb") as file:
        file.seek(0)  # the file position is shared with the sender
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
    # Not in /dev/shm, which is small in containers.
    if hasattr(os, "memfd_create"):
        return os.memfd_create("penstock", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
