"""An optional package that is not installed is named, with the extra that brings it."""

from __future__ import annotations

import pytest
from processes import run_python

WITHOUT = """
    for name in sys.argv[2].split(","):
        sys.modules[name] = None
    try:
        {attempt}
    except ps.MissingExtraError as error:
        assert isinstance(error, ImportError)
        print(error)
"""


@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [
        ("memory://some.tfrecord", "fsspec", "remote"),
        ("s3://data/some.tfrecord", "fsspec", "s3"),
        ("s3://data/some.tfrecord", "s3fs", "s3"),
        ("gs://data/some.tfrecord", "gcsfs", "gcs"),
        ("https://host/some.tfrecord", "aiohttp", "http"),
    ],
)
def test_urls(url, package, extra):
    status, out, err = run_python(WITHOUT.format(attempt="list(ps.RecordReader(sys.argv[1]))"), url, package)
    assert (status, err) == (0, "")
    assert f"needs the package '{package}'" in out.decode()
    assert f"pip install 'penstock[{extra}]'" in out.decode()


@pytest.mark.parametrize("attempt", ["ps.RecordWriter(sys.argv[1])", "list(ps.RecordReader(sys.argv[1]))"])
def test_snappy(tmp_path, attempt):
    path = tmp_path / "some.snappy"
    if "Reader" in attempt:
        attempt = 'list(ps.RecordReader(sys.argv[1], compression="SNAPPY"))'
        path.write_bytes(b"\0\0\0\5abcde")
    status, out, err = run_python(WITHOUT.format(attempt=attempt), path, "cramjam")
    assert (status, err) == (0, "")
    assert "SNAPPY compression needs the package 'cramjam'" in out.decode()
    assert "pip install 'penstock[snappy]'" in out.decode()


def test_plain_files_need_no_extra(tmp_path):
    code = """
        for name in ["fsspec", "cramjam", "s3fs", "aiohttp"]:
            sys.modules[name] = None
        for suffix in ["", ".gz", ".zlib"]:
            path = sys.argv[1] + suffix
            with ps.RecordWriter(path) as writer:
                writer.write(b"record")
            print(list(ps.RecordReader(path)))
    """
    assert run_python(code, tmp_path / "some") == (0, b"[b'record']\n" * 3, "")
