import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.discovery.split_slices import ReadInstruction, RowRange, even_splits, parse_split

LENGTHS = {"train": [8, 9, 8], "test": [2, 0, 5], "my-split": [1]}


def ranges(text: str) -> list[tuple[str, int, int]]:
    return [tuple(found) for found in parse_split(text).ranges(LENGTHS)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train", [("train", 0, 25)]),
        ("train[:]", None),
        ("train[5:]", [("train", 5, 25)]),
        ("train[-5:]", [("train", 20, 25)]),
        ("train[:-5]", [("train", 0, 20)]),
        ("train[2:2]", [("train", 2, 2)]),
        ("train[9:3]", [("train", 9, 9)]),
        ("train[:1_0]", [("train", 0, 10)]),
        ("train[:50%]", [("train", 0, 12)]),
        ("train[10:50%]", [("train", 2, 12)]),
        ("train[33.4%:66.6%]", [("train", 8, 17)]),
        ("train[-10%:]", [("train", 23, 25)]),
        ("train[1shard]", [("train", 8, 17)]),
        ("train[-1shard]", [("train", 17, 25)]),
        ("train[:2shard]", [("train", 0, 17)]),
        ("train[:-1shard]", [("train", 0, 17)]),
        ("my-split", [("my-split", 0, 1)]),
        ("train[:3] + test[1:]+train[24:]", [("train", 0, 3), ("test", 1, 7), ("train", 24, 25)]),
        ("all", [("train", 0, 25), ("test", 0, 7), ("my-split", 0, 1)]),
    ],
)
def test_a_text_selects_rows(text: str, expected):
    if expected is None:
        with pytest.raises(ValueError, match="not a split"):
            parse_split(text)
    else:
        assert ranges(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a split"),
        ("train[", "not a split"),
        ("train[1:2:3]", "not a split"),
        ("train[1.5:2]", "not a split"),
        ("train[a:]", "not a split"),
        ("train[3]", r"train\[3:4\]"),
        ("train[:101%]", "-100 to 100"),
        ("train[:10%]+valid", "no split 'valid': the dataset has 'train'"),
        ("train[:26]", "has 25"),
        ("train[1shard:50%]", "both bounds"),
        ("all[:3]", "cannot be sliced"),
        ("train[:" + "9" * 50 + "]", "not a split"),
        ("+".join(["train"] * 101), "at most 100 parts"),
    ],
)
def test_other_texts_raise(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        ranges(text)


@given(st.integers(0, 50), st.integers(1, 9), st.booleans())
def test_even_splits_are_disjoint_and_complete(rows: int, count: int, drop: bool):
    parts = [part.ranges({"train": [rows]})[0] for part in even_splits("train", count, drop_remainder=drop)]
    sizes = [part.stop - part.start for part in parts]
    assert max(sizes) - min(sizes) <= (0 if drop else 1)
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(sum(sizes)))
    assert sum(sizes) == (rows - rows % count if drop else rows)


def test_even_splits_divide_each_part_and_nest():
    first, second = even_splits("train[:4]+test", 2)
    assert first.ranges(LENGTHS) == [RowRange("train", 0, 2), RowRange("test", 0, 4)]
    assert even_splits(second, 2)[1].ranges(LENGTHS) == [RowRange("train", 3, 4), RowRange("test", 6, 7)]
    assert (first + "my-split").ranges(LENGTHS)[-1] == ("my-split" + first).ranges(LENGTHS)[0]


def test_whole_percents_are_of_one_size():
    lengths = {"train": [250]}
    parts = [ReadInstruction("train", n, n + 1, "%", "pct1_dropremainder").ranges(lengths)[0] for n in range(100)]
    assert {part.stop - part.start for part in parts} == {2}
    with pytest.raises(ValueError, match="at least 100 rows"):
        ReadInstruction("train", 0, 1, "%", "pct1_dropremainder").ranges(LENGTHS)
