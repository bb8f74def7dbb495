"""Which schema files have, and which of them have features in common."""

from __future__ import annotations

import pytest
from schema_examples import example, sequence_example

import penstock as ps
from penstock.inspect.open_readers import open_readers
from penstock.inspect.schema import find_schema, group_alike, named_schema


def test_a_schema_file_comes_before_inference(write_records):
    name = write_records("x.tfrecord", [example(a=1)])
    readers, _ = open_readers(name)
    inferred = find_schema(readers)
    assert (inferred.origin, inferred.schema["a"].dtype) == ("inferred from all 1 record", "int64")
    ps.Schema({"a": ps.Feature("int8")}).save("x.schema.json")
    declared = find_schema(readers)
    assert (declared.origin, declared.schema["a"].dtype) == ("read from x.schema.json", "int8")
    assert find_schema(readers, infer=True).schema == inferred.schema


def test_schema_files_that_differ_are_not_used(write_records):
    for name, dtype in (("x", "int8"), ("y", "int16")):
        write_records(f"{name}.tfrecord", [example(a=1)])
        ps.Schema({"a": ps.Feature(dtype)}).save(f"{name}.schema.json")
    readers, _ = open_readers(["x.tfrecord", "y.tfrecord"])
    assert find_schema(readers).origin == "inferred from all 2 records of 2 files"


def test_a_schema_is_passed_itself_or_as_a_file(folder):
    schema = ps.Schema({"a": ps.Feature("int8")})
    schema.save("my.json")
    assert named_schema(schema).schema == named_schema("my.json").schema == named_schema(folder / "my.json").schema
    with pytest.raises(FileNotFoundError):
        named_schema("gone.json")


def test_files_with_features_in_common_are_grouped(write_records):
    write_records("a.tfrecord", [example(label=1, name="x")])
    write_records("b.tfrecord", [sequence_example({"id": 1}, {"x": [[0.5]]})])
    write_records("c.tfrecord", [example(label=2, name="y", new=1)])
    write_records("d.tfrecord", [b"no Example"])
    readers, _ = open_readers(["a.tfrecord", "b.tfrecord", "c.tfrecord", "d.tfrecord"])
    groups = [[reader.path for reader in group] for group in group_alike(readers)]
    assert groups == [["a.tfrecord", "c.tfrecord"], ["b.tfrecord"], ["d.tfrecord"]]
