"""Train a small network on digits with Keras, on any backend. Killed, it goes on as if nothing was.

python examples/pack_digits.py data/digits
KERAS_BACKEND=torch python examples/train_keras.py data/digits digits
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import keras

import penstock as ps
from penstock.frameworks import keras as feeds
from penstock.frameworks.feed import Feed

EPOCHS, BATCH, HELD_OUT, SAVE_EVERY = 8, 64, 297, 20


class SaveSteps(keras.callbacks.Callback):
    """Saves the model, its optimizer included, and a JSON file that says which and where the data stands."""

    def __init__(self, feed: Feed, path: str, step: int) -> None:
        super().__init__()
        self.feed, self.path, self.step = feed, path, step

    def on_train_batch_end(self, batch: int, logs: dict[str, Any]) -> None:
        self.step += 1
        print(self.step, float(logs["loss"]), flush=True)
        self.model.reset_metrics()  # which would else be means over all steps
        if self.step % SAVE_EVERY == 0:
            model = f"{self.path}-{self.step}.keras"
            self.model.save(model)
            # fit takes batches ahead of its steps, so it is the number of steps that gives the position in the data.
            states = {"model": model, "step": self.step, "data": self.feed.state_dict(after=batch + 1)}
            Path(f"{self.path}.new").write_text(json.dumps(states))
            os.replace(f"{self.path}.new", f"{self.path}.json")


def main(data: str, path: str) -> None:
    digits = ps.Dataset(data)
    train, test = digits[:-HELD_OUT], digits[-HELD_OUT:]
    feed = feeds.feed(train.shuffle(seed=7).batch(BATCH).map(pair).repeat(EPOCHS))

    step, model = 0, new_model()
    if Path(f"{path}.json").exists():
        saved = json.loads(Path(f"{path}.json").read_text())
        step, model = saved["step"], keras.models.load_model(saved["model"])
        feed.load_state_dict(saved["data"])

    saving = SaveSteps(feed, path, step)
    model.fit(feed, steps_per_epoch=len(feed) - step, callbacks=[saving], verbose=0)

    held_out = feeds.feed(test.batch(HELD_OUT).map(pair))
    found = model.evaluate(held_out, return_dict=True, verbose=0)
    print("accuracy", found["accuracy"])


def pair(batch: ps.Batch) -> tuple[Any, Any]:
    return batch["image"], batch["label"]


def new_model() -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Flatten(), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)]
    model = keras.Sequential([keras.Input((8, 8)), keras.layers.Rescaling(1 / 16), *layers])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"])
    return model


if __name__ == "__main__":
    main(*sys.argv[1:])
