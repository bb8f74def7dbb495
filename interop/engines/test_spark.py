"""Spark reads and writes each row once, whatever is split, repeated or killed; a failed job leaves nothing."""

from __future__ import annotations

import doctest
import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

import penstock as ps
import penstock.spark

ROWS = 120


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = (
        SparkSession.builder.master("local[2,3]")  # a task may fail twice
        .config("spark.ui.enabled", False)
        .config("spark.sql.shuffle.partitions", 2)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a dataset of one file whose payloads hold whole TFRecord files, frames and all."""
    folder = tmp_path_factory.mktemp("data")
    with ps.RecordWriter(folder / "inner.tfrecord") as writer:
        for i in range(4):
            writer.write(bytes(i))
    inner = (folder / "inner.tfrecord").read_bytes()
    ps.write(
        folder / "train",
        {
            "id": np.arange(ROWS),
            "x": np.arange(ROWS * 2, dtype=np.float32).reshape(ROWS, 2),
            "nested": [inner * (i % 3) for i in range(ROWS)],
            "tokens": [list(range(i % 4)) for i in range(ROWS)],
            "name": [f"row {i}" for i in range(ROWS)],
        },
        schema=ps.Schema(
            {
                "id": int,
                "x": ps.Feature("float32", (2,)),
                "nested": bytes,
                "tokens": ps.Feature(int, (None,)),
                "name": str,
            }
        ),
    )
    return str(folder / "train")


def read(spark: SparkSession, path: Any, **options: Any) -> DataFrame:
    return spark.read.format("penstock").options(**options).load(str(path))


def ids(df: DataFrame) -> list[int]:
    return sorted(row["id"] for row in df.select("id").collect())


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize("partitions", [1, 16, 60])
def test_partitions_share_one_file_and_read_each_record_once(spark: SparkSession, data: str, partitions: int):
    df = read(spark, data, partitions=partitions)
    assert 0.7 * partitions <= df.rdd.getNumPartitions() <= partitions
    assert ids(df) == list(range(ROWS))


def test_values_and_types_are_those_of_the_dataset(spark: SparkSession, data: str):
    rows = read(spark, data, partitions=3).orderBy("id").collect()
    for row, expected in zip(rows, ps.Dataset(data), strict=True):
        assert row["x"] == expected["x"].tolist()
        assert row["nested"] == expected["nested"]
        assert (row["tokens"], row["name"]) == (expected["tokens"].tolist(), expected["name"])


def test_columns_and_schemas_prune(spark: SparkSession, data: str):
    assert read(spark, data, columns="id, name").columns == ["id", "name"]
    given = StructType([StructField("name", StringType()), StructField("id", IntegerType())])
    df = spark.read.format("penstock").schema(given).load(data)
    assert df.where("id = 7").collect()[0].asDict() == {"name": "row 7", "id": 7}


def test_types_are_inferred_as_spark_tfrecord_does(spark: SparkSession, tmp_path: Path):
    rows = [
        {"i": i, "f": float(i), "s": "a", "il": [1] * (1 + i % 2), "fl": [1.0] * (1 + i % 2), "sl": ["a"] * (1 + i % 2)}
        for i in range(10)
    ]
    ps.write(tmp_path / "data", rows, float64="float32")
    os.remove(tmp_path / "data.penstock.json")
    [file] = tmp_path.iterdir()
    found = {field.name: field.dataType for field in read(spark, file, recordType="Example").schema}
    assert found == {
        "i": LongType(),
        "f": FloatType(),
        "s": StringType(),
        "il": ArrayType(LongType()),
        "fl": ArrayType(FloatType()),
        "sl": ArrayType(StringType()),
    }


@pytest.mark.parametrize("record_type", ["Example", "SequenceExample"])
@pytest.mark.parametrize("described", [True, False])
def test_the_types_that_spark_tfrecord_supports_go_to_and_fro(
    spark: SparkSession, tmp_path: Path, record_type: str, described: bool
):
    scalars = [
        ("int", IntegerType(), 3),
        ("long", LongType(), 2**40),
        ("float", FloatType(), 0.5),
        ("double", DoubleType(), 0.25),
        ("decimal", DecimalType(10, 2), Decimal("1.5")),
        ("string", StringType(), "é"),
        ("binary", BinaryType(), b"\xff\x00"),
    ]
    fields = [StructField(name, kind) for name, kind, _ in scalars]
    fields += [StructField(f"{name}s", ArrayType(kind)) for name, kind, _ in scalars]
    row = [value for _, _, value in scalars] + [[value, value] for _, _, value in scalars]
    if record_type == "SequenceExample":
        fields.append(StructField("lists", ArrayType(ArrayType(LongType()))))
        row.append([[1], [2, 3]])
    schema = StructType(fields)
    rows = [tuple(row), tuple(None for _ in row)]
    df = spark.createDataFrame(rows, schema).coalesce(1)
    path = str(tmp_path / "out")
    df.write.format("penstock").mode("append").option("recordType", record_type).save(path)
    if not described:
        os.remove(f"{path}.penstock.json")
        path = str(next(tmp_path.glob("out-*")))
    back = spark.read.format("penstock").schema(schema).option("recordType", record_type).load(path)
    assert [tuple(found) for found in back.collect()] == rows


@pytest.mark.parametrize(
    ("codec", "kind"),
    [("org.apache.hadoop.io.compress.GzipCodec", ".gz"), ("zlib", ".zlib"), ("", ".tfrecord")],
)
def test_codecs(spark: SparkSession, tmp_path: Path, codec: str, kind: str):
    df = spark.range(10).repartition(2)
    df.write.format("penstock").mode("append").option("codec", codec).save(str(tmp_path / "out"))
    assert [name for name in visible(tmp_path) if kind in name]
    assert ids(read(spark, tmp_path / "out")) == list(range(10))


def test_unknown_options_are_named(spark: SparkSession, data: str):
    with pytest.raises(Exception, match="partition_count"):
        read(spark, data, partition_count=3).collect()


def test_append_and_overwrite(spark: SparkSession, tmp_path: Path):
    def save(df: DataFrame, mode: str) -> list[int]:
        df.write.format("penstock").mode(mode).save(str(tmp_path / "out"))
        assert ps.Manifest.load(tmp_path / "out.penstock.json").verify(tmp_path) == []
        return ids(read(spark, tmp_path / "out"))

    assert save(spark.range(5), "append") == list(range(5))
    assert save(spark.range(5, 8), "append") == list(range(8))
    assert save(spark.range(5, 8), "append") == sorted([*range(8), 5, 6, 7])  # equal rows are rows, too
    assert save(spark.range(3), "overwrite") == [0, 1, 2]


def test_no_rows_are_a_dataset_without_rows(spark: SparkSession, tmp_path: Path):
    spark.range(0).write.format("penstock").mode("overwrite").save(str(tmp_path / "out"))
    assert read(spark, tmp_path / "out").count() == 0


def test_tasks_that_fail_twice_are_written_once(spark: SparkSession, tmp_path: Path):
    def fail_twice(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        if TaskContext.get().attemptNumber() < 2:
            os._exit(1)  # the worker is gone, as if it had been killed

    def save(df: DataFrame, name: str) -> list[tuple[int, int]]:
        df.write.format("penstock").mode("append").save(str(tmp_path / name))
        return [(shard.records, shard.crc32c) for shard in ps.Manifest.load(tmp_path / f"{name}.penstock.json").shards]

    df = spark.range(0, 100, 1, 2)
    assert save(df.mapInArrow(fail_twice, df.schema), "killed") == save(df, "calm")
    assert not [path for path in tmp_path.iterdir() if ".part-" in path.name]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_failed_job_changes_nothing(spark: SparkSession, tmp_path: Path, mode: str):
    def fail(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        if TaskContext.get().partitionId() == 1:
            raise ValueError("on purpose")

    df = spark.range(0, 100, 1, 2)
    df.write.format("penstock").mode("append").save(str(tmp_path / "out"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(Exception, match="on purpose"):
        df.mapInArrow(fail, df.schema).write.format("penstock").mode(mode).save(str(tmp_path / "out"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_partition_by_writes_a_dataset_for_each_value(spark: SparkSession, tmp_path: Path):
    df = spark.range(0, 30, 1, 3).selectExpr("id", "concat('a/', id % 3) as key")
    found = penstock.spark.write(df, tmp_path / "out", partition_by="key")
    assert sorted(manifest.records for manifest in found.values()) == [10, 10, 10]
    for path in found:
        [key] = {row["key"] for row in ps.Dataset(path)}
        assert sorted(int(row["id"]) % 3 for row in ps.Dataset(path)) == [int(key[-1])] * 10


def test_partition_by_writes_rows_of_nan_and_null(spark: SparkSession, tmp_path: Path):
    key = "case id % 3 when 0 then double('nan') when 1 then 1.5 end as key"
    found = penstock.spark.write(spark.range(0, 30, 1, 3).selectExpr("id", key), tmp_path / "out", partition_by="key")
    for name, rest in [("nan", 0), ("1%2E5", 1), ("__HIVE_DEFAULT_PARTITION__", 2)]:
        path = f"{tmp_path}/out/key={name}"
        assert found[path].records == 10
        assert sorted(int(row["id"]) for row in ps.Dataset(path)) == list(range(rest, 30, 3))
    texts = spark.createDataFrame([(None,), ("None",)], "key string")
    assert len(penstock.spark.write(texts, tmp_path / "texts", partition_by="key")) == 2


def test_write_refuses_an_existing_dataset_unless_told(spark: SparkSession, tmp_path: Path):
    df = spark.range(4).coalesce(1)
    assert penstock.spark.write(df, tmp_path / "out").records == 4
    with pytest.raises(FileExistsError):
        penstock.spark.write(df, tmp_path / "out")
    assert penstock.spark.write(df, tmp_path / "out", mode="append").records == 8
    assert penstock.spark.write(df, tmp_path / "out", mode="overwrite").records == 4


@pytest.mark.parametrize("name", penstock.spark.__all__)
def test_examples_in_docstrings_run(spark: SparkSession, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    ps.write(tmp_path / "train", {"x": np.arange(100, dtype=np.float32)})
    names = {"ps": ps, "penstock": penstock, "spark": spark, "train": str(tmp_path / "train")}
    [example] = doctest.DocTestFinder(recurse=False).find(getattr(penstock.spark, name), name, globs=names)
    assert example.examples
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=printed.append)
    assert not printed, "".join(printed)
