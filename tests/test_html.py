"""HTML for notebooks shows values and pictures, escapes everything, and has a bounded size."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from penstock import _core

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def parsed(html: str) -> ElementTree.Element:
    """Parse as XML, which fails where a value was not escaped; attributes that run code are not there."""
    root = ElementTree.fromstring("<div>" + re.sub(r"<img ([^>]*)>", r"<img \1/>", html) + "</div>")
    for element in root.iter():
        assert element.tag in {"div", "table", "thead", "tbody", "tr", "th", "td", "pre", "span", "img"}
        assert set(element.attrib) <= {"style", "src", "title"}
    return root


def texts(html: str, tag: str) -> list[str]:
    return ["".join(cell.itertext()) for cell in parsed(html).iter(tag)]


def pictures(html: str) -> list[Image.Image]:
    sources = [image.attrib["src"] for image in parsed(html).iter("img")]
    return [Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) for source in sources]


def encoded(size: int, form: str) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 255, (size, size, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, form)
    return buffer.getvalue()


def test_a_batch_is_a_table_of_its_first_rows():
    batch = ps.Batch({"x": np.arange(100), "name": [f"n{i}" for i in range(100)], "box": np.zeros((100, 4))})
    html = batch._repr_html_()
    assert texts(html, "th") == ["x", "name", "box"]
    assert texts(html, "td")[:3] == ["0", "n0", "float64[4]  0, 0, 0, 0"]
    assert len(texts(html, "tr")) == 9
    assert "100 rows" in html


def test_absent_and_ragged_values_have_cells():
    batch = ps.Batch(
        {
            "x": ps.Nullable(np.array([1, 0]), np.array([True, False])),
            "t": ps.Ragged(np.array([1, 2]), np.array([0, 2, 2])),
        }
    )
    assert "absent" in texts(batch._repr_html_(), "td")


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
@pytest.mark.parametrize("size", [32, 400])
def test_encoded_pictures_are_shown_and_large_ones_are_thumbnails(form: str, size: int):
    if form == "JPEG" and size > 100 and not _core.DECODES_JPEG:
        pytest.skip("this build is without libjpeg-turbo")
    (picture,) = pictures(ps.Batch({"image": [encoded(size, form)]})._repr_html_())
    assert max(picture.size) <= 100


def test_pixels_are_thumbnails_with_the_same_colors():
    pixels = np.zeros((1, 300, 200, 3), np.uint8)
    pixels[0, :150] = [255, 0, 7]
    (picture,) = pictures(ps.Batch({"image": pixels})._repr_html_())
    assert picture.getpixel((10, 10)) == (255, 0, 7)
    assert picture.getpixel((10, picture.height - 1)) == (0, 0, 0)


def test_a_damaged_picture_is_its_size():
    data = encoded(400, "PNG")[:50_000]
    assert texts(ps.Batch({"image": [data]})._repr_html_(), "td") == ["PNG, 50,000 bytes"]


def test_hostile_names_and_values_are_text(tmp_path: Path):
    batch = ps.Batch({HOSTILE: [HOSTILE, HOSTILE]})
    assert texts(batch._repr_html_(), "th") == [HOSTILE]
    assert texts(batch._repr_html_(), "td")[0] == HOSTILE
    assert HOSTILE in texts(ps.Schema({HOSTILE: int})._repr_html_(), "td")
    parsed(ps.verify(tmp_path / HOSTILE.replace("/", ""))._repr_html_())


def test_the_size_is_bounded():
    wide = ps.Batch({f"column {i}" * 100: ["x" * 10_000] * 1000 for i in range(500)})
    assert len(wide._repr_html_()) < 100_000
    many = ps.Schema({f"feature {i}": int for i in range(10_000)})
    assert len(many._repr_html_()) < 200_000


def test_a_dataset_shows_its_first_rows_and_leaves_its_epochs_alone(tmp_path: Path):
    ps.write(tmp_path / "t", [{"image": encoded(32, "PNG"), "x": i} for i in range(20)])
    ds = ps.Dataset(tmp_path / "t").shuffle(seed=1)
    expected = [row["x"] for row in ds.epoch(0)]
    html = ds._repr_html_()
    assert [int(text) for text in texts(html, "td")[1::2]] == expected[:8]
    assert len(pictures(html)) == 8
    assert [row["x"] for row in ds] == expected


def test_functions_of_a_dataset_are_not_called_to_show_it(tmp_path: Path):
    ps.write(tmp_path / "t", [{"x": 1}])
    mapped = ps.Dataset(tmp_path / "t").map(lambda row: 1 / 0)
    assert "map" in "".join(parsed(mapped._repr_html_()).itertext())


def test_damage_is_told_where_rows_would_be(tmp_path: Path):
    ps.write(tmp_path / "t", [{"x": 1}])
    file = tmp_path / "t-00000-of-00001.tfrecord"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert "checksum" in ps.Dataset(tmp_path / "t")._repr_html_()


def test_reports_are_tables(tmp_path: Path):
    ps.write(tmp_path / "t", [{"x": i, "name": "a"} for i in range(10)], shards=2)
    assert "t-00000-of-00002.tfrecord" in "".join(texts(ps.verify(tmp_path / "t")._repr_html_(), "td"))
    assert {"x", "name"} <= set(texts(ps.stats(tmp_path / "t")._repr_html_(), "td"))
    assert "10 records" in ps.count(tmp_path / "t")._repr_html_()


def test_columns_are_tables():
    assert texts(ps.BytesColumn.from_values([b"ab", b"c"], text=False)._repr_html_(), "td") == ["0", "ab", "1", "c"]
