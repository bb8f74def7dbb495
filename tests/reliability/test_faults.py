"""Each call to the operating system fails once: somebody is messages, or nothing is wrong."""

from __future__ import annotations

import errno

import pytest
from reliability.faults import WORKS, inject_faults
from reliability.sandbox import Sandbox
from reliability.survivors import prepare
from reliability.trial import FAIL


@pytest.mark.parametrize("work", WORKS)
def test_no_fault_is_swallowed(sandbox: Sandbox, work: str):
    result = inject_faults(sandbox, [work], every=5)
    assert result.injected > 0
    assert result.problems == []


def test_a_full_disk_leaves_the_dataset_that_was_to_be_replaced(sandbox: Sandbox):
    folder = sandbox.empty_folder()
    prepare("write_dataset", folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    sandbox.run("write_dataset", folder, 1)
    first_write = [call.kind for call in sandbox.calls()].index("write")
    folder = sandbox.empty_folder()
    prepare("write_dataset", folder)
    ended = sandbox.run("write_dataset", folder, 1, at=first_write, action=FAIL, error=errno.ENOSPC)
    assert ended.messages[-1]["errno"] == errno.ENOSPC
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
