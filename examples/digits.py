"""Penstock on 1,797 real pictures: write, describe, read, verify, move, damage, save.

Run it with `make demo`, or with any Python that has penstock and scikit-learn.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text
from sklearn.datasets import load_digits

import penstock as ps
from penstock.cli import main as penstock_command

SHARDS = 4
PASSES = 200
console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)


def main() -> None:
    digits = load_digits()
    images = digits.images.astype(np.uint8)  # 1797 pictures, 8 x 8, grey values from 0 to 16
    labels = digits.target.astype(np.int64)

    with tempfile.TemporaryDirectory(prefix="penstock-") as folder, contextlib.chdir(folder):
        title("1  Write", f"{len(images):,} handwritten digits into {SHARDS} shards, with a manifest beside them")
        ps.write("here/digits", {"image": images, "label": labels}, shards=SHARDS)
        for path in sorted(Path("here").iterdir()):
            console.print(f"  {path}   [dim]{path.stat().st_size:,} bytes[/]")

        title("2  Move", "to another machine, say: the schema travels with the data")
        shutil.move("here", "there")
        run("schema", "there")

        title("3  Read", "what comes back is what was written: the same arrays, dtypes and shapes")
        manifest = ps.Manifest.load("there/digits.penstock.json")
        batches = list(read(Path("there"), manifest))
        assert np.array_equal(np.concatenate([batch["image"] for batch in batches]), images)
        assert np.array_equal(np.concatenate([batch["label"] for batch in batches]), labels)
        show_digits(batches[0]["image"][:10], batches[0]["label"][:10])

        title("4  Look", "at the values")
        run("stats", "there")

        title("5  Verify", "every checksum, and the manifest")
        run("verify", "there")

        title("6  Damage", "one byte of a header and one of a picture, in a copy of the first shard")
        damaged = damage(Path("there") / manifest.shards[0].name, Path("damaged.tfrecord"))
        run("verify", str(damaged))
        reader = ps.RecordReader(damaged, on_error="skip")
        saved = sum(1 for _ in reader)
        console.print(
            f'\nwith on_error="skip": [green]{saved} of {manifest.shards[0].records} records read[/], '
            f"{len(reader.damage)} lost"
        )

        title("7  Speed", f"these pictures, {PASSES} times over, in one file")
        console.print(measure(np.tile(images, (PASSES, 1, 1)), np.tile(labels, PASSES)))


def read(folder: Path, manifest: ps.Manifest) -> Iterator[ps.Batch]:
    """Decode all shards of a data set, batch by batch."""
    decoder = ps.Decoder(manifest.schema)
    for shard in manifest.shards:
        yield from decoder.decode_batches(ps.RecordReader(folder / shard.name).chunks(), 256)


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


def measure(images: NDArray[np.uint8], labels: NDArray[np.int64]) -> Table:
    """Time writing, reading and decoding in each compression."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("compression")
    for column in ("size", "write", "read + decode", "read as bytes", "count"):
        table.add_column(column, justify="right")
    for compression in ("", "GZIP", "ZLIB"):
        write = timed(
            lambda c=compression: ps.write("speed", {"image": images, "label": labels}, compression=c, replace=True)
        )
        manifest = ps.Manifest.load("speed.penstock.json")
        path = Path(manifest.shards[0].name)
        reader = ps.RecordReader(path)
        seconds = [
            write,
            timed(lambda m=manifest: sum(batch.num_rows for batch in read(Path(), m))),
            timed(lambda r=reader: sum(1 for _ in r)),
            timed(reader.count),
        ]
        rates = [f"{len(images) / each / 1e6:.1f} M/s" for each in seconds]
        table.add_row(compression or "none", f"{path.stat().st_size / 1e6:.1f} MB", *rates)
    return table


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show_digits(images: NDArray[np.uint8], labels: NDArray[np.int64]) -> None:
    """Draw pictures: one half block shows two pixels, one above the other."""
    pictures = []
    for pixels, label in zip(images, labels, strict=True):
        picture = Text()
        for top, bottom in zip(pixels[::2], pixels[1::2], strict=True):
            for above, below in zip(top, bottom, strict=True):
                if console.color_system:
                    picture.append("▀", style=f"{grey(above)} on {grey(below)}")
                else:
                    picture.append(" ▀▄█"[(above > 7) + 2 * (below > 7)])
            picture.append("\n")
        picture.append(f"   {label}", style="bold cyan")
        pictures.append(picture)
    console.print(Columns(pictures, padding=(0, 2)))


def grey(value: int) -> str:
    shade = int(value) * 255 // 16
    return f"rgb({shade},{shade},{shade})"


def title(name: str, what: str) -> None:
    console.print(f"\n[bold blue]{name}[/]  [dim]{what}[/]")
    sys.stdout.flush()


def run(*arguments: str) -> None:
    """Run the command line as a user would; its exit status is the story's, not this script's."""
    console.print("[dim]$[/] penstock " + " ".join(arguments))
    sys.stdout.flush()
    penstock_command(arguments, prog_name="penstock", standalone_mode=False)


if __name__ == "__main__":
    main()
