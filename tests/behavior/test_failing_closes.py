"""A server of files may report trouble when a file is closed, also one that was only read."""

from __future__ import annotations

import builtins
import errno
import io
import os

import pytest

from penstock.storage.local import LocalFiles


class FailsAtTheEnd(io.FileIO):
    def close(self) -> None:
        if not self.closed:
            super().close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def path(tmp_path, monkeypatch) -> str:
    file = tmp_path / "some.tfrecord"
    file.write_bytes(b"content")
    monkeypatch.setattr(builtins, "open", lambda name, mode, buffering: FailsAtTheEnd(name, mode))
    return str(file)


@pytest.mark.parametrize(
    "read", [lambda path: LocalFiles().read(path, 0, 3), lambda path: list(LocalFiles().stream(path))]
)
def test_the_error_names_the_file_that_was_read(path, read):
    # Without a name it would be taken for one about the output of a command.
    with pytest.raises(OSError, match="space") as caught:
        read(path)
    assert caught.value.filename == path
