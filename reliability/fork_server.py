"""Runs work in children that can be killed, starved of calls and watched: a server on pipes.

It is started with ``intercept.c`` preloaded and has everything imported that the work needs, so that a trial costs a
fork. Standard input brings pickled :class:`Trial`s, standard output takes the pickled :class:`Ended`.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pickle
import select
import signal
import sys
import warnings

from reliability.trial import Ended, Trial

# Nothing that is tried takes a second: a child that takes this long hangs.
PATIENCE = 60.0


def run(trial: Trial) -> Ended:
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        _work(trial, sink)
    os.close(sink)
    messages = bytearray()
    hung = False
    while True:
        if not select.select([source], [], [], PATIENCE)[0]:
            hung = True
            os.kill(child, signal.SIGKILL)
        piece = os.read(source, 1 << 16)
        if not piece:
            break
        messages += piece
        if trial.kill_after is not None and messages.count(b"\n") >= trial.kill_after:
            os.kill(child, signal.SIGKILL)
    os.close(source)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    lines = messages[: messages.rfind(b"\n") + 1].splitlines()  # a kill may cut the last one
    return Ended(None if hung else status, [json.loads(line) for line in lines])


def _work(trial: Trial, sink: int) -> None:
    """Do the work in the child, which ends here."""
    log = os.open(trial.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def report(**what: object) -> None:
        line = json.dumps(what)
        os.write(log, f"message\t0\t0\t0\t0\t{line}\n".encode())
        os.write(sink, f"{line}\n".encode())

    module, name = trial.work.split(":")
    work = getattr(importlib.import_module(module), name)
    if "intercept" in os.environ.get("LD_PRELOAD", ""):
        watch = ctypes.CDLL(None).intercept
        watch(trial.folder.encode(), trial.log.encode(), ctypes.c_long(trial.at), trial.action, trial.error)
    try:
        report(done=work(trial.folder, report, trial.seed))
    except BaseException as error:
        report(raised=type(error).__name__, errno=getattr(error, "errno", None), message=str(error))
    os._exit(0)


def main() -> None:
    warnings.simplefilter("ignore")  # that a torn record is cut off is what is tried here
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for module in sys.argv[1:]:
        importlib.import_module(module)
    while True:
        try:
            trial = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(run(trial), results)
        results.flush()


if __name__ == "__main__":
    main()
