"""A typical TFRecord tutorial, from writing to training. Run it with the path of an empty folder.

A test checks that it prints the same with ``import penstock.tf as tf``.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import tensorflow as tf

FOLDER = sys.argv[1]
EXAMPLES, SHARDS, CLASSES = 240, 4, 3
tf.random.set_seed(7)


def _bytes_feature(value):
    if isinstance(value, type(tf.constant(0))):
        value = value.numpy()
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _float_feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=[value]))


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def serialize_example(image, label, weight):
    feature = {
        "image": _bytes_feature(image.tobytes()),
        "tensor": _bytes_feature(tf.io.serialize_tensor(image[0])),
        "label": _int64_feature(label),
        "weight": _float_feature(weight),
        "tags": tf.train.Feature(int64_list=tf.train.Int64List(value=range(label))),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


# Create shards.
random = np.random.default_rng(1)
labels = random.integers(0, CLASSES, EXAMPLES)
images = (random.integers(0, 100, (EXAMPLES, 8, 8, 1)) + 50 * labels[:, None, None, None]).astype(np.uint8)
for shard in range(SHARDS):
    path = os.path.join(FOLDER, f"train-{shard:05d}-of-{SHARDS:05d}.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for row in range(shard, EXAMPLES, SHARDS):
            writer.write(serialize_example(images[row], int(labels[row]), row / 10))

# Inspect one record.
pattern = os.path.join(FOLDER, "train-*.tfrecord")
for raw_record in tf.data.TFRecordDataset(sorted(tf.io.gfile.glob(pattern))).take(1):
    example = tf.train.Example()
    example.ParseFromString(raw_record.numpy())
    print(sorted(example.features.feature), example.features.feature["label"])
    print(repr(raw_record.shape), raw_record.dtype)

# Read them back.
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "tensor": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "weight": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
    "tags": tf.io.VarLenFeature(tf.int64),
}


def parse(record):
    parsed = tf.io.parse_single_example(record, FEATURES)
    image = tf.reshape(tf.io.decode_raw(parsed["image"], tf.uint8), [8, 8, 1])
    return image, parsed["label"], parsed["weight"]


def normalize(image, label, weight):
    return tf.cast(image, tf.float32) / 255.0, tf.one_hot(label, CLASSES), weight


files = tf.data.Dataset.list_files(pattern, shuffle=False)
print([os.path.basename(name.numpy().decode()) for name in files])
records = files.interleave(tf.data.TFRecordDataset, cycle_length=SHARDS, num_parallel_calls=tf.data.AUTOTUNE)
print([weight.numpy().item() for _, _, weight in records.map(parse).take(10)])

# The whole input pipeline, for two epochs.
train = (
    records.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    .cache()
    .shuffle(100, seed=3)
    .map(normalize)
    .batch(32, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
)
print(train.element_spec[1].dtype, train.element_spec[1].shape)
for epoch in range(2):
    for step, (image, _, weight) in enumerate(train):
        print(epoch, step, image.shape, image.dtype.name, float(tf.reduce_max(image)), weight.numpy()[:4])

# Rarer features: tensors, lists of any length, a shuffle by the global seed.
tensors = records.map(
    lambda record: tf.io.parse_tensor(tf.io.parse_single_example(record, FEATURES)["tensor"], tf.uint8)
)
print([tensor.numpy().ravel()[:3].tolist() for tensor in tensors.take(3)])
tags = records.map(lambda record: tf.io.parse_single_example(record, FEATURES)["tags"])
print(next(iter(tags.map(tf.sparse.to_dense).padded_batch(5, padding_values=np.int64(-1)))).numpy().tolist())
print([number.numpy().item() for number in tf.data.Dataset.range(12).shuffle(5).repeat(2)])


# Python conditions and loops on tensors.
def weighed(image, label, weight):
    brightness = tf.reduce_mean(tf.cast(image, tf.float32))
    if label == 0 and not brightness > 60.0:
        kind = "dark"
    elif label == 1 or weight > 20.0:
        kind = "late"
        weight = -weight
    else:
        kind = "other"
    return weight if brightness > 50.0 else weight * 2.0, kind


def halvings(image, label, weight):
    steps = tf.constant(0)
    while weight > 1.0:
        weight = weight / 2.0
        steps = steps + 1
    return steps


for weights, kinds in records.map(parse).map(weighed).shuffle(50, seed=5).batch(80):
    print(weights.numpy()[:6].tolist(), kinds.numpy()[:6].tolist())
print([steps.numpy().item() for steps in records.map(parse).map(halvings).take(12)])

# Parse whole batches.
batches = records.batch(100).map(lambda some: tf.io.parse_example(some, FEATURES))
print([batch["tags"].dense_shape.numpy().tolist() for batch in batches])

# One worker's share.
mine = records.shard(3, 1).map(parse).map(lambda image, label, weight: weight)
print(sum(1 for _ in mine), mine.reduce(np.float32(0), lambda total, weight: total + weight).numpy())

# SequenceExamples.
sequences = os.path.join(FOLDER, "sequences.tfrecord.gz")
with tf.io.TFRecordWriter(sequences, tf.io.TFRecordOptions(compression_type="GZIP")) as writer:
    for length in (2, 4, 1):
        steps = [tf.train.Feature(float_list=tf.train.FloatList(value=[step, step / 2])) for step in range(length)]
        sequence = tf.train.SequenceExample(
            context=tf.train.Features(feature={"length": _int64_feature(length)}),
            feature_lists=tf.train.FeatureLists(feature_list={"steps": tf.train.FeatureList(feature=steps)}),
        )
        writer.write(sequence.SerializeToString())


def parse_sequence(record):
    context, lists = tf.io.parse_single_sequence_example(
        record,
        context_features={"length": tf.io.FixedLenFeature([], tf.int64)},
        sequence_features={"steps": tf.io.FixedLenSequenceFeature([2], tf.float32)},
    )
    return lists["steps"], context["length"]


loaded = tf.data.TFRecordDataset(sequences, compression_type="GZIP").map(parse_sequence)
for steps, lengths in loaded.padded_batch(3):
    print(steps.numpy().tolist(), lengths.numpy().tolist())

# A training loop: softmax regression by hand, so that it prints the same everywhere.
kernel, rate = np.zeros((64, CLASSES)), 0.5
for epoch in range(3):
    losses = []
    for image, one_hot, _ in train:
        inputs, targets = image.numpy().reshape(len(image), 64).astype(np.float64), one_hot.numpy()
        scores = np.exp(inputs @ kernel)
        probabilities = scores / scores.sum(axis=1, keepdims=True)
        losses.append(-np.log((probabilities * targets).sum(axis=1)).mean())
        kernel -= rate / len(image) * inputs.T @ (probabilities - targets)
    print(epoch, np.round(losses, 6).tolist())
