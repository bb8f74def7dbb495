"""ps.write and ps.Writer: any data, even shards, any order, the same bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from manifest_reading import contents, read_back, read_records, values
from processes import run_python

import penstock as ps

ROWS = [{"x": i, "text": f"row {i}", "items": list(range(i % 4))} for i in range(1000)]
COLUMNS = {
    "x": np.arange(1000),
    "text": [row["text"] for row in ROWS],
    "items": ps.Ragged.from_lengths(
        np.concatenate([row["items"] for row in ROWS]).astype(int), [i % 4 for i in range(1000)]
    ),
}
TABLE = pa.table(
    {
        "x": COLUMNS["x"],
        "text": COLUMNS["text"],
        "items": pa.array([row["items"] for row in ROWS], pa.list_(pa.int64())),
    }
)


def batches() -> Iterator[ps.Batch]:
    schema = ps.Schema({"x": int, "text": "str", "items": ps.Feature("int64", (None,))})
    records = ps.Encoder(schema).encode(ROWS)
    for start in range(0, 1000, 300):
        yield ps.Decoder(schema).decode(records[start : start + 300])


SOURCES: dict[str, Any] = {
    "columns": lambda: COLUMNS,
    "rows": lambda: ROWS,
    "tuple of rows": lambda: tuple(ROWS),
    "generator of rows": lambda: iter(ROWS),
    "generator of batches": batches,
    "list of batches": lambda: list(batches()),
    "Arrow table": lambda: TABLE,
    "Arrow table in chunks": lambda: pa.concat_tables([TABLE.slice(0, 7), TABLE.slice(7)]),
    "Arrow batch": lambda: TABLE.to_batches()[0],
    "Arrow reader": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=99)),
    "iterator of Arrow batches": lambda: iter(TABLE.to_batches(max_chunksize=99)),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("shards", [1, 3])
def test_all_data_is_written_in_order_to_shards_of_even_size(tmp_path: Path, source: Any, shards: int):
    manifest = ps.write(tmp_path / "data", source(), shards=shards)
    assert manifest.records == 1000
    assert max(shard.records for shard in manifest.shards) - min(shard.records for shard in manifest.shards) <= 1
    assert read_back(tmp_path, manifest).to_list() == ROWS
    assert manifest.verify(tmp_path) == []
    assert len(os.listdir(tmp_path)) == shards + 1  # no temporary file is left


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB", "SNAPPY"])
def test_compression_shows_in_the_name(tmp_path: Path, compression: str | None):
    extension = {None: "", "GZIP": ".gz", "ZLIB": ".zlib", "SNAPPY": ".snappy"}[compression]
    manifest = ps.write(tmp_path / "a/b/data", COLUMNS, shards=2, compression=compression)
    assert [shard.name for shard in manifest.shards] == [
        f"data-00000-of-00002.tfrecord{extension}",
        f"data-00001-of-00002.tfrecord{extension}",
    ]
    assert values(tmp_path / "a/b", manifest) == list(range(1000))
    assert manifest.verify(tmp_path / "a/b") == []


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_more_shards_than_rows(tmp_path: Path, rows: int, compression: str):
    for name, data in {"columns": {"x": np.arange(rows)}, "rows": ({"x": i} for i in range(rows))}.items():
        schema = ps.Schema({"x": int})
        manifest = ps.write(tmp_path / name, data, schema=schema, shards=5, compression=compression)
        assert len(manifest.shards) == 5
        assert values(tmp_path, manifest) == list(range(rows))


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("shuffle", [None, 7])
def test_the_same_data_gives_the_same_bytes(tmp_path: Path, source: Any, shuffle: int | None):
    for folder in "ab":
        ps.write(tmp_path / folder / "data", source(), shards=3, shuffle=shuffle, compression="GZIP")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_shuffle_permutes_by_its_seed(tmp_path: Path, source: Any):
    orders = [values(tmp_path, ps.write(tmp_path / f"s{seed}", source(), shuffle=seed)) for seed in (1, 2)]
    assert orders[0] != orders[1]
    for order in orders:
        assert order != sorted(order)
        assert sorted(order) == list(range(1000))


def test_what_is_in_memory_is_shuffled_whole(tmp_path: Path):
    count = 100_000
    order = values(tmp_path, ps.write(tmp_path / "data", {"x": np.arange(count)}, shuffle=3, shards=2))
    # A row goes anywhere: on average a third of the whole away.
    assert abs(np.abs(np.array(order) - np.arange(count)).mean() / count - 1 / 3) < 0.01


def test_map_is_called_on_rows(tmp_path: Path):
    images = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)

    def small(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"image": ps.image.resize(row["image"], (2, 2))}

    for name, data in {
        "columns": {"image": images, "x": [1, 2]},
        "rows": ({"image": image, "x": x} for x, image in enumerate(images, 1)),
        "batches": iter([ps.Batch({"image": images, "x": np.array([1, 2])})]),
    }.items():
        manifest = ps.write(tmp_path / name, data, map=small)
        batch = read_back(tmp_path, manifest)
        np.testing.assert_array_equal(batch["image"], ps.image.resize(images, (2, 2)))
        assert batch["x"].tolist() == [1, 2]


def test_a_writer_takes_rows_and_batches_in_order(tmp_path: Path):
    with ps.Writer(tmp_path / "data") as writer:
        writer.write({"x": 0})
        writer.write_batch({"x": np.arange(1, 5)})
        writer.write({"x": 5})
        writer.write_batch(pa.table({"x": [6, 7]}))
        writer.write({"x": 8})
    assert values(tmp_path, writer.manifest) == list(range(9))
    with pytest.raises(ValueError, match="closed"):
        writer.write({"x": 9})


def test_what_a_caller_changes_afterwards_is_not_written(tmp_path: Path):
    array, items, row = np.zeros(3, np.int64), [0], {}
    with ps.Writer(tmp_path / "data", shards=2) as writer:
        for i in range(600):
            array[:] = i
            items[0] = i
            row.update(x=i, array=array, items=items)
            writer.write(row)
        block = {
            "x": np.arange(600, 700),
            "array": np.full((100, 3), 5),
            "items": np.zeros((100, 1), int),
        }
        writer.write_batch(block)
        block["x"][:] = -1
    batch = read_back(tmp_path, writer.manifest)
    assert sorted(batch["x"].tolist()) == list(range(700))
    first = batch["x"] < 600
    assert (batch["array"][first] == batch["x"][first][:, None]).all()
    assert (batch["items"][first] == batch["x"][first][:, None]).all()


def test_rows_of_any_size_are_written(tmp_path: Path):
    sizes = [0, 1, 10_000_000, 5, 3_000_000, 0] * 3
    rows = ({"data": bytes(size), "x": i} for i, size in enumerate(sizes))
    manifest = ps.write(tmp_path / "data", rows, shards=2)
    batch = read_back(tmp_path, manifest)
    assert [len(data) for data in batch["data"].to_list()] == [sizes[i] for i in batch["x"]]


def test_a_schema_decides_over_the_data(tmp_path: Path):
    schema = ps.Schema({"x": ps.Feature("float32", (2,), encoding="raw"), "y": ps.Feature("int64", optional=True)})
    manifest = ps.write(tmp_path / "data", [{"x": [1, 2]}, {"x": [3.5, 4], "y": 7}], schema=schema)
    assert manifest.schema == schema
    assert read_back(tmp_path, manifest).to_list() == [{"x": [1, 2], "y": None}, {"x": [3.5, 4], "y": 7}]


@pytest.mark.parametrize("shuffle", [None, 7])
@pytest.mark.parametrize(
    "source", [list, iter, lambda rows: {"x": [row["x"] for row in rows]}], ids=["list", "stream", "columns"]
)
def test_an_error_names_the_row_as_it_came(tmp_path: Path, source: Any, shuffle: int | None):
    rows: list[dict[str, Any]] = [{"x": i} for i in range(3000)]
    rows[2345]["x"] = "a"
    with pytest.raises(ps.SchemaError, match='expected int64, found str: row 2345, feature "x"'):
        ps.write(tmp_path / "data", source(rows), schema=ps.Schema({"x": int}), shuffle=shuffle, shards=2)


def test_the_records_are_those_of_the_encoder(tmp_path: Path):
    manifest = ps.write(tmp_path / "data", ROWS)
    assert read_records(tmp_path, manifest) == ps.Encoder(manifest.schema).encode(ROWS)


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("data-00000-of-00001.tfrecord", {}, "names a dataset, not a shard"),
        ("da*ta", {}, "has no"),
        ("data", {"shards": 0}, "shards is an integer of 1 or more"),
        ("data", {"rows_per_shard": 0}, "rows_per_shard is an integer of 1 or more"),
        ("data", {"shard_bytes": 0}, "shard_bytes is an integer of 1 or more"),
        ("data", {"shard_bytes": "256 megs"}, 'such as "256MB" or "1GiB"'),
        ("data", {"shards": 2, "rows_per_shard": 5}, "pass one of shards, rows_per_shard and shard_bytes"),
        ("data", {"part": ""}, "part is a name or a number"),
        ("data", {"part": 1, "replace": True}, r"pass replace=True to commit\(\)"),
        ("data", {"compression": "gzip"}, "did you mean 'GZIP'"),
        ("data", {"level": 10}, "from 0 to 9"),
        ("data", {"level": "fast"}, "from 0 to 9"),
        ("data", {"shuffle": -1}, "a seed from 0"),
        ("data", {"float64": "float16"}, '"float32" or "raw"'),
    ],
)
def test_options_are_checked(tmp_path: Path, path: str, options: dict[str, Any], message: str):
    for data in ({"x": np.arange(3)}, [{"x": 1}]):
        with pytest.raises(ValueError, match=message):
            ps.write(tmp_path / path, data, **options)
    assert list(tmp_path.iterdir()) == []


def test_data_of_an_unknown_kind_raises(tmp_path: Path):
    for data in (7, "rows", None):
        with pytest.raises(TypeError, match="expected columns, rows"):
            ps.write(tmp_path / "data", data)
    for path in ("some.parquet", tmp_path / "some.parquet"):
        with pytest.raises(TypeError, match="to write what a file holds:  penstock convert"):
            ps.write(tmp_path / "data", path)
    with pytest.raises(ps.SchemaError, match="no rows to infer a schema from"):
        ps.write(tmp_path / "data", [])
    with pytest.raises(TypeError, match="a row must be a mapping"):
        ps.write(tmp_path / "data", [1, 2])
    assert list(tmp_path.iterdir()) == []


def test_urls(tmp_path: Path):
    manifest = ps.write("memory://folder/data", COLUMNS, shards=3)
    assert ps.Manifest.load("memory://folder/data.penstock.json") == manifest
    assert manifest.verify("memory://folder") == []
    with pytest.raises(FileExistsError):
        ps.write("memory://folder/data", COLUMNS)
    manifest = ps.write("memory://folder/data", iter(ROWS), shards=2, replace=True)
    assert manifest.verify("memory://folder") == []  # the third shard is gone
    assert sorted(values("memory://folder", manifest)) == list(range(1000))


def test_masked_rows_are_absent(tmp_path: Path):
    ps.write(tmp_path / "x", {"x": np.ma.array([1, 2, 3], mask=[False, True, False])})
    assert [row["x"] for row in ps.Dataset(tmp_path / "x")] == [1, None, 3]


def test_a_structured_array_has_columns(tmp_path: Path):
    ps.write(tmp_path / "x", np.array([(1, 0.5), (2, 1.5)], [("a", "i4"), ("b", "f4")]))
    assert ps.Dataset(tmp_path / "x")[1] == {"a": 2, "b": 1.5}


@pytest.mark.parametrize("values", [np.arange(3), pa.array([1, 2])], ids=["array", "arrow"])
def test_values_without_a_name_raise(tmp_path: Path, values: object):
    with pytest.raises(TypeError, match=r'write {"name": values}'):
        ps.write(tmp_path / "x", values)


def test_a_path_is_no_image(tmp_path: Path):
    schema = ps.Schema({"image": ps.Feature("uint8", (None, None, 3), encoding="jpeg")})
    with pytest.raises(
        ps.SchemaError, match=r'expected an image.*found str; to read a file, use .*: row 0, feature "image"'
    ):
        ps.write(tmp_path / "x", [{"image": "picture.jpg"}], schema=schema)


def test_a_schema_is_a_schema(tmp_path: Path):
    for use in (lambda: ps.write(tmp_path / "x", {"a": [1]}, schema={"a": int}), lambda: ps.Encoder({"a": int})):
        with pytest.raises(TypeError, match=r"such as ps\.Schema"):
            use()


def test_what_is_written_is_said_in_one_line(tmp_path: Path):
    manifest = ps.write(tmp_path / "x", {"a": [1, 2], "b": [1, 2]}, shards=2)
    assert repr(manifest) == "<Manifest of 2 records in 2 shards, 84 bytes: a, b>"


@pytest.mark.skipif(os.name == "nt", reason="no such limit")
def test_only_a_shuffled_stream_has_all_shards_open_at_once(tmp_path):
    code = """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (60, 200))  # the first is raised up to the second
        rows = [{"x": x} for x in range(300)]
        print(len(ps.write(sys.argv[1] + "/table", {"x": range(300)}, shards=250).shards))
        print(len(ps.write(sys.argv[1] + "/list", rows, shards=250).shards))
        print(len(ps.write(sys.argv[1] + "/stream", iter(rows), shards=250).shards))
        print(len(ps.write(sys.argv[1] + "/single", iter(rows), rows_per_shard=1).shards))
        print(len(ps.write(sys.argv[1] + "/many", iter(rows), shards=150, shuffle=1).shards))
        try:
            ps.write(sys.argv[1] + "/more", iter(rows), shards=250, shuffle=1)
        except OSError as error:
            print(error.strerror, error.filename == sys.argv[1] + "/more")
    """
    status, out, err = run_python(code, tmp_path)
    assert (status, err) == (0, "")
    assert out.decode().splitlines() == [
        "250",
        "250",
        "250",
        "300",
        "150",
        "Too many open files; 250 shards are open while they are written: "
        "write fewer, or raise the limit (ulimit -n) True",
    ]
    assert len(list(tmp_path.iterdir())) == 250 * 3 + 300 + 150 + 5


@pytest.mark.parametrize("name", ["merged.tfrecord", "merged.tfrecord.gz", "sub/merged.tfrec"])
def test_a_path_with_an_extension_is_one_file(tmp_path: Path, name: str):
    path = tmp_path / name
    manifest = ps.write(path, {"x": [1, 2, 3]})
    assert [shard.name for shard in manifest.shards] == [path.name]
    assert sorted(found.name for found in path.parent.iterdir() if found.is_file()) == sorted(
        [path.name, "merged.penstock.json"]
    )
    for opened in (path, path.parent / "merged"):
        assert [row["x"] for row in ps.Dataset(opened)] == [1, 2, 3]
    assert ps.verify(path.parent / "merged").ok
    with pytest.raises(FileExistsError):
        ps.write(path, {"x": [4]})
    ps.write(path, {"x": [4]}, replace=True)
    ps.append(path.parent / "merged", {"x": [5]})
    assert [row["x"] for row in ps.Dataset(path.parent / "merged")] == [4, 5]


def test_one_file_is_one_shard_of_its_compression(tmp_path: Path):
    with pytest.raises(ValueError, match=r"is one file: leave out the extension to write several"):
        ps.write(tmp_path / "a.tfrecord", {"x": [1]}, shards=2)
    with pytest.raises(ValueError, match=r"add \.gz"):
        ps.write(tmp_path / "a.tfrecord", {"x": [1]}, compression="GZIP")
    (tmp_path / "b.tfrecord").write_bytes(b"of somebody else")
    with pytest.raises(FileExistsError):
        ps.write(tmp_path / "b.tfrecord", {"x": [1]})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tfrecord"]


def names_in(folder: str) -> list[str]:
    if "://" not in folder:
        return sorted(os.listdir(folder))
    return sorted(path.rpartition("/")[2] for path in fsspec.filesystem("memory").find(folder))


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path) if request.param == "local" else f"memory://{tmp_path.name}"


@pytest.mark.parametrize("has_manifest", [True, False])
def test_one_file_never_replaces_a_sharded_dataset(folder: str, has_manifest: bool):
    path = f"{folder}/train.tfrecord"
    manifest = ps.write(f"{folder}/train", COLUMNS, shards=3)
    if not has_manifest:
        fsspec.open(f"{folder}/train.penstock.json").fs.rm(f"{folder}/train.penstock.json")
    before = names_in(folder)
    for replace in (False, True):
        with pytest.raises(FileExistsError, match="shards of a dataset train are here, whose manifest"):
            ps.write(path, {"x": [1]}, replace=replace)
    assert names_in(folder) == before
    assert values(folder, manifest) == list(range(1000))


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("g.tfrecord.gz", "g.tfrecord", "g.tfrecord"),
        ("g.tfrecord", "g.tfrecord.gz", "g.tfrecord.gz"),
        ("g.tfrecord", "g", "g-00000-of-00001.tfrecord"),
    ],
)
@pytest.mark.parametrize("appends", [True, False])
def test_what_the_old_manifest_lists_is_replaced_and_nothing_else(
    folder: str, old: str, new: str, left: str, appends: bool
):
    ps.write(f"{folder}/{old}", {"x": [1, 2, 3]})
    if appends:
        ps.append(f"{folder}/g", {"x": [4]})
    others = ["g.tfrec", "g2-00000-of-00001.tfrecord", "h.tfrecord"]
    for name in others:
        with fsspec.open(f"{folder}/{name}", "wb") as file:
            file.write(b"of somebody else")
    with pytest.raises(FileExistsError):
        ps.write(f"{folder}/{new}", {"x": [5]})
    ps.write(f"{folder}/{new}", {"x": [5]}, replace=True)
    assert names_in(folder) == sorted([*others, left, "g.penstock.json"])
    assert [row["x"] for row in ps.Dataset(f"{folder}/g")] == [5]


def test_a_shard_that_the_old_manifest_does_not_list_is_not_removed(tmp_path: Path):
    ps.write(tmp_path / "g", {"x": [1]})
    stray = tmp_path / "g-00003-of-00007.tfrecord"
    stray.write_bytes(b"of somebody else")
    with pytest.raises(FileExistsError, match="not in the manifest; remove it, then replace"):
        ps.write(tmp_path / "g", {"x": [2]}, replace=True)
    assert stray.read_bytes() == b"of somebody else"
    assert [row["x"] for row in ps.Dataset(tmp_path / "g")] == [1]
