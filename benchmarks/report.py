"""Shows findings as tables on the terminal, and keeps them as JSON and Markdown."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import picture
from contest import PEERS
from findings import Finding, in_words
from rich.console import Console
from rich.table import Table


def show(findings: list[Finding], console: Console) -> None:
    for title, unit, names, rows in _tables(findings):
        table = Table(
            "", *names, "against the goal", title=f"{title} [{unit}]".replace("[", r"\["), title_justify="left"
        )
        for finding in rows:
            verdicts = (f"[{'green' if v.met else 'red'}]{'✓' if v.met else '✗'} {v}[/]" for v in finding.verdicts)
            table.add_row(finding.workload, *_cells(finding, names), "\n".join(verdicts))
        console.print(table)


def keep(group: str, findings: list[Finding], repetitions: int, folder: Path) -> None:
    """Put a group's findings into ``latest.json`` and ``latest.md``, in place of its last ones, and draw them."""
    folder.mkdir(exist_ok=True)
    latest = folder / "latest.json"
    groups = json.loads(latest.read_text()) if latest.exists() else {}
    groups[group] = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "machine": f"{_cpu()}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {version('numpy')}",
        "peers": _peers(),
        "repetitions": repetitions,
        "tables": _markdown(findings),
        "findings": [asdict(f) | {"verdicts": [asdict(v) | {"met": v.met} for v in f.verdicts]} for f in findings],
    }
    pages = [_page(name, results) for name, results in groups.items()]
    (folder / "latest.md").write_text("# Benchmark results\n\n" + "\n".join(pages))
    latest.write_text(json.dumps(groups, indent=1) + "\n")
    if "parse" in groups:
        picture.draw(groups, folder / "parse.svg")


def _page(group: str, results: dict[str, Any]) -> str:
    about = f"{results['date']}, commit {results['commit']}, {results['machine']}, {results['repetitions']} turns."
    return f"## {group}\n\n{about}\nPeers: {', '.join(results['peers'])}.\n\n{results['tables']}"


def _markdown(findings: list[Finding]) -> str:
    lines = []
    for title, unit, names, rows in _tables(findings):
        lines += [f"### {title} ({unit})", "", "| |" + "".join(f" {name} |" for name in [*names, "against the goal"])]
        lines.append("|---" * (len(names) + 2) + "|")
        for finding in rows:
            verdicts = "<br>".join(f"{'met' if v.met else '**missed**'}: {v}" for v in finding.verdicts)
            lines.append("| " + " | ".join([finding.workload, *_cells(finding, names), verdicts]) + " |")
        lines.append("")
    return "\n".join(lines)


def _tables(findings: list[Finding]) -> list[tuple[str, str, list[str], list[Finding]]]:
    """Findings of one title are one table: a row per workload, a column per contestant."""
    tables = []
    for (title, unit), group in groupby(findings, key=lambda finding: (finding.title, finding.unit)):
        rows = list(group)
        tables.append((title, unit, list(dict.fromkeys(name for row in rows for name in row.figures)), rows))
    return tables


def _cells(finding: Finding, names: list[str]) -> list[str]:
    return [in_words(finding.figures[name]) if name in finding.figures else "" for name in names]


def _peers() -> list[str]:
    files = (Path(__file__).parent.parent / f"peers/{name}.txt" for name in PEERS)
    return [word for file in files for word in file.read_text().split() if "==" in word]


def _commit() -> str:
    result = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=Path(__file__).parent
    )
    return result.stdout.strip() or "unknown"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
