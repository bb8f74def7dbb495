"""Decode and transform pictures on a device: JPEG by nvJPEG in batches, the rest by torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.codec.image_transform import ImageTransform
from penstock.columns import BytesColumn
from penstock.errors import import_extra

torch = import_extra("torch", "torch", "feeding torch")
torchvision = import_extra("torchvision", "torchvision", "decoding pictures on a device")


def decode_pictures(files: BytesColumn, parts: NDArray[np.float64], transform: ImageTransform, device: Any) -> Any:
    """Decode JPEG pictures on a device, and make of their parts what the transform says.

    Args:
        files: The encoded pictures.
        parts: Top, left, height, width and flip of each, which ``map_images(decode=False)`` chose.
        transform: The same transform.
        device: Where to decode and to place the result.

    Returns:
        A tensor ``[n, *transform.shape]``.
    """
    mode = torchvision.io.ImageReadMode.RGB if transform.channels == 3 else torchvision.io.ImageReadMode.GRAY
    encoded = [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files.to_list()]
    if torch.device(device).type == "cuda":
        decoded = torchvision.io.decode_jpeg(encoded, mode=mode, device=device)
    else:
        decoded = [torchvision.io.decode_jpeg(data, mode=mode) for data in encoded]
    pictures = torch.stack([_part(one, part, transform) for one, part in zip(decoded, parts.tolist(), strict=True)])
    if transform.dtype == "uint8":
        pictures = pictures.add_(0.5).clamp_(0, 255).to(torch.uint8)
    else:
        factor, offset = (torch.tensor(values, device=device).view(1, -1, 1, 1) for values in transform._scaling())
        pictures = (pictures * factor + offset).to(getattr(torch, transform.dtype))
    return pictures if transform.layout == "CHW" else pictures.permute(0, 2, 3, 1).contiguous()


def _part(picture: Any, part: list[float], transform: ImageTransform) -> Any:
    """Crop and resize a picture ``[channels, height, width]``, to float32."""
    height, width = transform._output
    if transform.resize is not None and transform.center_crop is not None:
        side = transform.resize if isinstance(transform.resize, int) else 0
        rows, columns = picture.shape[1:]
        size = (side, side * columns // rows) if rows <= columns else (side * rows // columns, side)
        whole = _resized(picture, size, transform.antialias)
        top, left = round((size[0] - height) / 2), round((size[1] - width) / 2)
        cropped = whole[:, top : top + height, left : left + width]
    else:
        top, left, rows, columns = (int(side) for side in part[:4])
        cropped = _resized(picture[:, top : top + rows, left : left + columns], (height, width), transform.antialias)
    return cropped.flip(2) if part[4] else cropped


def _resized(picture: Any, size: tuple[int, int], antialias: bool) -> Any:
    pixels = picture[None].to(torch.float32)
    if tuple(pixels.shape[2:]) != size:
        pixels = torch.nn.functional.interpolate(
            pixels, size, mode="bilinear", align_corners=False, antialias=antialias
        )
    return pixels[0]
