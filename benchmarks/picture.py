"""Draws the last parse results as bars: how many times TensorFlow's rate each contestant reached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")  # no window
matplotlib.rcParams["svg.hashsalt"] = "penstock"  # the same results, the same file
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text: small, and searchable
from matplotlib import pyplot  # noqa: E402

_TASK = "Parse into batches"
_MEASURE = "TF best practice"
_BARS = {
    "penstock": ("Penstock", "#1f6f8b"),
    _MEASURE: ("TensorFlow, best practice", "#f2a154"),
    "tfx-bsl, to Arrow": ("tfx-bsl", "#b8b0a2"),
    "tfrecord, unverified": ("tfrecord (no checksums)", "#d9d4c7"),
}
_WORKLOADS = {
    "w1": "pictures, raw",
    "w2": "floats",
    "w2b": "floats, raw",
    "w3": "tabular",
    "w4": "ragged text",
    "w5": "blobs of 110 KB",
    "w6": "sequences",
}
_BAR = 0.2


def draw(groups: dict[str, Any], path: Path) -> None:
    """Draw the group ``parse`` of kept results."""
    rows = [row for row in groups["parse"]["findings"] if row["title"] == _TASK]
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for place, (contestant, (label, colour)) in enumerate(_BARS.items()):
        ratios = [row["figures"].get(contestant, 0) / row["figures"][_MEASURE] for row in rows]
        heights = [number + (place - 1.5) * _BAR for number in range(len(rows))]
        bars = axes.barh(heights, ratios, height=_BAR, label=label, color=colour)
        if contestant == "penstock":
            axes.bar_label(bars, fmt="%.1fx", padding=3)
    axes.set_yticks(range(len(rows)), [_WORKLOADS[row["workload"]] for row in rows])
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("records per second, against TensorFlow's best practice (1x)")
    axes.set_title(f"TFRecord to batches of arrays, checksums verified\n{groups['parse']['machine']}", fontsize=10)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(_BARS))
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    draw(json.loads((results / "latest.json").read_text()), results / "parse.svg")
