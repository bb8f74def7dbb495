"""What all tests need."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

pytest_plugins = ["command_fixtures", "dataset_fixtures", "index_fixtures", "servers"]

# How long an example takes says more about the machine than about it.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")

# A shell that runs the tests in the background has them ignore Ctrl-C, and with them every process that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory):
    """Indexes that tests make do not end up in the cache folder of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _cache_of_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts with an empty cache folder."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.mktemp("cache") / "penstock"))
