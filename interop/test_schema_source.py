"""TensorFlow takes the feature descriptions that a schema writes, and parses with them."""

from __future__ import annotations

import json
import subprocess

from oracle import PYTHON

from penstock import Feature, Schema

PARSE = """
import json, os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

def made(**lists):
    example = tf.train.Example()
    for key, values in lists.items():
        example.features.feature[key].int64_list.value.extend(values)
    return example.SerializeToString()

def plain(value):
    return value.to_list() if hasattr(value, "to_list") else value.numpy().tolist()

payloads = [made(k=[3], r=[1, 2, 3, 4], flat=[1, 2, 3], n=[1, 0, 2], o=[5, 6]), made(k=[4], d=[7, 8])]
parsed = tf.io.parse_example(payloads, features)
print(json.dumps({key: plain(value) for key, value in parsed.items()}))
"""


def test_tensorflow_parses_with_the_description_of_a_schema() -> None:
    schema = Schema(
        {
            "named": Feature(int, key="k"),
            "d": Feature(int, (2,), default=[1, 2]),
            "b": Feature(bool, default=True),
            "r": Feature(int, (None, 2)),
            "nested": Feature(int, (None, None), key="flat", partitions=["n"]),
            "o": Feature(int, (2,), optional=True),
        }
    )
    script = schema.to_tf_source() + PARSE
    result = subprocess.run([PYTHON, "-c", script], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert json.loads(result.stdout) == {
        "k": [3, 4],
        "d": [[1, 2], [7, 8]],
        "b": [1, 1],
        "r": [[[1, 2], [3, 4]], []],
        "nested": [[[1], [], [2, 3]], []],
        "o": [[5, 6], []],
    }
