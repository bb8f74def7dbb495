"""Datasets in S3: whole, or not there."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps


def test_a_dataset_is_written_replaced_and_verified(s3):
    manifest = ps.write("s3://data/folder/train", {"x": np.arange(1000)}, shards=3, compression="GZIP")
    assert manifest.verify("s3://data/folder") == []
    with pytest.raises(FileExistsError):
        ps.write("s3://data/folder/train", {"x": np.arange(10)})
    manifest = ps.write("s3://data/folder/train", ({"x": i} for i in range(10)), shards=2, replace=True)
    assert s3.find("data") == [
        "data/folder/train-00000-of-00002.tfrecord",
        "data/folder/train-00001-of-00002.tfrecord",
        "data/folder/train.penstock.json",
    ]
    assert ps.Manifest.load("s3://data/folder/train.penstock.json") == manifest
    s3.rm("data/folder/train-00001-of-00002.tfrecord")
    assert [finding.kind for finding in manifest.verify("s3://data/folder")] == ["missing"]


def test_an_exception_leaves_nothing(s3):
    def rows():
        for _ in range(100):
            yield {"x": bytes(200_000)}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ps.write("s3://data/train", rows(), shards=2)
    assert s3.find("data") == []
    assert s3.list_multipart_uploads("data") == []
