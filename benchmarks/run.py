"""Compares Penstock with its peers:  make bench [GROUP=records] [WORKLOADS=w1,w3] [REPETITIONS=7].

A group is a module in groups/ with a function ``run(bench)`` that yields findings.
"""

from __future__ import annotations

import argparse
import importlib
import os
from pathlib import Path

import report
from contest import Bench
from findings import Finding
from payloads import WORKLOADS
from rich.console import Console

HERE = Path(__file__).parent
GROUPS = [
    "records",
    "parse",
    "write",
    "pipeline",
    "tutorial",
    "pictures",
    "feeding",
    "disk",
    "reshape",
    "scale",
    "footprint",
    "rlds",
]

# Fewer say too little to be kept.
_ENOUGH_REPETITIONS = 5


def main() -> None:
    options = _options()
    console = Console(width=max(Console().width, 150))
    workloads = options.workloads.split(",") if options.workloads else list(WORKLOADS)
    for group in options.group.split(",") if options.group else GROUPS:
        bench = Bench(group, workloads, options.repetitions)
        findings: list[Finding] = []
        with console.status(f"{group} …") as status:
            for finding in importlib.import_module(f"groups.{group}").run(bench):
                findings.append(finding)
                status.update(f"{group}: {finding.title}, {finding.workload}")
        bench.close()
        report.show(findings, console)
        if not options.workloads and options.repetitions >= _ENOUGH_REPETITIONS:
            report.keep(group, findings, options.repetitions, HERE / "results")
        else:
            console.print("A part of the group, or too few repetitions: results/ stays as it is.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--group", default=os.environ.get("GROUP"), help=f"of {', '.join(GROUPS)}; default: all")
    parser.add_argument("--workloads", default=os.environ.get("WORKLOADS"), help="such as w1,w3; default: all")
    parser.add_argument("--repetitions", type=int, default=int(os.environ.get("REPETITIONS", "5")))
    return parser.parse_args()


if __name__ == "__main__":
    main()
