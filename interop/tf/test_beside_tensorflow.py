"""``penstock.tf`` and TensorFlow in one process: neither affects the other, and each accepts the other's tensors."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest
from oracle import PYTHON, ROOT

from penstock import _core

SCRIPT = """
import sys
import numpy as np
import penstock.tf as ours

assert "tensorflow" not in sys.modules
message = ours.train.Example()
message.features.feature["a"].int64_list.value.extend([1, 2])
record = message.SerializeToString()

tape = ours.GradientTape  # not ours: imports TensorFlow
import tensorflow as theirs

assert tape is theirs.GradientTape
assert ours.keras is theirs.keras
again = theirs.train.Example.FromString(record)
assert list(again.features.feature["a"].int64_list.value) == [1, 2]
assert ours.train.Example.FromString(again.SerializeToString()) == message

for ours_one in (ours.constant([[1.5, 2.0]]), ours.constant(["a", "b"]), ours.constant(3), ours.constant([True])):
    converted = theirs.convert_to_tensor(ours_one)
    assert converted.dtype.name == ours_one.dtype.name, converted
    assert converted.shape.as_list() == ours_one.shape.as_list()
    assert np.array_equal(converted.numpy(), ours_one.numpy())
    back = ours.convert_to_tensor(converted)
    assert np.array_equal(back.numpy(), ours_one.numpy()) and back.dtype == ours_one.dtype
    assert ours_one.dtype == converted.dtype.as_numpy_dtype

assert theirs.reduce_sum(ours.constant([1.0, 2.0])).numpy() == 3
assert (theirs.constant([1.0]) + ours.constant([2.0])).numpy() == [3]
rows = theirs.data.Dataset.from_tensor_slices(ours.constant([1, 2]))
assert rows.reduce(np.int32(0), lambda a, b: a + b).numpy() == 3
features = {"a": theirs.io.FixedLenFeature([2], ours.int64.name)}
assert theirs.io.parse_single_example(record, features)["a"].numpy().tolist() == [1, 2]

variable = theirs.Variable(2.0)
with ours.GradientTape() as tape:
    loss = theirs.reduce_sum(variable * ours.constant([1.0, 2.0]))
assert tape.gradient(loss, variable).numpy() == 3

model = ours.keras.Sequential([ours.keras.layers.Dense(1)])
assert model(ours.constant([[1.0, 2.0]])).shape == (1, 1)
inputs = np.arange(24, dtype=np.float32).reshape(12, 2) / 24
pairs = ours.data.Dataset.from_tensor_slices((inputs, inputs[:, :1])).shuffle(12, seed=1).batch(5)
model.compile("sgd", "mse")
history = model.fit(pairs, epochs=3, verbose=0).history["loss"]
assert len(history) == 3 and history[2] < history[0], history
assert model.predict(pairs.map(lambda x, y: x), verbose=0).shape == (12, 1)
assert model.evaluate(pairs, verbose=0) < history[0]
assert model.fit(inputs, inputs[:, :1], verbose=0)  # what Keras took before it takes still

with ours.GradientTape() as tape:
    losses = [theirs.reduce_mean((model(x) - y) ** 2) for x, y in pairs]
assert len(losses) == 3 and tape.gradient(losses, model.trainable_variables)[0].shape == (2, 1)


@ours.function
def gradients(x, y):
    with ours.GradientTape() as tape:
        loss = ours.reduce_mean(ours.square(ours.cast(y, ours.float32) - model(x)))
    return tape.gradient(loss, model.trainable_variables)


with ours.GradientTape() as tape:
    loss = ours.reduce_mean(ours.square(inputs[:, :1] - model(ours.constant(inputs))))
expected = tape.gradient(loss, model.trainable_variables)
found = gradients(ours.constant(inputs), ours.constant(inputs[:, :1]))
assert all(abs(a - b).numpy().max() < 1e-6 for a, b in zip(found, expected, strict=True)), (found, expected)
assert ours.is_tensor(loss) and (ours.constant([2.0]) * loss / loss).numpy() == [2]
assert isinstance(ours.concat([ours.constant([1.0]), theirs.constant([2.0])], 0), theirs.Tensor)
assert isinstance(ours.concat([ours.constant([1.0]), ours.constant([2.0])], 0), ours.Tensor)
print("all well")
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which TensorFlow's interpreter, of the same version, imports the package."""
    package = tmp_path / "penstock"
    package.mkdir()
    for entry in (ROOT / "src" / "penstock").iterdir():
        (package / entry.name).symlink_to(entry)
    native = Path(_core.__file__)
    if not (package / native.name).exists():  # an editable build has it outside of src
        (package / native.name).symlink_to(native)
    isal = importlib.util.find_spec("isal")
    assert isal is not None
    assert isal.origin is not None
    (tmp_path / "isal").symlink_to(Path(isal.origin).parent)
    return os.environ | {"PYTHONPATH": str(tmp_path), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}


def test_both_work_in_one_process(environment: dict[str, str]) -> None:
    result = subprocess.run([PYTHON, "-W", "ignore", "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert result.stdout == "all well\n", result.stderr[-3000:]
