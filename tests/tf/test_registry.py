"""Every operation reports failures in TensorFlow's words."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock.tf as tf


def test_running_out_of_memory_raises_resource_exhausted():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    tensor = tf.ones([1 << 24])
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 24), before[1]))
    try:
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"tf\.concat"):
            tf.concat([tensor] * 8, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
