"""Return questions about files, Examples, tensors and images with real TensorFlow: a server on pipes.

TensorFlow's environment runs it. Standard input brings pickled ``(name, arguments)``, standard output takes the pickled
replies. A question is about many files at once, for TensorFlow is slow per call. Files travel as bytes; the paths are
this process's affair.
"""

from __future__ import annotations

import os
import pickle
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

GIB = 1 << 30

# TensorFlow was not built for malformed input: whatever it does, it does it within these bounds.
for what, limit in (
    (resource.RLIMIT_AS, 16 * GIB),
    (resource.RLIMIT_FSIZE, GIB),
    (resource.RLIMIT_CPU, 600),
    (resource.RLIMIT_CORE, 0),
):
    resource.setrlimit(what, (limit, limit))

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "TF_ENABLE_ONEDNN_OPTS": "0"}
replies = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # whatever TensorFlow prints must not end up between the replies

import tensorflow as tf  # noqa: E402
from examples.example_oracles import parse_examples, read_messages  # noqa: E402
from tf.expressions import evaluate  # noqa: E402


def version() -> str:
    return str(tf.__version__)


def write(path: Path, cases: list[tuple[list[bytes], str]]) -> list[bytes]:
    """Write each list of records with a compression; return the files."""
    return [_written(str(path), records, compression) for records, compression in cases]


def _written(path: str, records: list[bytes], compression: str) -> bytes:
    if compression == "SNAPPY":  # the ordinary writer refuses it
        dataset = tf.data.Dataset.from_tensor_slices(tf.constant(records, tf.string, shape=[len(records)]))
        tf.data.experimental.TFRecordWriter(path, compression).write(dataset)
    else:
        with tf.io.TFRecordWriter(path, compression or None) as writer:
            for record in records:
                writer.write(record)
    return Path(path).read_bytes()


def read(path: Path, cases: list[tuple[bytes, str]], reader: str) -> list[tuple[list[bytes], str | None]]:
    """Read each file; return its records and the name of the error that ended it, if one did."""
    reply = []
    for data, compression in cases:
        path.write_bytes(data)
        records: list[bytes] = []
        try:
            records.extend(READERS[reader](str(path), compression))
            error = None
        except tf.errors.OpError as failure:
            error = type(failure).__name__
        reply.append((records, error))
    return reply


def _dataset(path: str, compression: str) -> Iterator[bytes]:
    return tf.data.TFRecordDataset(path, compression).as_numpy_iterator()


def _iterator(path: str, compression: str) -> Iterator[bytes]:
    return tf.compat.v1.io.tf_record_iterator(path, tf.io.TFRecordOptions(compression))


READERS: dict[str, Callable[[str, str], Iterator[bytes]]] = {"dataset": _dataset, "iterator": _iterator}


def serialize_tensors(arrays: list[Any]) -> list[bytes]:
    return [tf.io.serialize_tensor(array).numpy() for array in arrays]


def parse_tensors(cases: list[tuple[bytes, str]]) -> list[Any]:
    """Parse each message as a tensor of a dtype; return None where TensorFlow refuses."""
    return [_or_none(lambda: tf.io.parse_tensor(data, dtype).numpy()) for data, dtype in cases]  # noqa: B023


def decode_images(cases: list[tuple[bytes, int, str]]) -> list[Any]:
    """Decode each image to a number of channels (0: as stored) and a dtype; return None where TensorFlow refuses."""
    return [
        _or_none(lambda: tf.io.decode_image(data, channels, dtype, expand_animations=False).numpy())  # noqa: B023
        for data, channels, dtype in cases
    ]


def decode_jpegs(cases: list[tuple[bytes, dict[str, Any]]]) -> list[Any]:
    """Decode each JPEG image with options; return None where TensorFlow refuses."""
    return [_or_none(lambda: tf.io.decode_jpeg(data, **options).numpy()) for data, options in cases]  # noqa: B023


def resize(cases: list[tuple[Any, tuple[int, int]]]) -> list[Any]:
    return [tf.image.resize(images, size).numpy() for images, size in cases]


def evaluate_all(cases: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Evaluate each expression with its names."""
    return [evaluate(tf, source, names) for source, names in cases]


def _or_none(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except tf.errors.OpError:
        return None


ABOUT_FILES: dict[str, Callable[..., Any]] = {"write": write, "read": read}
ABOUT_VALUES: dict[str, Callable[..., Any]] = {
    "version": version,
    "serialize_tensors": serialize_tensors,
    "parse_tensors": parse_tensors,
    "decode_images": decode_images,
    "decode_jpegs": decode_jpegs,
    "resize": resize,
    "read_messages": read_messages,
    "parse_examples": parse_examples,
    "evaluate": evaluate_all,
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        while True:
            try:
                name, arguments = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            if name in ABOUT_FILES:
                reply = ABOUT_FILES[name](Path(folder) / "file.tfrecord", *arguments)
            else:
                reply = ABOUT_VALUES[name](*arguments)
            pickle.dump(reply, replies)
            replies.flush()


if __name__ == "__main__":
    main()
