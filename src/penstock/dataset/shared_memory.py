"""Objects between processes: their arrays lie in memory that both share, and only a file descriptor is sent.

The memory has no name, so nobody has to remove it: it goes when the last process that has it lets go or dies. The
receiver reads it at once into memory of its own. To map it would save that copy, and cost a fault for every page; but
each array that lives on would hold a mapping and a descriptor, of which a process has few.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import tempfile
from typing import Any

import numpy as np

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
