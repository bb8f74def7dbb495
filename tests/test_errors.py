"""Errors cross process borders whole, and stand where users look for them."""

from __future__ import annotations

import pickle

import framing
import pytest

import penstock as ps


@pytest.fixture
def error(tmp_path):
    path = tmp_path / "bad.tfrecord"
    path.write_bytes(framing.flip(framing.frame(b"a secret"), 14))
    with pytest.raises(ps.ChecksumError) as caught:
        list(ps.RecordReader(path))
    return caught.value


def test_errors_pickle_with_their_details(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is ps.ChecksumError
    assert str(copy) == str(error)
    assert (copy.path, copy.offset, copy.stop, copy.record, copy.kind) == (error.path, 0, 24, 0, "data-crc")


def test_errors_pickle_with_their_notes(error):
    error.add_note("while counting")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["while counting"]


def test_payload_bytes_are_never_shown(error):
    assert "secret" not in f"{error!r} {vars(error)}"


def test_the_tree():
    for name in ["TruncatedError", "ChecksumError", "RecordTooLargeError", "CompressionError"]:
        assert issubclass(getattr(ps, name), ps.CorruptDataError)
    assert issubclass(ps.CorruptDataError, ps.PenstockError)
    assert issubclass(ps.MissingExtraError, ImportError)
