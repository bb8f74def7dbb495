"""The features that store images as the files that they are, by the first bytes of the files."""

from __future__ import annotations

from penstock.schema import Feature
from penstock.schema.recognize_bytes import recognize

HEAD_BYTES = 26
"""Enough of a PNG file to see its colors."""
ANY_IMAGE = Feature("uint8", (None, None, None), encoding="image")
"""An image of any format that Pillow reads."""


def feature_of_image(head: bytes) -> Feature:
    """Return the feature that stores one image, by the first bytes of its file."""
    if head.startswith(b"\xff\xd8\xff"):
        return ANY_IMAGE.replace(encoding="jpeg")
    known = recognize(head)
    if known.form != "png":
        return ANY_IMAGE
    # Color with 16 bits is decoded to 8.
    gray = known.shape[2] == 1
    return Feature(known.dtype if gray else "uint8", known.shape, encoding="png")


def common_feature(found: set[Feature]) -> Feature:
    """Return the feature that stores all images of these features."""
    encodings = {feature.encoding for feature in found}
    if len(encodings) != 1:
        return ANY_IMAGE
    dtypes = {feature.dtype for feature in found}
    sizes = [set(size) for size in zip(*(feature.shape for feature in found), strict=True)]
    shape = tuple(size.pop() if len(size) == 1 else None for size in sizes)
    return Feature(dtypes.pop() if len(dtypes) == 1 else "uint8", shape, encoding=encodings.pop())
