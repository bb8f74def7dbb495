"""Folders of pictures become rows: by class, or with a table that describes them."""

from __future__ import annotations

from pathlib import Path

import png_files
import pyarrow.parquet
import pytest

import penstock as ps


def picture(value: int, height: int = 2) -> bytes:
    return png_files.png(3, height, bytes([value]) * 3 * height)


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def stored(name: str) -> list[bytes]:
    return [row["image"] for row in ps.Dataset(name, schema=ps.Schema({"image": bytes}))]


def test_folders_are_classes(folder: Path):
    for name, value in (("dog/b.png", 3), ("cat/z.png", 2), ("cat/deep/a.png", 1)):
        write(folder / "pets" / name, picture(value))
    (folder / "pets" / "cat" / "notes.txt").write_text("not a picture")
    report = ps.convert("pets", "data/pets")
    ds = ps.Dataset("data/pets")
    assert report.records == 3
    assert ds.schema == ps.Schema(
        {
            "image": ps.Feature("uint8", (2, 3, 1), encoding="png"),
            "file_name": str,
            "label": ps.Feature(int, names=["cat", "dog"]),
        }
    )
    assert stored("data/pets") == [picture(2), picture(1), picture(3)]
    found = [(row["file_name"], int(row["label"])) for row in ds]
    assert found == [
        ("cat/z.png", 0),
        ("cat/deep/a.png", 0),
        ("dog/b.png", 1),
    ]


def test_pictures_go_through_parquet_byte_for_byte(folder: Path):
    for name in ("a", "b"):
        write(folder / "pets" / name / "1.png", picture(7, height=2 + (name == "b")))
    ps.convert("pets", "pets.parquet")
    assert pyarrow.parquet.read_table("pets.parquet")["image"].to_pylist() == [picture(7), picture(7, height=3)]
    ps.convert("pets.parquet", "data/pets")
    assert ps.Dataset("data/pets").schema["label"].names == ("a", "b")
    assert stored("data/pets") == [picture(7), picture(7, height=3)]


def test_pictures_of_several_formats_are_read_by_their_content(folder: Path):
    write(folder / "p" / "a.png", picture(1))
    write(folder / "p" / "b.jpg", b"\xff\xd8\xff not a whole JPEG")
    ps.convert("p", "data/p")
    assert ps.Dataset("data/p").schema["image"].encoding == "image"
    assert "label" not in ps.Dataset("data/p").schema


def test_a_table_describes_pictures_in_its_order(folder: Path):
    write(folder / "p" / "a.png", picture(1))
    write(folder / "p" / "sub" / "b.png", picture(2))
    (folder / "p" / "metadata.csv").write_text("file_name,caption\nsub/b.png,two\n./a.png,\n")
    ps.convert("p", "data/p")
    assert stored("data/p") == [picture(2), picture(1)]
    assert [row["caption"] for row in ps.Dataset("data/p")] == ["two", None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name\na.png\n", "no column 'file_name'.* it has 'name'"),
        ("file_name\nc.png\na.png\n", "names 1 pictures that are not there, such as c.png"),
        ("file_name,x\na.png,1\n,2\n", "metadata.csv has rows without a text in 'file_name'"),
        ('file_name,x\na.png,1\n"",2\n', "metadata.csv has rows without a text in 'file_name'"),
        ("file_name\n1\n", "metadata.csv has rows without a text in 'file_name'"),
        ("file_name\na.png\n", "1 pictures have no row .* such as b.png: add rows"),
        ("file_name,image\na.png,1\nb.png,2\n", "a column 'image', which is the name of the pictures"),
    ],
)
def test_a_table_that_does_not_fit_the_pictures_raises(folder: Path, text: str, message: str):
    write(folder / "p" / "a.png", picture(1))
    write(folder / "p" / "b.png", picture(2))
    (folder / "p" / "metadata.csv").write_text(text)
    with pytest.raises(ps.SchemaError, match=message):
        ps.convert("p", "data/p")


def test_what_the_classes_are_is_not_guessed(folder: Path):
    write(folder / "p" / "train" / "cat" / "a.png", picture(1))
    write(folder / "p" / "test" / "cat" / "a.png", picture(1))
    with pytest.raises(ps.SchemaError, match="several datasets: convert each by itself: p/test, p/train"):
        ps.convert("p", "data/p")
    write(folder / "q" / "cat" / "a.png", picture(1))
    write(folder / "q" / "b.png", picture(1))
    with pytest.raises(ps.SchemaError, match=r"others are not, such as b\.png"):
        ps.convert("q", "data/q")
    with pytest.raises(ValueError, match="name the folder"):
        ps.convert("q/b.png", "data/q")
