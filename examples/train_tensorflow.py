"""Train a small network on digits with a loop of TensorFlow's. Killed at any step, it goes on as if nothing was.

python examples/pack_digits.py data/digits
python examples/train_tensorflow.py data/digits checkpoints
"""

from __future__ import annotations

import json
import sys
from typing import Any

import tensorflow as tf

import penstock as ps
from penstock.frameworks import tensorflow as feeds

EPOCHS, BATCH, HELD_OUT, SAVE_EVERY = 8, 64, 297, 20


def main(data: str, folder: str) -> None:
    digits = ps.Dataset(data)
    train, test = digits[:-HELD_OUT], digits[-HELD_OUT:]
    feed = feeds.feed(train.shuffle(seed=7).batch(BATCH).repeat(EPOCHS))

    tf.keras.utils.set_random_seed(0)
    layers = [tf.keras.layers.Flatten(), tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(10)]
    model = tf.keras.Sequential([tf.keras.Input((8, 8)), tf.keras.layers.Rescaling(1 / 16), *layers])
    optimizer = tf.keras.optimizers.Adam(3e-3)
    optimizer.build(model.trainable_variables)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(reduce_retracing=True)
    def update(batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(batch["label"], model(batch["image"], training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    # The state of the data is a variable like the others, so that one checkpoint has all.
    step, position = tf.Variable(0, dtype=tf.int64), tf.Variable("", dtype=tf.string)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step, data=position)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    if manager.restore_or_initialize():
        feed.load_state_dict(json.loads(position.numpy()))

    for batch in feed:
        loss = update(batch)
        step.assign_add(1)
        print(int(step), float(loss), flush=True)
        if int(step) % SAVE_EVERY == 0:
            position.assign(json.dumps(feed.state_dict()))
            manager.save()

    (batch,) = feeds.feed(test.batch(HELD_OUT))
    right = tf.argmax(model(batch["image"]), 1) == batch["label"]
    print("accuracy", float(tf.reduce_mean(tf.cast(right, tf.float32))))


if __name__ == "__main__":
    main(*sys.argv[1:])
