"""``tf.io``: records, files and feature descriptions, and what they raise."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
import penstock.tf as tf


def example(**features: Any) -> bytes:
    message = tf.train.Example()
    for name, values in features.items():
        kind = {int: "int64_list", float: "float_list", bytes: "bytes_list"}[type(values[0])]
        getattr(message.features.feature[name], kind).value.extend(values)
    return message.SerializeToString()


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_records_are_written_and_read(tmp_path: Path, compression: str | None):
    path = tmp_path / "file.tfrecord"
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression)) as writer:
        writer.write(b"one")
        writer.write("zwei")
    options = tf.compat.v1.io.TFRecordOptions(compression)
    assert list(tf.compat.v1.io.tf_record_iterator(str(path), options)) == [b"one", b"zwei"]


def test_a_writer_keeps_what_was_written_before_an_error(tmp_path: Path):
    path = tmp_path / "file.tfrecord"
    with pytest.raises(RuntimeError), tf.io.TFRecordWriter(path) as writer:
        writer.write(b"one")
        raise RuntimeError
    assert list(ps.RecordReader(path)) == [b"one"]


def test_a_closed_writer_refuses(tmp_path: Path):
    writer = tf.io.TFRecordWriter(str(tmp_path / "file"))
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError):
        writer.write(b"x")
    with pytest.raises(TypeError):
        tf.io.TFRecordWriter(str(tmp_path / "other")).write(5)


def test_a_writer_that_nobody_closes_leaves_a_whole_file(tmp_path: Path):
    path = tmp_path / "file"
    tf.io.TFRecordWriter(str(path), "GZIP").write(b"one")
    assert list(ps.RecordReader(path)) == [b"one"]


def test_errors_are_tensorflows_and_ours(tmp_path: Path):
    with pytest.raises(FileNotFoundError) as missing:
        tf.io.TFRecordWriter(str(tmp_path / "no" / "file"))
    assert isinstance(missing.value, tf.errors.NotFoundError)
    damaged = tmp_path / "damaged"
    with ps.RecordWriter(damaged) as writer:
        writer.write(b"some bytes")
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\0")
    with pytest.raises(tf.errors.DataLossError) as lost:
        list(tf.compat.v1.io.tf_record_iterator(str(damaged)))
    assert isinstance(lost.value, ps.CorruptDataError)
    assert (lost.value.record, lost.value.kind) == (0, "data-crc")
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.read_file(str(tmp_path / "nothing"))


def test_a_record_that_does_not_fit_says_which_and_why():
    features = {"label": tf.io.FixedLenFeature([], tf.int64)}
    with pytest.raises(tf.errors.InvalidArgumentError, match=r'expected int64, found bytes: record 1, feature "label"'):
        tf.io.parse_example([example(label=[1]), example(label=[b"x"])], features)
    with pytest.raises(tf.errors.OpError):
        tf.io.parse_single_example(b"\xff", features)


def test_descriptions_that_cannot_be():
    record = example(a=[1])
    with pytest.raises(ValueError, match="cannot be None or empty"):
        tf.io.parse_single_example(record, {})
    with pytest.raises(ValueError, match="scalar"):
        tf.io.parse_single_example([record], {"a": tf.io.VarLenFeature(tf.int64)})
    with pytest.raises(ValueError, match="Unsupported int"):
        tf.io.parse_single_example(record, {"a": 5})
    with pytest.raises(ValueError, match="allow_missing"):
        tf.io.parse_single_example(record, {"a": tf.io.FixedLenSequenceFeature([], tf.int64)})
    with pytest.raises(ValueError, match="unknown"):
        tf.io.parse_single_example(record, {"a": tf.io.FixedLenFeature([None], tf.int64)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="not int32"):
        tf.io.parse_single_example(record, {"a": tf.io.FixedLenFeature([], tf.int32)})
    with pytest.raises(ValueError, match="must not intersect"):
        both = {"a": tf.io.VarLenFeature(tf.int64), "b": tf.io.RaggedFeature(tf.int64, value_key="a")}
        tf.io.parse_single_example(record, both)
    with pytest.raises(TypeError):
        tf.io.RaggedFeature(tf.int64, partitions="a")


def test_equal_descriptions_of_other_defaults_are_told_apart():
    for default in (0.0, -0.0, 1.0):
        parsed = tf.io.parse_single_example(b"", {"a": tf.io.FixedLenFeature([], tf.float32, default)})
        assert str(parsed["a"].numpy()) == str(np.float32(default))
    with pytest.raises(TypeError):
        tf.io.parse_single_example(b"", {"a": tf.io.FixedLenFeature([], tf.int64, 1.0)})


@pytest.mark.parametrize(
    ("partition", "values"),
    [
        (tf.io.RaggedFeature.RowLengths, [1, 1]),
        (tf.io.RaggedFeature.RowLengths, [4, -1]),
        (tf.io.RaggedFeature.RowSplits, [0, 2]),
        (tf.io.RaggedFeature.RowSplits, [1, 3]),
        (tf.io.RaggedFeature.RowLimits, [3, 2]),
        (tf.io.RaggedFeature.RowStarts, [1, 2]),
        (tf.io.RaggedFeature.ValueRowIds, [0, 1]),
        (tf.io.RaggedFeature.ValueRowIds, [1, 0, 2]),
        (tf.io.RaggedFeature.ValueRowIds, [0, 0, 2**62]),
        (tf.io.RaggedFeature.RowLengths, [2**62, 2**62, 3]),
    ],
)
def test_partitions_that_do_not_account_for_the_values(partition: Any, values: list[int]):
    feature = tf.io.RaggedFeature(tf.int64, value_key="v", partitions=[partition("p")])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_example([example(v=[1, 2, 3], p=values)], {"r": feature})


def test_sparse_features_are_paired_within_an_example():
    feature = tf.io.SparseFeature("i", "v", tf.int64, 5)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_example([example(i=[0, 1], v=[1]), example(i=[0], v=[1, 2])], {"s": feature})


def test_a_key_may_stand_in_context_and_in_lists():
    message = tf.train.SequenceExample()
    message.context.feature["a"].int64_list.value.append(1)
    message.feature_lists.feature_list["a"].feature.add().int64_list.value.append(2)
    context, lists = tf.io.parse_single_sequence_example(
        message.SerializeToString(),
        {"a": tf.io.FixedLenFeature([], tf.int64)},
        {"a": tf.io.FixedLenSequenceFeature([], tf.int64)},
    )
    assert (context["a"].numpy(), lists["a"].numpy().tolist()) == (1, [2])


def test_ragged_rows_of_a_sequence_may_be_cut_again():
    message = tf.train.SequenceExample()
    for values, lengths in (([1, 2, 3], [2, 1]), ([4], [1])):
        message.feature_lists.feature_list["v"].feature.add().int64_list.value.extend(values)
        message.feature_lists.feature_list["p"].feature.add().int64_list.value.extend(lengths)
    feature = tf.io.RaggedFeature(tf.int64, value_key="v", partitions=[tf.io.RaggedFeature.RowLengths("p")])
    _, lists, _ = tf.io.parse_sequence_example([message.SerializeToString()], {}, {"r": feature})
    assert lists["r"].to_list() == [[[[1, 2], [3]], [[4]]]]


def test_compressed_strings():
    data = gzip.compress(b"abc") + gzip.compress(b"def")
    assert tf.io.decode_compressed([data], "GZIP").numpy().tolist() == [b"abcdef"]
    with pytest.raises(tf.errors.DataLossError):
        tf.io.decode_compressed(data[:-9], "GZIP")  # TensorFlow answers a part in silence


def test_files(tmp_path: Path):
    folder = str(tmp_path / "a" / "b")
    tf.io.gfile.makedirs(folder)
    tf.io.write_file(f"{folder}/.hidden", "one")
    with tf.io.gfile.GFile(f"{folder}/two", "w") as file:
        file.write("zwei")
    with tf.io.gfile.GFile(f"{folder}/two") as file:
        assert (file.size(), file.name, file.mode) == (4, f"{folder}/two", "r")
        assert (file.read(2), file.tell(), list(file)) == ("zw", 2, ["ei"])
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.gfile.GFile(f"{folder}/none")
    assert tf.io.gfile.glob(f"{folder}/*") == [f"{folder}/.hidden", f"{folder}/two"]
    assert sorted(tf.io.gfile.listdir(folder)) == [".hidden", "two"]
    assert tf.io.matching_files(f"{folder}/t*").numpy().tolist() == [f"{folder}/two".encode()]
    assert tf.io.read_file(f"{folder}/two").numpy() == b"zwei"
    tf.io.gfile.copy(f"{folder}/two", f"{folder}/three")
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.io.gfile.copy(f"{folder}/two", f"{folder}/three")
    tf.io.gfile.remove(f"{folder}/two")
    assert not tf.io.gfile.exists(f"{folder}/two")
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.gfile.remove(f"{folder}/two")
    tf.io.gfile.rmtree(folder)
    assert not tf.io.gfile.isdir(folder)


def test_descriptions_make_a_schema():
    features = {"a": tf.io.FixedLenFeature([2], tf.float32), "b": tf.io.VarLenFeature(tf.string)}
    schema = ps.Schema.from_tf(features)
    assert schema["a"] == ps.Feature("float32", (2,))


def test_gfile_on_a_remote_store():
    pytest.importorskip("fsspec")
    gfile = tf.io.gfile
    gfile.makedirs("memory://gfile/a/b")
    gfile.mkdir("memory://gfile/c")
    with gfile.GFile("memory://gfile/a/one", "w") as file:
        file.write("text")
    assert gfile.GFile("memory://gfile/a/one", "rb").size() == 4
    gfile.copy("memory://gfile/a/one", "memory://gfile/a/b/two")
    gfile.rename("memory://gfile/a/one", "memory://gfile/a/three")
    assert gfile.isdir("memory://gfile/a")
    assert not gfile.exists("memory://gfile/a/one")
    assert gfile.stat("memory://gfile/a/three").length == 4
    assert gfile.stat("memory://gfile/a").is_directory
    walked = {folder: (sorted(folders), sorted(files)) for folder, folders, files in gfile.walk("memory://gfile")}
    assert walked["memory:///gfile/a"] == (["b"], ["three"])
    gfile.rmtree("memory://gfile")
    assert not gfile.exists("memory://gfile/a")
    with pytest.raises(tf.errors.NotFoundError):
        gfile.stat("memory://gfile/a/three")


def test_a_compressed_string_may_not_claim_any_amount_of_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("penstock.tf.io.decoding._MAX_INFLATED_BYTES", 1000)
    whole = tf.io.decode_compressed(zlib.compress(b"a" * 1000), "ZLIB")
    assert whole.numpy() == b"a" * 1000
    for bomb in (zlib.compress(b"a" * 1001), zlib.compress(b"a" * 600) * 2):
        with pytest.raises(tf.errors.ResourceExhaustedError, match="more than 1000 bytes"):
            tf.io.decode_compressed(bomb, "ZLIB")


def test_a_feature_that_is_not_there_is_told_in_the_words_of_a_description():
    wanted = {"label": tf.io.FixedLenFeature([], tf.int64)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="found nothing; a default_value lets it be absent"):
        tf.io.parse_single_example(example(other=[1]), wanted)
