"""Threads that run ahead of a consumer end with its flow, and before the interpreter."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

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
