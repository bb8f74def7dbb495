"""Train a small network on digits with ``fit`` on a ``tf.data.Dataset``. Killed, it goes on as if nothing was.

python examples/pack_digits.py data/digits
python examples/train_tensorflow_fit.py data/digits checkpoints
"""

from __future__ import annotations

import json
import sys
from typing import Any

import tensorflow as tf

import penstock as ps
from penstock.frameworks import tensorflow as feeds

EPOCHS, BATCH, HELD_OUT, SAVE_EVERY = 8, 64, 297, 20


class SaveSteps(tf.keras.callbacks.Callback):
    """Saves model, optimizer and where the data stands."""

    def __init__(self, feed: feeds.TensorFlowFeed, model: Any, folder: str) -> None:
        super().__init__()
        self.feed = feed
        self.step, self.position = tf.Variable(0, dtype=tf.int64), tf.Variable("", dtype=tf.string)
        states = {"model": model, "optimizer": model.optimizer, "step": self.step, "data": self.position}
        self.manager = tf.train.CheckpointManager(tf.train.Checkpoint(**states), folder, max_to_keep=2)
        if self.manager.restore_or_initialize():
            feed.load_state_dict(json.loads(self.position.numpy()))

    def on_train_batch_end(self, batch: int, logs: dict[str, Any]) -> None:
        print(int(self.step.assign_add(1)), float(logs["loss"]), flush=True)
        self.model.reset_metrics()  # which would else be means over all steps
        if int(self.step) % SAVE_EVERY == 0:
            # fit takes batches ahead of its steps, so it is the number of steps that gives the position in the data.
            self.position.assign(json.dumps(self.feed.state_dict(after=batch + 1)))
            self.manager.save()


def main(data: str, folder: str) -> None:
    digits = ps.Dataset(data)
    train, test = digits[:-HELD_OUT], digits[-HELD_OUT:]
    feed = feeds.feed(train.shuffle(seed=7).batch(BATCH).map(pair).repeat(EPOCHS))

    tf.keras.utils.set_random_seed(0)
    layers = [tf.keras.layers.Flatten(), tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(10)]
    model = tf.keras.Sequential([tf.keras.Input((8, 8)), tf.keras.layers.Rescaling(1 / 16), *layers])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"])
    model.optimizer.build(model.trainable_variables)
    saving = SaveSteps(feed, model, folder)

    model.fit(feed.as_dataset(), steps_per_epoch=len(feed) - int(saving.step), callbacks=[saving], verbose=0)

    held_out = feeds.feed(test.batch(HELD_OUT).map(pair)).as_dataset()
    print("accuracy", model.evaluate(held_out, return_dict=True, verbose=0)["accuracy"])


def pair(batch: ps.Batch) -> tuple[Any, Any]:
    return batch["image"], batch["label"]


if __name__ == "__main__":
    main(*sys.argv[1:])
