"""Penstock on 1,797 real pictures, the whole way: from image files to a trained network.

Run it with `make demo`, or with any Python that has penstock, scikit-learn and matplotlib.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from digits_display import console, plot_in_terminal, save_plot, show_digits, title
from digits_network import Network
from PIL import Image
from sklearn.datasets import load_digits

import penstock as ps
from penstock.cli import main as penstock_command

SHARDS, EPOCHS, BATCH, HELD_OUT = 4, 30, 32, 297
PLOT = Path("digits.png").resolve()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder, contextlib.chdir(folder):
        save_pictures(Path("pictures"))

        title("1  Pack", f"picture files into {SHARDS} shards, shuffled, with a manifest that has the schema")
        manifest = ps.write("here/digits", pictures(Path("pictures")), shards=SHARDS, shuffle=7)
        for path in sorted(Path("here").iterdir()):
            console.print(f"  {path}   [dim]{path.stat().st_size:,} bytes[/]")

        title("2  Verify", "every checksum, and the manifest")
        run("verify", "here")

        title("3  Move", "to another machine, say: the schema travels with the data")
        shutil.move("here", "there")
        run("schema", "there")

        title("4  Inspect", "the values; and any picture at random, which come back as they were")
        run("stats", "there")
        digits = ps.Dataset("there/digits")
        some = digits[np.random.default_rng(7).choice(len(digits), 10)]
        show_digits(some["image"], some["label"])

        title("5  Damage", "one byte of a header and one of a picture, in a copy of the first shard")
        damaged = damage(Path("there") / manifest.shards[0].name, Path("damaged.tfrecord"))
        run("verify", str(damaged))
        reader = ps.RecordReader(damaged, on_error="skip")
        saved, there = sum(1 for _ in reader), manifest.shards[0].records
        console.print(f'\nwith on_error="skip": [green]{saved} of {there} records read[/], {len(reader.damage)} lost')

        title("6  Train", f"a network of two layers, {EPOCHS} epochs, each in a new order")
        train(digits[:-HELD_OUT], digits[-HELD_OUT:])


def save_pictures(folder: Path) -> None:
    """Save the digits as picture files, one folder for each class."""
    digits = load_digits()
    for number, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        path = folder / str(label) / f"{number:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(path)


def pictures(folder: Path) -> Iterator[dict[str, Any]]:
    """Read them, class by class."""
    for path in sorted(folder.glob("*/*.png")):
        yield {"image": np.asarray(Image.open(path)), "label": int(path.parent.name)}


def damage(source: Path, target: Path) -> Path:
    """Copy a file and change one byte of the header of record 7 and one of the payload of record 42."""
    shutil.copy(source, target)
    offsets = [chunk.frame_offset(i) for chunk in ps.RecordReader(source).chunks() for i in range(len(chunk))]
    with target.open("r+b") as file:
        for position in (offsets[7], offsets[42] + 12 + 30):
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 1]))
    return target


def train(digits: ps.Dataset, held_out: ps.Dataset) -> None:
    network = Network(inputs=64, hidden=48, classes=10, seed=0)
    losses: list[float] = []
    rates: list[float] = []
    batches = digits.shuffle(seed=7).batch(BATCH)
    for _ in range(EPOCHS):
        start, seen, total = time.perf_counter(), 0, 0.0
        for batch in batches:
            rows = batch.num_rows
            total += rows * network.learn(batch["image"] / np.float32(16), batch["label"])
            seen += rows
        losses.append(total / seen)
        rates.append(seen / (time.perf_counter() - start))
    (batch,) = held_out.batch(HELD_OUT)
    accuracy = np.mean(network.predict(batch["image"] / np.float32(16)) == batch["label"])
    plot_in_terminal("loss", losses)
    plot_in_terminal("samples per second", rates)
    save_plot(PLOT, {"loss": losses, "samples per second": rates})
    console.print(f"\n[bold green]{accuracy:.1%}[/] of {HELD_OUT} held-out images are classified correctly")
    console.print(f"[dim]the plot is in {PLOT}[/]")


def run(*arguments: str) -> None:
    """Run the command line as a user would; its exit status is the story's, not this script's."""
    console.print("[dim]$[/] penstock " + " ".join(arguments))
    sys.stdout.flush()
    penstock_command(arguments, prog_name="penstock", standalone_mode=False)


if __name__ == "__main__":
    main()
