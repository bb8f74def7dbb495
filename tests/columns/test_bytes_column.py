"""Byte strings and text as views into buffers."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from string_columns import stray_views, strings, view_of

import penstock as ps
from penstock import _core
from penstock.columns import BytesColumn

WORDS = [b"", b"a", b"twelve bytes", b"thirteen byte", b"\x00nul\x00", b"a string that lies in a buffer", b"\xff" * 40]


def test_gives_the_values_back_whatever_their_length() -> None:
    column = strings(WORDS)
    assert column.to_list() == WORDS
    assert list(column) == WORDS
    assert [column[i] for i in range(len(column))] == WORDS
    assert column[-1] == WORDS[-1]


@given(st.lists(st.text() | st.text(min_size=13)))
def test_text_round_trips(values: list[str]) -> None:
    column = strings(values)
    assert column.to_list() == values
    assert column.compact().to_list() == values


def test_a_slice_shares_memory_and_a_gather_keeps_the_values() -> None:
    column = strings(WORDS)
    part = column[2:5]
    assert part.to_list() == WORDS[2:5]
    assert np.shares_memory(part.views, column.views)
    assert column[::-2].to_list() == WORDS[::-2]
    assert column[np.array([3, -1, 3])].to_list() == [WORDS[3], WORDS[-1], WORDS[3]]
    assert column[np.array([len(word) > 12 for word in WORDS])].to_list() == [w for w in WORDS if len(w) > 12]
    assert column[[]].to_list() == []


def test_buffers_that_others_look_at_are_read_only() -> None:
    schema = ps.Schema({"word": ps.Feature("bytes")})
    records = ps.Encoder(schema).encode([{"word": b"a string that lies in a buffer"}])
    column = ps.Decoder(schema).decode(records)["word"]
    for buffer in (*column.buffers, *column.compact().buffers):
        with pytest.raises(ValueError, match="read-only"):
            buffer[0] = 0


@pytest.mark.parametrize("index", [7, -8])
def test_a_row_outside_raises(index: int) -> None:
    with pytest.raises(IndexError):
        strings(WORDS)[index]


def test_rows_with_a_shape_are_nested_lists() -> None:
    column = strings(["a", "b", "c", "d", "e", "f", "g", "h"], shape=(2, 2))
    assert len(column) == 2
    assert column.to_list() == [[["a", "b"], ["c", "d"]], [["e", "f"], ["g", "h"]]]
    assert column[1] == [["e", "f"], ["g", "h"]]
    assert column[::-1].to_list() == column.to_list()[::-1]
    assert column.to_numpy().shape == (2, 2, 2)


def test_rows_of_no_strings_are_still_rows() -> None:
    column = strings([], shape=(0,), rows=3)
    assert column.to_list() == [[], [], []]
    assert column[1:].to_list() == [[], []]


def test_to_numpy_keeps_trailing_zero_bytes() -> None:
    array = strings([b"a\x00", b"b"]).to_numpy()
    assert array.dtype == object
    assert array.tolist() == [b"a\x00", b"b"]


def test_numpy_does_not_convert_it_by_itself() -> None:
    with pytest.raises(TypeError, match="BytesColumn"):
        np.asarray(strings(WORDS))


def test_compact_detaches_from_the_buffers_and_keeps_nothing_else() -> None:
    column = strings([b"x" * 1000, b"y" * 20, b"short"])
    buffer = weakref.ref(column.buffers[0])
    part = column[1:].compact()
    assert [b.nbytes for b in part.buffers] == [20]
    del column
    gc.collect()
    assert buffer() is None
    assert part.to_list() == [b"y" * 20, b"short"]


def test_a_view_keeps_its_buffers_alive() -> None:
    part = strings([b"x" * 1000, b"y" * 20])[1:]
    gc.collect()
    assert part.to_list() == [b"y" * 20]


def test_pickling_carries_the_values_and_not_the_buffers() -> None:
    part = strings(["x" * 100_000, "text that is long", "short"])[1:]
    data = pickle.dumps(part)
    assert len(data) < 1000
    assert pickle.loads(data).to_list() == ["text that is long", "short"]


def test_text_that_is_not_utf8_says_which_value() -> None:
    column = BytesColumn(np.frombuffer(view_of(b"fine") + view_of(b"bad \xff"), np.int32).reshape(-1, 4), [], text=True)
    assert column[0] == "fine"
    with pytest.raises(UnicodeDecodeError, match="value 1 of the column"):
        column.to_list()


def one_view(view: bytes) -> BytesColumn:
    return BytesColumn(np.frombuffer(view, np.int32).reshape(-1, 4), [np.zeros(32, np.uint8)])


@pytest.mark.parametrize("name", stray_views())
def test_a_view_outside_the_buffers_raises_wherever_it_is_followed(name: str) -> None:
    column = one_view(stray_views()[name])
    with pytest.raises(ValueError, match="view of value 0"):
        column.to_list()
    with pytest.raises(ValueError, match="view of value 0"):
        column[0]
    with pytest.raises(ValueError, match="view of value 0"):
        column.compact()
    with pytest.raises(ValueError, match="view of value 0"):
        column.__arrow_c_array__()


def test_a_view_up_to_the_last_byte_is_inside() -> None:
    assert one_view(view_of(bytes(32))).to_list() == [bytes(32)]


@given(st.lists(st.binary(min_size=16, max_size=16)), st.lists(st.binary(max_size=40), max_size=3), st.booleans())
def test_arbitrary_views_give_values_or_an_exception(views: list[bytes], buffers: list[bytes], text: bool) -> None:
    arrays = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
    column = BytesColumn(np.frombuffer(b"".join(views), np.int32).reshape(-1, 4), arrays, text=text)
    try:
        values = column.to_list()
    except ValueError:  # UnicodeDecodeError is one
        with pytest.raises(ValueError, match="value"):
            column.__arrow_c_array__()
    else:
        column.__arrow_c_array__()
        assert column.compact().to_list() == values


@given(st.binary(max_size=24))
def test_the_utf8_check_agrees_with_python(data: bytes) -> None:
    buffer = np.frombuffer(data + bytes(13), np.uint8)  # a tail, so that the value lies in a buffer
    view = np.frombuffer(view_of(data + bytes(13)), np.int32)
    try:
        data.decode()
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            _core.check_views(view, (buffer,), True)
    else:
        _core.check_views(view, (buffer,), True)


@pytest.mark.parametrize("lead", range(0xC0, 0x100))
def test_the_utf8_check_agrees_with_python_on_every_second_byte(lead: int) -> None:
    for second in range(256):
        for tail in (b"", b"\x80", b"\x80\x80", b"\xbfa", b"\x80\xc0"):
            value = bytes([lead, second]) + tail
            view = np.frombuffer(view_of(value), np.int32)
            try:
                value.decode()
                valid = True
            except UnicodeDecodeError:
                valid = False
            try:
                _core.check_views(view, (), True)
                accepted = True
            except UnicodeDecodeError:
                accepted = False
            assert accepted == valid, value


@pytest.mark.parametrize(
    ("views", "buffers"),
    [
        (np.zeros((2, 3), np.int32), []),
        (np.zeros(4, np.int32), []),
        (np.zeros((2, 4), np.int64), []),
        (np.zeros((2, 4), np.int32), [np.zeros(3, np.int8)]),
        (np.zeros((2, 4), np.int32), [np.zeros(8, np.uint8)[::2]]),
    ],
)
def test_memory_of_another_layout_raises(views: np.ndarray, buffers: list[np.ndarray]) -> None:
    with pytest.raises(TypeError):
        BytesColumn(views, buffers)


def test_values_that_do_not_make_rows_raise() -> None:
    with pytest.raises(ValueError, match="3 values"):
        strings(["a", "b", "c"], shape=(2,))
