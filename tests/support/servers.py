"""An S3 server on loopback, and a small HTTP server that can misbehave."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import pytest


@pytest.fixture(scope="session")
def s3_endpoint():
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_endpoint, monkeypatch):
    """A file system on an empty bucket named ``data``, and the environment in which ``s3://`` URLs lead there."""
    import s3fs

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint)
    monkeypatch.setitem(fsspec.config.conf, "s3", {"default_block_size": 5 << 20})  # the smallest part that S3 takes
    s3fs.S3FileSystem.clear_instance_cache()
    # Another client than the one under test: what it does comes as a surprise.
    other = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
    other.mkdir("data")
    yield other
    other.rm("data", recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each response, of a head and a body, takes 40 ms

    def do_HEAD(self):
        self.respond(body=False)

    def do_GET(self):
        self.respond(body=True)

    def respond(self, body):
        server = self.server
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        server.seen.append((self.command, self.path, found and found[0]))
        if body and server.failures:
            status = server.failures.pop(0)
            return self.reply(status, b"no")
        data = server.files.get(self.path)
        if data is None:
            return self.reply(404, b"not here")
        if found and server.ranges:
            start, stop = int(found[1]), int(found[2]) + 1
            return self.reply(206, data[start:stop], {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"})
        return self.reply(200, data)

    def reply(self, status, data, headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *arguments):
        pass


class MisbehavingServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.failures = []
        self.ranges = True
        self.seen = []

    def url(self, name):
        return f"http://127.0.0.1:{self.server_address[1]}{name}"


@pytest.fixture
def http():
    server = MisbehavingServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
