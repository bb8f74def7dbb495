"""Measures everything and prints one table: ``make reliability``; with ``LONG=1``, twenty times as many trials."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from oracle import Oracle

from reliability import damage, hostile, peer
from reliability.damage import COMPRESSIONS, FEW, Outcome
from reliability.faults import inject_faults
from reliability.figures import Figure, of, show
from reliability.kills import kill_writers
from reliability.power_loss import lose_power
from reliability.sandbox import Sandbox

LONG = bool(os.environ.get("LONG"))
TIMES = 20 if LONG else 1
SANITIZED = Path(__file__).parent.parent / "build/sanitize"

problems: list[str] = []


def main() -> None:
    oracle = Oracle()
    figures = [*flips(oracle), *cuts(oracle), *rescues(oracle), *crashes(oracle), *faults(), *attacks()]
    show(figures, f"TensorFlow {oracle.version()}")
    oracle.close()
    for problem in problems[:50]:
        print(problem, file=sys.stderr)
    sys.exit(0 if all(figure.holds for figure in figures) else 1)


def flips(oracle: Oracle) -> Iterator[Figure]:
    for compression in COMPRESSIONS:
        files = damage.bit_flips(damage.written(FEW, compression))
        ours = sum(map(is_honest, (damage.read(file, compression) for file in files)))
        theirs = sum(map(is_honest, peer.read(oracle, files, compression)))
        total = len(files)
        name = f"bit flips, {compression.lower() or 'plain'}: reported, or without effect"
        yield Figure(name, total, of(ours, total), of(theirs, total), ours == total)


def is_honest(outcome: Outcome) -> bool:
    """Whether a reader reported damage, or was right to report none."""
    return outcome.reported or outcome.records == FEW


def cuts(oracle: Oracle) -> Iterator[Figure]:
    for compression in COMPRESSIONS:
        whole = damage.written(FEW, compression)
        # Between records a plain file does not state its end; nor does an empty one.
        silent = {len(damage.written(FEW[:count])) for count in range(len(FEW))} if not compression else {0}
        files = [file for file in damage.truncations(whole) if len(file) not in silent]
        ours = sum(damage.read(file, compression).reported for file in files)
        theirs = sum(outcome.reported for outcome in peer.read(oracle, files, compression))
        total = len(files)
        name = f"truncations, {compression.lower() or 'plain, inside a record'}: reported"
        yield Figure(name, total, of(ours, total), of(theirs, total), ours == total)


def rescues(oracle: Oracle) -> Iterator[Figure]:
    cases = list(damage.random_damage(300 * TIMES))
    untouched = sum(len(case.untouched) for case in cases)
    repairs = [damage.repaired(case.file) for case in cases]

    def rescued(found: list[list[bytes]]) -> int:
        return sum(len(set(case.untouched) & set(records)) for case, records in zip(cases, found, strict=True))

    def invented(found: list[list[bytes]]) -> int:
        return sum(len(set(records) - set(case.records)) for case, records in zip(cases, found, strict=True))

    # Where a damaged header claims all that is left of a file, what lies there is in doubt.
    doubtful = rescued([apart for _, apart in repairs])
    theirs = [outcome.records for outcome in peer.read(oracle, [case.file for case in cases], "")]
    for name, ours, others in (
        ("read on after damage", [damage.read(case.file, on_error="skip").records for case in cases], theirs),
        ("repairs", [saved for saved, _ in repairs], None),
    ):
        right = rescued(ours) + doubtful == untouched and invented(ours) == 0
        yield Figure(
            f"{name}: records outside the damage recovered, in doubt, invented",
            len(cases),
            f"{of(rescued(ours), untouched)}, {doubtful}, {invented(ours)}",
            "" if others is None else f"{of(rescued(others), untouched)}, 0, {invented(others)}",
            right,
        )
    yield nested_rescues()


def nested_rescues() -> Figure:
    cases = [*damage.nested_damage(300 * TIMES), *damage.made_to_fool(600 * TIMES)]
    untouched = saved_apart = mixed_in = 0
    for case in cases:
        saved, apart = damage.repaired(case.file)
        untouched += len(case.untouched)
        saved_apart += len(set(case.untouched) & {*saved, *apart})
        mixed_in += len(set(saved) - set(case.records))
    name = "repairs where payloads hold TFRecords: recovered or saved apart, mixed in"
    return Figure(
        name, len(cases), f"{of(saved_apart, untouched)}, {mixed_in}", holds=saved_apart == untouched and not mixed_in
    )


def crashes(oracle: Oracle) -> Iterator[Figure]:
    with Sandbox() as sandbox:
        killed = kill_writers(sandbox, 13 * TIMES)
        powerless = lose_power(sandbox, 40 * TIMES)
    kills, flushed, found = peer.kill_writers(oracle, 10 * TIMES)
    problems.extend(killed.problems + powerless.problems)
    yield Figure(
        "kill -9: flushed records lost",
        killed.kills,
        of(killed.lost, killed.safe),
        f"{of(flushed - found, flushed)}, {kills} kills",
        not killed.lost,
    )
    yield Figure(
        "kill -9: half a file under a final name", killed.kills, str(len(killed.problems)), holds=not killed.problems
    )
    yield Figure(
        "loss of power: synced records lost",
        powerless.losses,
        of(powerless.lost, powerless.safe),
        holds=not powerless.lost,
    )
    yield Figure(
        "loss of power: half a file under a final name",
        powerless.losses,
        str(len(powerless.problems)),
        holds=not powerless.problems,
    )


def faults() -> Iterator[Figure]:
    with Sandbox() as sandbox:
        result = inject_faults(sandbox, every=1 if LONG else 4)
    problems.extend(result.problems)
    yield Figure(
        f"faults of the disk: swallowed ({result.surfaced} surfaced, {result.handled} handled)",
        result.injected,
        str(len(result.problems)),
        holds=not result.problems,
    )


def attacks() -> Iterator[Figure]:
    executions, findings, peak = 0, [], 0
    with Sandbox(module="reliability.hostile", watched=False) as sandbox:
        for seed in range(TIMES):
            for target in hostile.TARGETS:
                ended = sandbox.run(target, sandbox.empty_folder(), seed)
                if ended.status != 0 or "done" not in ended.messages[-1]:
                    findings.append(f"{target}, seed {seed}: {ended}")
                    continue
                attack = hostile.Attack(**ended.messages[-1]["done"])
                executions += attack.executions
                findings += [f"{target}, seed {seed}: {finding}" for finding in attack.findings]
                peak = max(peak, attack.peak)
    problems.extend(findings)
    yield Figure(
        "hostile files, messages, schemas, manifests, indexes: findings",
        executions,
        str(len(findings)),
        holds=not findings,
    )
    yield Figure(
        "peak memory of one of them (up to 1 KB)", executions, f"{peak / 2**20:.1f} MiB", holds=peak < 64 << 20
    )
    yield mutated_native()


def mutated_native() -> Figure:
    inputs = 40_000 * TIMES
    run = subprocess.run([SANITIZED / "mutate", str(inputs), "3"], capture_output=True, text=True)
    failed = run.returncode != 0
    if failed:
        problems.append(run.stderr[-2000:])
    use = re.search(r"at most (\d+) bytes", run.stdout)
    memory = f", {use[1]} bytes of memory per byte" if use else ""
    return Figure(f"native parsers under sanitizers: findings{memory}", inputs, str(int(failed)), holds=not failed)


if __name__ == "__main__":
    main()
