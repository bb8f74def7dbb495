"""Penstock on 1,797 real pictures: write, read, count, verify, damage, survive.

Run it with `make demo`, or with any Python that has penstock and scikit-learn.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
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
    labels = digits.target.astype(np.uint8)
    # One record: a label byte, then 64 pixels.
    records = [bytes([label]) + image.tobytes() for label, image in zip(labels, images, strict=True)]

    with tempfile.TemporaryDirectory(prefix="penstock-") as folder, contextlib.chdir(folder):
        title("1  Write", f"{len(records):,} handwritten digits into {SHARDS} plain and {SHARDS} gzip shards")
        plain = write_shards(records, ".tfrecord")
        packed = write_shards(records, ".tfrecord.gz")

        title("2  Read", "what comes back is what was written")
        for shards in (plain, packed):
            assert [record for shard in shards for record in ps.RecordReader(shard)] == records
        show_digits(list(ps.RecordReader(packed[0]))[:10])

        title("3  Count", "by the headers alone")
        run("count", "digits-*.tfrecord")

        title("4  Verify", "every checksum of all eight files")
        run("verify", ".")

        title("5  Damage", "one bit of one pixel, in a copy of the first shard")
        damaged = flip_one_bit(plain[0], Path("damaged.tfrecord"), record=42)
        run("verify", str(damaged))
        reader = ps.RecordReader(damaged, on_error="skip_record")
        saved = list(reader)
        console.print(
            f'\nwith on_error="skip_record": [green]{len(saved)} of {len(saved) + 1} records read[/], ', end=""
        )
        console.print(f"record {reader.damage[0].record} passed over")

        title("6  Speed", f"these small records, {PASSES} times over, in one file")
        console.print(measure(records * PASSES))


def write_shards(records: list[bytes], suffix: str) -> list[Path]:
    """Write the records to several files, in order."""
    shards = []
    for number, part in enumerate(np.array_split(np.arange(len(records)), SHARDS)):
        path = Path(f"digits-{number:05}-of-{SHARDS:05}{suffix}")
        with ps.RecordWriter(path) as writer:
            writer.write_many(records[i] for i in part)
        shards.append(path)
    total = sum(path.stat().st_size for path in shards)
    console.print(f"  {shards[0].name} [dim]and {SHARDS - 1} more[/]   {total:,} bytes")
    return shards


def flip_one_bit(source: Path, target: Path, *, record: int) -> Path:
    """Copy a file and change one bit of one record's payload."""
    shutil.copy(source, target)
    with target.open("r+b") as file:
        file.seek(record * (16 + 65) + 12 + 30)  # all frames are alike: 16 bytes around a payload of 65
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    return target


def measure(records: list[bytes]) -> Table:
    """Time writing and reading in each compression."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("compression")
    for column in ("size", "write", "read", "read in chunks", "count"):
        table.add_column(column, justify="right")
    for compression in ("", "GZIP", "ZLIB"):
        path = Path("speed.tfrecord")
        seconds = [timed(lambda c=compression, p=path: write_all(p, c, records))]
        reader = ps.RecordReader(path)
        seconds += [
            timed(lambda r=reader: sum(1 for _ in r)),
            timed(lambda r=reader: sum(len(chunk) for chunk in r.chunks())),
            timed(reader.count),
        ]
        rates = [f"{len(records) / each / 1e6:.1f} M/s" for each in seconds]
        table.add_row(compression or "none", f"{path.stat().st_size / 1e6:.1f} MB", *rates)
    return table


def write_all(path: Path, compression: str, records: list[bytes]) -> None:
    with ps.RecordWriter(path, compression=compression) as writer:
        writer.write_many(records)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show_digits(records: list[bytes]) -> None:
    """Draw records as pictures: one half block shows two pixels, one above the other."""
    pictures = []
    for record in records:
        pixels = np.frombuffer(record, np.uint8)[1:].reshape(8, 8)
        picture = Text()
        for top, bottom in zip(pixels[::2], pixels[1::2], strict=True):
            for above, below in zip(top, bottom, strict=True):
                picture.append(
                    "▀", style=f"{grey(above)} on {grey(below)}"
                ) if console.color_system else picture.append(" ▀▄█"[(above > 7) + 2 * (below > 7)])
            picture.append("\n")
        picture.append(f"   {record[0]}", style="bold cyan")
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
