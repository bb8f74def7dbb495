"""Rows are written in blocks that follow their size: none is lost or written twice where the size changes."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps

LIGHT, HEAVY = b"x", b"x" * 200_000

SIZES = {"grow": [LIGHT] * 600 + [HEAVY] * 100, "shrink": [HEAVY] * 60 + [LIGHT] * 2000}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("at_once", [True, False])
def test_rows_of_changing_size_are_all_written_once(tmp_path: Path, sizes: str, shards: int, at_once: bool):
    rows = [{"number": number, "data": data} for number, data in enumerate(SIZES[sizes])]
    with ps.Writer(tmp_path / "set", shards=shards) as writer:
        if at_once:
            writer.write_rows(rows)
        else:
            for row in rows:
                writer.write(row)
    decoder = ps.Decoder(writer.manifest.schema, columns=["number"])
    numbers: list[int] = []
    for shard in writer.manifest.shards:
        for batch in decoder.decode_batches(ps.RecordReader(tmp_path / shard.name).chunks(), 1024):
            numbers += batch["number"].tolist()
    assert sorted(numbers) == list(range(len(rows)))
