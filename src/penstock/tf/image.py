"""``tf.image``: operations on images, decoding and encoding."""

from __future__ import annotations

from typing import Any

from penstock.tf.io.images import decode_and_crop_jpeg as decode_and_crop_jpeg
from penstock.tf.io.images import decode_bmp as decode_bmp
from penstock.tf.io.images import decode_gif as decode_gif
from penstock.tf.io.images import decode_image as decode_image
from penstock.tf.io.images import decode_jpeg as decode_jpeg
from penstock.tf.io.images import decode_png as decode_png
from penstock.tf.io.images import encode_jpeg as encode_jpeg
from penstock.tf.io.images import encode_png as encode_png
from penstock.tf.io.images import extract_jpeg_shape as extract_jpeg_shape
from penstock.tf.io.images import is_jpeg as is_jpeg
from penstock.tf.ops.images import ResizeMethod as ResizeMethod
from penstock.tf.ops.images import adjust_brightness as adjust_brightness
from penstock.tf.ops.images import adjust_contrast as adjust_contrast
from penstock.tf.ops.images import central_crop as central_crop
from penstock.tf.ops.images import convert_image_dtype as convert_image_dtype
from penstock.tf.ops.images import crop_to_bounding_box as crop_to_bounding_box
from penstock.tf.ops.images import flip_left_right as flip_left_right
from penstock.tf.ops.images import flip_up_down as flip_up_down
from penstock.tf.ops.images import grayscale_to_rgb as grayscale_to_rgb
from penstock.tf.ops.images import pad_to_bounding_box as pad_to_bounding_box
from penstock.tf.ops.images import per_image_standardization as per_image_standardization
from penstock.tf.ops.images import random_brightness as random_brightness
from penstock.tf.ops.images import random_contrast as random_contrast
from penstock.tf.ops.images import random_crop as random_crop
from penstock.tf.ops.images import random_flip_left_right as random_flip_left_right
from penstock.tf.ops.images import random_flip_up_down as random_flip_up_down
from penstock.tf.ops.images import resize as resize
from penstock.tf.ops.images import resize_with_crop_or_pad as resize_with_crop_or_pad
from penstock.tf.ops.images import rgb_to_grayscale as rgb_to_grayscale
from penstock.tf.ops.images import rot90 as rot90
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow


def __getattr__(name: str) -> Any:
    return attribute_of_tensorflow("image", name)
