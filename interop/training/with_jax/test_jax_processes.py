"""Several JAX processes: each reads its share, and the batches of all make up one global array."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import penstock as ps

PROCESS = """
import json, sys
import jax, numpy as np
import penstock as ps
from penstock.frameworks import jax as feeds

address, number, path = sys.argv[1:]
jax.distributed.initialize(address, 2, int(number))
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
own, shapes = [], set()
for batch in feeds.feed(ps.Dataset(path, columns=["label"]).shuffle(seed=1).batch(20), sharding=sharding):
    shapes.add(batch["label"].shape)
    own.append([int(label) for part in batch["label"].addressable_shards for label in part.data])
print(json.dumps([own, sorted(shapes)]))
"""


def test_each_process_has_its_part_of_the_global_batch(path: Path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    command = [sys.executable, "-c", PROCESS, address]
    processes = [
        subprocess.Popen([*command, str(number), str(path)], stdout=subprocess.PIPE, text=True) for number in range(2)
    ]
    found = [json.loads(process.communicate(timeout=300)[0].splitlines()[-1]) for process in processes]
    expected = [batch["label"].tolist() for batch in ps.Dataset(path).shuffle(seed=1).batch(20).epoch(0)]
    assert [own for own, _ in found] == [expected[0::2], expected[1::2]]
    assert all(shapes == [[40]] for _, shapes in found)
