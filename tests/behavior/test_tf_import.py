"""``import penstock.tf`` is light, and what it does not have comes from elsewhere, or says so."""

from __future__ import annotations

import subprocess
import sys

import pytest

import penstock.tf as tf


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return result.stdout.strip()


@pytest.mark.parametrize("heavy", ["tensorflow", "google.protobuf", "keras", "PIL", "fsspec", "ml_dtypes"])
def test_importing_loads_nothing_heavy(heavy: str):
    assert run(f"import sys, penstock.tf as tf; tf.constant(1) + 1; print({heavy!r} in sys.modules)") == "False"


def test_penstock_itself_does_not_load_it():
    assert run("import sys, penstock; print(any(name.startswith('penstock.tf') for name in sys.modules))") == "False"


def test_what_is_not_in_the_data_layer_says_what_to_install():
    with pytest.raises(AttributeError, match=r"tf.GradientTape is not part of the data layer.*pip install tensorflow"):
        tf.GradientTape  # noqa: B018
    with pytest.raises(AttributeError, match=r"tf.io.decode_proto_v2 is not part"):
        tf.io.decode_proto_v2  # noqa: B018
    assert not hasattr(tf, "nothing_of_this_name")


def test_other_attributes_come_from_an_installed_tensorflow(tmp_path):
    package = tmp_path / "tensorflow"
    package.mkdir()
    (package / "__init__.py").write_text(
        "class io:\n    decode_proto_v2 = 'their decode_proto_v2'\nGradientTape = 'their tape'\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import penstock.tf as tf\n"
        "tf.io.decode_raw\n"
        "print('tensorflow' in sys.modules, tf.GradientTape, tf.io.decode_proto_v2)"
    )
    assert run(code) == "False their tape their decode_proto_v2"


def test_keras_comes_from_keras_where_only_that_is_installed(tmp_path):
    (tmp_path / "keras.py").write_text("name = 'their keras'\n")
    assert run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import penstock.tf as tf; print(tf.keras.name)"
    ) == ("their keras")


def test_a_function_decorator_leaves_functions_as_they_are():
    @tf.function(jit_compile=True)
    def double(x):
        return x * 2

    assert double(tf.constant(2)).numpy() == 4


def test_names_of_tensorflow_1_are_found():
    assert tf.compat.v1.FixedLenFeature is tf.io.FixedLenFeature
    assert tf.compat.v1.gfile.Open is tf.io.gfile.GFile
    assert tf.python_io.TFRecordWriter is tf.io.TFRecordWriter
    assert tf.compat.v1.train.Example is tf.train.Example
