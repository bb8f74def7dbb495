"""Which files a dataset is, and what describes them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from numbered import SCHEMA, TOTAL, row_of, write_shards

import penstock as ps
from penstock.discovery.resolve import resolve_files
from penstock.discovery.sidecars import load_schema


def ids(ds: ps.Dataset) -> list[int]:
    return [int(row["id"]) for row in ds]


@pytest.mark.parametrize("name", ["", "train", "train.penstock.json", "train-*.tfrecord", "train-*"])
def test_a_dataset_is_found_by_any_of_its_names(written, name):
    ds = ps.Dataset(written / name if name else written)
    assert ds.schema == SCHEMA
    assert len(ds) == 20
    assert ids(ds) == list(range(20))
    assert len(ds.files) == 3


def test_a_dataset_stays_whole_when_it_moves(written, tmp_path):
    shutil.move(written, tmp_path / "moved")
    assert sorted(ids(ps.Dataset(tmp_path / "moved").shuffle(seed=1))) == list(range(20))


def test_what_is_missing_of_a_dataset_is_named(written):
    shard = written / "train-00001-of-00003.tfrecord"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(ps.ManifestError, match=r"train-00001-of-00003\.tfrecord: expected .* bytes"):
        ps.Dataset(written)
    shard.unlink()
    with pytest.raises(
        ps.ManifestError, match=r"train-00001-of-00003\.tfrecord is missing; .* by a pattern, .*/train-\*"
    ):
        ps.Dataset(written)


def test_shards_without_their_manifest_are_found_by_their_name(written):
    (written / "train.penstock.json").unlink()
    for name in ("train", "train-*"):
        assert ids(ps.Dataset(f"{written}/{name}")) == list(range(20))
    with pytest.raises(FileNotFoundError):
        ps.Dataset(written / "tra")
    (written / "train-00001-of-00003.tfrecord").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"no manifest train\.penstock\.json: copy .* a pattern, .*/train\[-\.\]\*"
    ):
        ps.Dataset(written / "train")


def test_one_of_several_datasets_in_a_folder_must_be_named(written):
    ps.write(written / "test", [row_of(1)], schema=SCHEMA)
    with pytest.raises(ps.ManifestError, match=r"several datasets: name one of them \(test, train\).*split='test'"):
        ps.Dataset(written)
    assert len(ps.Dataset(written / "test")) == len(ps.Dataset(written, split="test")) == 1
    assert len(ps.Dataset(written, split="train")) == 20
    with pytest.raises(FileNotFoundError, match="No dataset 'valid'; found test, train"):
        ps.Dataset(written, split="valid")


def fill(folder: str | Path, *names: str) -> None:
    """Write a record with its own number to each file."""
    for number, name in enumerate(names):
        store = f"{folder}/{name}"
        if "://" not in store:
            Path(store).parent.mkdir(parents=True, exist_ok=True)
        with ps.RecordWriter(store, compression="GZIP" if name.endswith(".gz") else None) as writer:
            writer.write_many(ps.Encoder(SCHEMA).encode([row_of(number)]))


FOREIGN = {
    "numbered": ("train-00000-of-00002.tfrecord", "train-00001-of-00002.tfrecord", "val-00000-of-00001.tfrecord"),
    "packed": ("train-0-of-2.tfrecord.gz", "train-1-of-2.tfrecord.gz", "other-0-of-1.tfrecord.gz"),
    "no extension": ("train-00000-of-00002", "train-00001-of-00002", "validation-00000-of-00128"),
    "number last": ("train.tfrecord-00000-of-00002", "train.tfrecord-00001-of-00002", "more.tfrecord-00000-of-00001"),
    "TFDS": tuple(f"mnist-{name}.tfrecord-{n:05}-of-00002" for name, n in (("train", 0), ("train", 1), ("test", 0))),
    "a file that belongs to none": ("train-00000-of-00002.tfrecord", "train-00001-of-00002.tfrecord", "old.tfrecord"),
    "words": ("cifar_train_1.tfrecord", "cifar_train_2.tfrecord", "cifar_test_1.tfrecord"),
    "words with digits": ("train01.tfrec", "train02.tfrec", "Val01.tfrec"),
    "folders": ("train/part-1.tfrecord", "train/part-2.tfrecord", "val/part-1.tfrecord"),
    "numbered in folders": (
        "x-train/data-0-of-2.tfrecord",
        "x-train/data-1-of-2.tfrecord",
        "x-val/data-0-of-1.tfrecord",
    ),
}


@pytest.mark.parametrize("names", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("remote", [False, True])
def test_several_datasets_of_others_are_not_united(tmp_path, names: tuple[str, ...], remote: bool):
    folder = f"memory://{tmp_path.name}" if remote else str(tmp_path)
    fill(folder, *names)
    with pytest.raises(ps.ManifestError, match=r"several datasets: name one of them \(.*train"):
        ps.Dataset(folder)
    assert ids(ps.Dataset(folder, split="train")) == [0, 1]
    with pytest.raises(FileNotFoundError, match=r"No dataset 'unknown'; found .*train"):
        ps.Dataset(folder, split="unknown")
    # What is chosen by hand is the user's choice.
    pattern = "*/*" if "/" in names[0] else "*"
    assert len(ps.Dataset(f"{folder}/{pattern}")) == len(ps.Dataset([f"{folder}/{name}" for name in names])) == 3


@pytest.mark.parametrize("kind", ["numbered", "packed", "no extension", "number last", "TFDS"])
def test_a_dataset_of_others_is_found_by_its_name(tmp_path, kind: str):
    fill(tmp_path, *FOREIGN[kind])
    assert ids(ps.Dataset(tmp_path / ("mnist-train" if kind == "TFDS" else "train"))) == [0, 1]


@pytest.mark.parametrize(
    "names",
    [
        ("a.tfrecord", "b.tfrecord"),
        ("part-1.tfrecord", "part-2.tfrecord"),
        ("train.tfrecord", "more.tfrecord"),
        ("2020-train.tfrecord", "2021-train.tfrecord"),
        ("latest.tfrecord", "training_set.tfrecord"),
        ("2020/data-0-of-1.tfrecord", "2021/data-0-of-1.tfrecord"),
        ("x.tfrecord", "x.tfrecord.gz"),
    ],
)
def test_files_whose_names_state_no_split_are_one_dataset(tmp_path, names: tuple[str, ...]):
    fill(tmp_path, *names)
    assert sorted(ids(ps.Dataset(tmp_path))) == [0, 1]


def test_a_split_that_several_datasets_have_is_ambiguous(tmp_path):
    fill(tmp_path, "mnist-train-0-of-1.tfrecord", "cifar-train-0-of-1.tfrecord", "cifar-test-0-of-1.tfrecord")
    with pytest.raises(ps.ManifestError, match=r"with 'train' in their names: .*\(cifar-train, mnist-train\)"):
        ps.Dataset(tmp_path, split="train")
    assert ids(ps.Dataset(tmp_path, split="mnist-train")) == [0]


@pytest.mark.parametrize("name", ["train", "train.penstock.json", "train-*.tfrecord", "train-00000-of-00003.tfrecord"])
def test_only_a_folder_has_splits(written, name: str):
    with pytest.raises(ValueError, match=r"split='train' chooses a dataset of a folder, and .* is not a folder"):
        ps.Dataset(written / name, split="train")


def test_a_part_of_the_shards_is_counted_by_the_manifest(written):
    ds = ps.Dataset(written / "train-00001-of-00003.tfrecord")
    assert ds.schema == SCHEMA
    start = ps.Manifest.load(written / "train.penstock.json").shards[0].records
    assert ids(ds) == ids(ps.Dataset(written))[start : start + len(ds)]


def test_the_schema_file_next_to_the_files_is_used_and_else_inferred(tmp_path):
    files = write_shards(tmp_path, "plain")
    assert ps.Dataset(files).schema == SCHEMA
    (tmp_path / "data.schema.json").unlink()
    inferred = ps.Dataset(files)
    assert inferred.schema["id"] == ps.Feature("int64")
    assert ids(inferred) == list(range(TOTAL))


def test_datasets_that_are_alike_are_one_by_a_pattern_or_a_list(written):
    more = [row_of(number) for number in range(20, 25)]
    ps.write(written / "valid", more, schema=SCHEMA, shards=2)
    for names in (written / "*.tfrecord", [written / "train", written / "valid-*.tfrecord"]):
        ds = ps.Dataset(names)
        assert ds.schema == SCHEMA
        assert ids(ds) == list(range(25))


def test_datasets_that_differ_are_not_united_in_silence(written):
    ps.write(written / "test", [{"id": 1.5}])
    for names in (written / "*.tfrecord", [written / "train", written / "test"]):
        with pytest.raises(
            ps.SchemaError, match=r"different records \(\"id\" is Feature\('\w+'\) and Feature\('\w+'\)"
        ):
            ps.Dataset(names)
    with pytest.raises(ps.SchemaError, match=r'"items" is .* and missing|"items" is missing and'):
        ps.write(written / "part", [{"id": 1}])
        ps.Dataset([written / "train", written / "part"])
    ds = ps.Dataset([written / "train", written / "part"], schema=ps.Schema({"id": int}))
    assert ids(ds) == [*range(20), 1]


def test_what_describes_some_of_the_files_holds_for_the_others(written):
    (written / "more.tfrecord").write_bytes((written / "train-00000-of-00003.tfrecord").read_bytes())
    ds = ps.Dataset(written / "*.tfrecord")
    assert ds.schema == SCHEMA
    assert sorted(set(ids(ds))) == list(range(20))


def test_a_dataset_without_records_has_every_order(tmp_path):
    (tmp_path / "empty.tfrecord").touch()
    empty = ps.Dataset(tmp_path / "empty.tfrecord", schema=SCHEMA)
    for ds in (
        empty,
        empty.shuffle(seed=1),
        empty.shuffle(seed=1, window=5),
        empty.interleave(),
        empty.shard(0, 3),
        empty.repeat(),
    ):
        assert list(ds) == list(ds.batch(2)) == []


def test_what_does_not_exist_is_an_error(tmp_path):
    for name in ("nothing", "nothing-*.tfrecord", "nothing/"):
        with pytest.raises(FileNotFoundError):
            ps.Dataset(tmp_path / name)
    with pytest.raises(ValueError, match="at least one file"):
        ps.Dataset([])


def test_files_that_are_missing_are_listed_with_their_entry(written):
    (written / "train-00001-of-00003.tfrecord").unlink()
    for path in (written, written / "train", written / "train.penstock.json"):
        resolved = resolve_files([str(path)], describe=True)
        files = {Path(file.path).name: file for file in resolved.files}
        missing = files["train-00001-of-00003.tfrecord"]
        assert isinstance(missing.error, FileNotFoundError)
        assert missing.shard is not None
        assert missing.shard.records == 7
        assert [file.error for file in files.values() if file is not missing] == [None, None]
        assert resolved.datasets == (str(written / "train.penstock.json"),)
        with pytest.raises(ps.ManifestError, match="is missing"):
            resolved.complete()


def test_paths_that_stand_for_no_file_stay_in_their_place(written, tmp_path):
    first, last = sorted(str(path) for path in written.glob("*.tfrecord"))[::2]
    gone = str(tmp_path / "gone.tfrecord")
    resolved = resolve_files([first, gone, last])
    assert [file.path for file in resolved.files] == [first, gone, last]
    assert resolved.paths == (first, last)
    assert isinstance(resolved.files[1].error, FileNotFoundError)


def test_a_manifest_that_cannot_be_loaded_is_listed(written):
    manifest = written / "train.penstock.json"
    manifest.write_text("{")
    resolved = resolve_files([str(written)], describe=True)
    assert resolved.datasets == (str(manifest),)
    assert len(resolved.paths) == 3
    with pytest.raises(ps.ManifestError):
        resolved.load_schema(resolved.schemas[0])


def test_a_single_file_is_described_by_the_manifest_next_to_it(written):
    (file,) = resolve_files([str(written / "train-00000-of-00003.tfrecord")], describe=True).files
    assert file.manifest == file.schema == str(written / "train.penstock.json")
    assert file.shard is not None
    assert resolve_files([file.path], describe=True).datasets == ()


def test_class_names_of_tfds_belong_to_the_features(tmp_path: Path):
    schema = ps.Schema({"label": int, "box/kind": int, "x": float})
    (tmp_path / "features.json").write_text(schema.to_tfds())
    (tmp_path / "label.labels.txt").write_text("cat\n dog \n\n")
    (tmp_path / "box-kind.labels.txt").write_text("a\nb\n")
    (tmp_path / "x.labels.txt").write_text("not an integer\n")
    found = load_schema(str(tmp_path / "features.json"))
    assert found == schema | {
        "label": ps.Feature(int, names=["cat", "dog"]),
        "box/kind": ps.Feature(int, names=["a", "b"]),
    }
