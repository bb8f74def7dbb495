"""penstock head."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from png_files import png
from schema_examples import example, sequence_example

import penstock as ps
from penstock.cli.display import draw, value_text


def test_a_title_and_a_line_for_each_feature(penstock, write_records):
    write_records("x.tfrecord", [example(label=3, score=[0.5, 1.5], name="bob")] * 9)
    result = penstock("head", "x.tfrecord", "--limit", "1", "--skip", "2")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "x.tfrecord, record 2",
        "  label  3",
        "  score  [0.5, 1.5]",
        "  name   'bob'",
    ]


def test_absent_is_not_empty(penstock, write_records):
    write_records("x.tfrecord", [example(a=1, b=[2, 3], t="x"), example(a=1), example(a=1, b=[], t="")])
    lines = [line.split(maxsplit=1)[1] for line in penstock("head", "x.tfrecord").stdout.splitlines()]
    assert lines[2:4] == ["[2, 3]", "'x'"]
    assert lines[6:8] == ["absent", "absent"]
    assert lines[10:12] == ["[]", "''"]


def test_long_values_are_shortened(penstock, write_records):
    write_records("x.tfrecord", [example(text="é" * 5000, tokens=list(range(1000)), blob=b"\xff" * 5000)])
    stdout = penstock("head", "x.tfrecord").stdout
    assert max(map(len, stdout.splitlines())) <= 100
    assert "(1000) [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …]" in stdout
    assert "5,000 bytes" in stdout


@pytest.mark.parametrize("room", range(20, 60))
@pytest.mark.parametrize("value", ["x" * 99, "\x1b" * 99, np.arange(1e6, 2e6, 1e5), ["abc"] * 50, np.zeros((9, 9))])
def test_any_value_fits_its_room(value: object, room: int):
    assert 0 < len(value_text(value, room)) <= room


def test_control_characters_do_not_reach_the_terminal(penstock, write_records):
    write_records("x.tfrecord", [example(**{"a\x1b[2J": "b\x1b[2J"})])
    assert "\x1b" not in penstock("head", "x.tfrecord").stdout


def test_sequences(penstock, write_records):
    write_records("x.tfrecord", [sequence_example({"id": "a"}, {"x": [[0.5, 1.5]] * 3, "w": [["a"], ["b", "c"]]})])
    stdout = penstock("head", "x.tfrecord").stdout
    assert "x   (3, 2) [0.5, 1.5, 0.5, 1.5, 0.5, 1.5]" in stdout
    assert "'b', 'c'" in stdout


def test_json_has_whole_values(penstock, write_records):
    write_records("x.tfrecord", [example(a=list(range(100)), b=b"\xff\0", c=float("nan"), d="é")])
    line = json.loads(penstock("head", "x.tfrecord", "--json").stdout)
    blob = base64.b64encode(b"\xff\0").decode()
    assert line == {
        "path": "x.tfrecord",
        "record": 0,
        "example": {"a": list(range(100)), "b": blob, "c": "NaN", "d": "é"},
    }


def test_features_can_be_chosen(penstock, write_records):
    write_records("x.tfrecord", [example(a=1, b=2, c=3)])
    line = json.loads(penstock("head", "x.tfrecord", "--json", "--feature", "c", "-f", "a").stdout)
    assert line["example"] == {"c": 3, "a": 1}
    unknown = penstock("head", "x.tfrecord", "--feature", "d")
    assert unknown.exit_code == 1
    assert "no feature 'd'" in unknown.stderr


def test_images_are_saved_as_they_are_and_pixels_as_png(penstock, write_records, folder: Path):
    pixels = np.arange(6, dtype=np.uint8).reshape(2, 3)
    image = png(3, 2, pixels.tobytes())
    write_records("x.tfrecord", [example(image=image, pixels=pixels.tobytes())])
    ps.Schema({"image": ps.Feature("bytes"), "pixels": ps.Feature("uint8", (2, 3), encoding="raw")}).save("my.json")
    result = penstock("head", "x.tfrecord", "--schema", "my.json", "--save-images", "out/deep")
    assert result.exit_code == 0
    assert (folder / "out/deep/x-0-image.png").read_bytes() == image
    from PIL import Image

    with Image.open(folder / "out/deep/x-0-pixels.png") as saved:
        assert np.array_equal(np.asarray(saved), pixels)


def test_an_image_is_drawn_with_two_pixels_a_character():
    pixels = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 9, 9]], [[1, 2, 3], [4, 5, 6]]], np.uint8)
    lines = draw(pixels, 10)
    assert [line.plain for line in lines] == ["▀▀", "▀▀"]
    style = lines[0].spans[0].style
    assert (style.color.triplet, style.bgcolor.triplet) == ((255, 0, 0), (0, 0, 255))


@pytest.mark.parametrize("shape", [(500, 300), (300, 500), (7, 500, 1), (1000, 3, 3)])
def test_a_large_image_is_averaged_until_it_fits(shape: tuple[int, ...]):
    lines = draw(np.full(shape, 77, np.uint8), 20)
    assert len(lines) <= 20
    assert {len(line.plain) for line in lines} <= set(range(1, 21))
    assert {span.style.color.triplet for line in lines for span in line.spans} == {(77, 77, 77)}


def test_examples_before_one_that_does_not_fit_are_shown(penstock, write_records):
    write_records("x.tfrecord", [example(a=1)] * 12 + [example(b=1)])
    result = penstock("head", "x.tfrecord", "--infer-records", "5", "--limit", "20")
    assert result.exit_code == 1
    assert "record 11" in result.stdout
    assert 'x.tfrecord, record 12: feature "a": expected' in result.stderr
    assert "use --infer-records all" in result.stderr


def test_text_that_is_not_utf8_is_an_error_with_its_place(penstock, write_records):
    write_records("x.tfrecord", [example(a="x")] * 3 + [example(a=b"\xff")])
    result = penstock("head", "x.tfrecord", "--infer-records", "2", "--json")
    assert len(result.stdout.splitlines()) == 3
    assert 'x.tfrecord, record 3: feature "a": expected UTF-8 text' in result.stderr


def test_damage_ends_a_file_and_the_next_one_follows(penstock, write_records, folder: Path):
    write_records("a.tfrecord", [example(a=i) for i in range(3)])
    data = bytearray((folder / "a.tfrecord").read_bytes())
    data[-1] ^= 1
    (folder / "a.tfrecord").write_bytes(data)
    write_records("b.tfrecord", [example(a=9)])
    result = penstock("head", "a.tfrecord", "b.tfrecord", "--json", "--infer-records", "2")
    assert [json.loads(line)["example"]["a"] for line in result.stdout.splitlines()] == [0, 1, 9]
    assert result.exit_code == 1
    assert "a.tfrecord, record 2" in result.stderr


def test_the_name_of_a_class_follows_its_number(penstock, folder: Path):
    ps.write("pets", {"pet": [1, 0]}, schema=ps.Schema({"pet": ps.Feature("uint8", names=["cat", "dog"])}))
    shown = penstock("head", "pets").stdout
    assert "1 (dog)" in shown
    assert "0 (cat)" in shown
    assert "(cat, dog)" in penstock("stats", "pets").stdout
    assert "pet: int64 (cat, dog), 0 to 1" in str(ps.stats("pets"))


def test_a_missing_file_is_reported(penstock):
    result = penstock("head", "gone.tfrecord")
    assert result.exit_code == 1
    assert "gone.tfrecord: no such file" in result.stderr
