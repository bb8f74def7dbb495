"""Train a small network on digits with JAX. Killed at any step and started again, it goes on as if nothing was.

python examples/pack_digits.py data/digits
python examples/train_jax.py data/digits digits.pickle
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import penstock as ps
from penstock.frameworks import jax as feeds

EPOCHS, BATCH, HELD_OUT, SAVE_EVERY = 8, 64, 297, 20
RATE, MOMENTUM = 0.1, 0.9


def initial() -> dict[str, Any]:
    first, second = jax.random.split(jax.random.key(0))
    return {
        "w1": jax.random.normal(first, (64, 64)) / 8,
        "b1": jnp.zeros(64),
        "w2": jax.random.normal(second, (64, 10)) / 8,
        "b2": jnp.zeros(10),
    }


def logits(weights: dict[str, Any], images: jax.Array) -> jax.Array:
    pixels = images.reshape(len(images), -1) / 16
    return jax.nn.relu(pixels @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


@jax.jit
def update(weights: Any, momenta: Any, batch: Any) -> tuple[Any, Any, jax.Array]:
    def loss_of(weights: Any) -> jax.Array:
        scores = jax.nn.log_softmax(logits(weights, batch["image"]))
        return -jnp.take_along_axis(scores, batch["label"][:, None], 1).mean()

    loss, gradients = jax.value_and_grad(loss_of)(weights)
    momenta = jax.tree.map(lambda m, g: MOMENTUM * m + g, momenta, gradients)
    return jax.tree.map(lambda w, m: w - RATE * m, weights, momenta), momenta, loss


def main(data: str, checkpoint: str) -> None:
    digits = ps.Dataset(data)
    train, test = digits[:-HELD_OUT], digits[-HELD_OUT:]
    # Every batch is dealt out to all devices; the weights are on each of them.
    mesh = Mesh(np.array(jax.devices()), ("data",))
    batches = train.shuffle(seed=7).batch(BATCH, drop_last=True).repeat(EPOCHS)
    feed = feeds.feed(batches, sharding=NamedSharding(mesh, PartitionSpec("data")))

    weights, step = initial(), 0
    momenta = jax.tree.map(jnp.zeros_like, weights)
    if Path(checkpoint).exists():
        saved = pickle.loads(Path(checkpoint).read_bytes())
        weights, momenta, step = saved["weights"], saved["momenta"], saved["step"]
        feed.load_state_dict(saved["data"])

    for batch in feed:
        weights, momenta, loss = update(weights, momenta, batch)
        step += 1
        print(step, float(loss), flush=True)
        if step % SAVE_EVERY == 0:
            states = {"weights": weights, "momenta": momenta, "step": step, "data": feed.state_dict()}
            Path(f"{checkpoint}.new").write_bytes(pickle.dumps(jax.device_get(states)))
            os.replace(f"{checkpoint}.new", checkpoint)

    (batch,) = feeds.feed(test.batch(HELD_OUT))
    print("accuracy", float((logits(jax.device_get(weights), batch["image"]).argmax(1) == batch["label"]).mean()))


if __name__ == "__main__":
    main(*sys.argv[1:])
