"""A store that refuses is asked once, and the error says what to do."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import pytest
from click.testing import CliRunner
from fsspec.registry import _registry as drivers

import penstock as ps
from penstock.cli import main
from penstock.storage import remote


@pytest.fixture(autouse=True)
def no_second_try(monkeypatch):
    monkeypatch.setattr(remote, "PAUSE_SECONDS", float("nan"))  # which nobody can sleep


class Refusing(BaseHTTPRequestHandler):
    """S3 where nobody may do anything."""

    protocol_version = "HTTP/1.1"

    def refuse(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b"" if self.command == "HEAD" else b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = refuse

    def log_message(self, *arguments):
        pass


@pytest.fixture
def refusing_s3(monkeypatch):
    import s3fs

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    for name, value in {"ACCESS_KEY_ID": "some", "SECRET_ACCESS_KEY": "some", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_address[1]}")
    s3fs.S3FileSystem.clear_instance_cache()
    yield
    s3fs.S3FileSystem.clear_instance_cache()
    server.shutdown()
    thread.join()
    server.server_close()


class HttpError(Exception):
    """What gcsfs raises for most responses that are no success."""

    def __init__(self, code: int) -> None:
        super().__init__(f"Anonymous caller does not have access, {code}")
        self.code = code


class Gcs(fsspec.AbstractFileSystem):
    """The errors of gcsfs, which needs the network to find what kind of bucket one is."""

    protocol = "gs"
    cachable = False
    refusal: Exception

    def info(self, path, **options):
        raise self.refusal

    find = glob = cat_file = _open = info


def attempts(url: str):
    folder = url.rpartition("/")[0]
    return [
        lambda: list(ps.RecordReader(url)),
        lambda: ps.Dataset(url),
        lambda: ps.Dataset(folder),
        lambda: ps.write(f"{folder}/train", {"x": [1]}),
        lambda: write(url),
    ]


def write(url: str) -> None:
    with ps.RecordWriter(url) as writer:
        writer.write(b"some")


@pytest.mark.usefixtures("refusing_s3")
def test_s3_denies_access():
    url = "s3://data/folder/some.tfrecord"
    for attempt in attempts(url):
        with pytest.raises(PermissionError, match=r"Permission denied \(.*\): use other credentials, or ask its owner"):
            attempt()
    result = CliRunner().invoke(main, ["count", url])
    assert f"{url}: permission denied (Forbidden): use other credentials, or ask its owner" in result.output


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        (HttpError(401), r"\(HTTP status 401\): set GOOGLE_APPLICATION_CREDENTIALS"),
        (OSError("Forbidden: b/data/o\nno access"), r"\(no access\): use other credentials, or ask its owner"),
    ],
)
def test_google_denies_access(monkeypatch, refusal, message):
    monkeypatch.setitem(drivers, "gs", Gcs)
    monkeypatch.setattr(Gcs, "refusal", refusal, raising=False)
    for attempt in attempts("gs://data/folder/some.tfrecord")[:4]:
        with pytest.raises(PermissionError, match=f"Permission denied {message}"):
            attempt()
