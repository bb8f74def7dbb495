"""Titles, pictures and plots of the digits example, in the terminal and as a file."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

matplotlib.use("Agg")  # no window
from matplotlib import pyplot

console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)

_HEIGHT = 6
_EIGHTHS = " ▁▂▃▄▅▆▇█"


def title(name: str, what: str) -> None:
    console.print(f"\n[bold blue]{name}[/]  [dim]{what}[/]")
    sys.stdout.flush()


def show_digits(images: NDArray[np.uint8], labels: NDArray[np.int64]) -> None:
    """Draw pictures: one half block shows two pixels, one above the other."""
    pictures = []
    for pixels, label in zip(images, labels, strict=True):
        picture = Text()
        for top, bottom in zip(pixels[::2], pixels[1::2], strict=True):
            for above, below in zip(top, bottom, strict=True):
                if console.color_system:
                    picture.append("▀", style=f"{_grey(above)} on {_grey(below)}")
                else:
                    picture.append(" ▀▄█"[(above > 7) + 2 * (below > 7)])
            picture.append("\n")
        picture.append(f"   {label}", style="bold cyan")
        pictures.append(picture)
    console.print(Columns(pictures, padding=(0, 2)))


def plot_in_terminal(name: str, values: list[float]) -> None:
    """Draw a bar for each value, in eighths of a line."""
    most = max(values)
    heights = [round(8 * _HEIGHT * value / most) for value in values]
    console.print(f"\n[bold]{name}[/]  [dim]from {_short(values[0])} to {_short(values[-1])}[/]")
    for line in reversed(range(_HEIGHT)):
        scale = {0: "0", _HEIGHT - 1: _short(most)}.get(line, "")
        bars = (2 * _EIGHTHS[min(8, max(0, height - 8 * line))] for height in heights)
        console.print(f"{scale:>8} │[cyan]{''.join(bars)}[/]")


def save_plot(path: Path, curves: dict[str, list[float]]) -> None:
    """Save a picture of curves over epochs, one below the other."""
    figure, axes = pyplot.subplots(len(curves), sharex=True, figsize=(7, 5), layout="constrained")
    for axis, (name, values) in zip(axes, curves.items(), strict=True):
        axis.plot(range(1, len(values) + 1), values)
        axis.set_ylabel(name)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[-1].set_xlabel("epoch")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"


def _grey(value: int) -> str:
    shade = int(value) * 255 // 16
    return f"rgb({shade},{shade},{shade})"
