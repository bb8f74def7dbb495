"""``tf.io``: records, Examples, raw bytes, images and files."""

from __future__ import annotations

from typing import Any

from penstock.tf.io import gfile as gfile
from penstock.tf.io.decoding import (
    decode_compressed,
    decode_raw,
    matching_files,
    parse_tensor,
    read_file,
    serialize_tensor,
    write_file,
)
from penstock.tf.io.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from penstock.tf.io.images import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from penstock.tf.io.parsing import (
    decode_json_example,
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from penstock.tf.io.records import TFRecordOptions, TFRecordWriter
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_compressed",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "write_file",
]


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("io", name)
