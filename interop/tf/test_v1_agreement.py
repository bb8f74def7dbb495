"""``tf.compat.v1`` compared with TensorFlow's, for operations that TensorFlow 2 changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from oracle import Oracle
from tf.expressions import REFUSED, evaluate, same

import penstock.tf

UNTRACED = penstock.tf.data.Options()
UNTRACED.tracing = False


def assert_same(oracle: Oracle, source: str, names: dict[str, Any], *, tolerance: float = 0.0) -> Any:
    (theirs,) = oracle.evaluate((source, names))
    ours = evaluate(penstock.tf, source, names)
    assert same(ours, theirs, tolerance=tolerance), f"{source}\n{ours}\n{theirs}"
    return theirs


def assert_same_in_a_dataset(oracle: Oracle, source: str, names: dict[str, Any], *, tolerance: float = 0.0) -> None:
    """Compare a function of one name, mapped over its slices, traced and untraced."""
    (name,) = names
    pipeline = f"list(tf.data.Dataset.from_tensor_slices({name}).map(lambda {name}: {source}))"
    theirs = assert_same(oracle, pipeline, names, tolerance=tolerance)
    untraced = pipeline.replace(".map", ".with_options(untraced).map")
    ours = evaluate(penstock.tf, untraced, {**names, "untraced": UNTRACED})
    assert same(ours, theirs, tolerance=tolerance), f"{untraced}\n{ours}\n{theirs}"


shapes = st.lists(st.integers(1, 3), max_size=3).map(tuple)


@given(st.data(), shapes, shapes)
def test_where_picks_elements_or_rows(oracle: Oracle, data: st.DataObject, shape: tuple[int, ...], other: Any) -> None:
    masks = st.sampled_from([shape, shape[:1], (), other])
    mask = data.draw(npst.arrays(np.bool_, data.draw(masks)))
    x, y = (data.draw(npst.arrays(np.int32, data.draw(st.sampled_from([shape, shape, other])))) for _ in range(2))
    assert_same(oracle, "tf.compat.v1.where(mask, x, y)", {"mask": mask, "x": x, "y": y})
    assert_same(oracle, "tf.compat.v1.where(mask)", {"mask": mask})


@given(npst.arrays(np.int32, (3, 4, 2)))
def test_where_picks_rows_in_a_dataset(oracle: Oracle, x: Any) -> None:
    assert_same_in_a_dataset(oracle, "tf.compat.v1.where(x[:, 0] > 0, x, -x)", {"x": x})


sizes = st.integers(1, 9)
corners = st.booleans()


@given(
    npst.arrays(np.uint8, st.tuples(st.integers(1, 3), sizes, sizes, st.sampled_from([1, 3]))),
    st.tuples(sizes, sizes),
    st.sampled_from(["resize", "resize_images"]),
    st.sampled_from(
        ["ResizeMethod.BILINEAR", "ResizeMethod.NEAREST_NEIGHBOR", "ResizeMethod.BICUBIC", "ResizeMethod.AREA"]
    ),
    corners,
    st.booleans(),
)
def test_images_are_resized_by_their_corners(
    oracle: Oracle, x: Any, size: tuple[int, int], name: str, method: str, align: bool, fit: bool
) -> None:
    options = f"tf.compat.v1.image.{method}, align_corners={align}, preserve_aspect_ratio={fit}"
    source = f"tf.compat.v1.image.{name}(x, {list(size)}, {options})"
    tolerance = 0.0 if method.endswith(("BILINEAR", "NEIGHBOR")) else 1e-4
    assert_same(oracle, source, {"x": x}, tolerance=tolerance)
    if not fit:  # a graph cannot infer the size
        assert_same_in_a_dataset(oracle, source, {"x": x}, tolerance=tolerance)


@given(
    npst.arrays(
        np.float32,
        st.tuples(st.integers(1, 2), sizes, sizes, st.just(2)),
        elements=st.integers(-99, 99).map(lambda number: number / 8),
    ),
    st.tuples(sizes, sizes),
    st.sampled_from(["bilinear", "nearest_neighbor", "bicubic", "area"]),
    corners,
    st.booleans(),
)
def test_the_resize_operations_per_method_agree(
    oracle: Oracle, x: Any, size: tuple[int, int], method: str, align: bool, half: bool
) -> None:
    centers = f", half_pixel_centers={half}" if method != "area" else ""
    source = f"tf.compat.v1.image.resize_{method}(x, {list(size)}, align_corners={align}{centers})"
    assert_same(oracle, source, {"x": x}, tolerance=0.0 if method in ("bilinear", "nearest_neighbor") else 1e-4)


texts = st.text("ab ,;", max_size=7).map(str.encode)


@given(
    st.sampled_from([(), (1,), (3,), (0,), (2, 2)]),
    st.lists(texts, min_size=4, max_size=4),
    st.sampled_from(["", ", sep=','", ", sep=', '", ", sep=''", ", sep=',', maxsplit=1", ", maxsplit=2"]),
    st.sampled_from(["", ", result_type='RaggedTensor'", ", result_type='SparseTensor'"]),
)
def test_strings_are_split_to_sparse_rows(
    oracle: Oracle, shape: tuple[int, ...], several: list[bytes], how: str, kind: str
) -> None:
    s = np.array(several, object)[: int(np.prod(shape))].reshape(shape)
    assert_same(oracle, f"tf.compat.v1.strings.split(s{how}{kind})", {"s": s})


@given(
    st.lists(texts, max_size=4),
    st.sampled_from(["", ", sep=','", ", ',;'", ", sep=''", ", delimiter=',; '"]),
    st.sampled_from(["", ", skip_empty=False"]),
    st.sampled_from(["", ", result_type='RaggedTensor'"]),
)
def test_strings_are_split_at_any_of_some_bytes(
    oracle: Oracle, several: list[bytes], how: str, empty: str, kind: str
) -> None:
    s = np.array(several, object)
    assert_same(oracle, f"tf.compat.v1.string_split(s{how}{empty}{kind})", {"s": s})


REDUCTIONS = ["sum", "max", "min", "mean", "prod"]


@given(
    npst.arrays(np.int32, (2, 3, 2), elements=st.integers(-9, 9)),
    st.sampled_from(REDUCTIONS),
    st.sampled_from(["", "math."]),
    st.sampled_from(["", ", 1", ", axis=-1", ", reduction_indices=[0, 1]", ", axis=1, reduction_indices=1"]),
    st.sampled_from(["", ", keep_dims=True", ", keepdims=True", ", keep_dims=False"]),
)
def test_reductions_take_the_old_argument_names(
    oracle: Oracle, x: Any, kind: str, part: str, axis: str, keep_dims: str
) -> None:
    source = f"tf.compat.v1.{part}reduce_{kind}(x{axis}{keep_dims})"
    assert_same(oracle, source, {"x": x})


ARGUMENTS = [
    "tf.compat.v1.argmax(x, dimension=1)",
    "tf.compat.v1.argmin(x, 1, output_type=tf.int32)",
    "tf.compat.v1.argmax(x, 0, 'name')",
    "tf.compat.v1.math.argmax(x, dimension=-1)",
    "tf.compat.v1.expand_dims(x, dim=1)",
    "tf.compat.v1.expand_dims(x, -1)",
    "tf.compat.v1.squeeze(x[:1], squeeze_dims=[0])",
    "tf.compat.v1.squeeze(x[:1], [0])",
    "tf.compat.v1.squeeze(x[:1], axis=0, squeeze_dims=0)",
    "tf.compat.v1.gather(x, [1, 0], None, 'name', 1)",
    "tf.compat.v1.boolean_mask(x, [True, False], 'name', 1)",
    "tf.compat.v1.transpose(x, [1, 0], 'name')",
    "tf.compat.v1.pad(x, [[1, 0], [0, 1]], 'CONSTANT', 'name', 7)",
    "tf.compat.v1.shape(x, 'name', tf.int64)",
    "tf.compat.v1.size(x, out_type=tf.int64)",
    "tf.compat.v1.zeros_like(tensor=x, optimize=False)",
    "tf.compat.v1.ones_like(x, tf.float32)",
    "tf.compat.v1.convert_to_tensor([1], preferred_dtype=tf.float32)",
    "tf.compat.v1.reduce_any(x > 0, 1, keep_dims=True)",
    "tf.compat.v1.reduce_all(x > 0, reduction_indices=0)",
    "tf.compat.v1.reduce_sum(x, nonsense=1)",
    "tf.compat.v1.decode_raw(bytes=b'ab', out_type=tf.uint8)",
    "tf.compat.v1.io.decode_raw(b'ab', tf.uint8)",
    "tf.compat.v1.strings.length('ä', 'name', 'UTF8_CHAR')",
    "tf.compat.v1.strings.substr('äbc', 1, 1, 'name', 'UTF8_CHAR')",
    "tf.compat.v1.strings.reduce_join([['a', 'b']], 1, keep_dims=True)",
    "tf.compat.v1.strings.reduce_join([['a', 'b']], reduction_indices=0)",
    "tf.compat.v1.strings.to_number(string_tensor='1.5')",
    "tf.compat.v1.strings.upper('a')",
    "tf.compat.v1.math.reduce_std([1.0, 3.0])",
    "tf.compat.v1.image.flip_up_down(tf.reshape(x, [2, 2, 1]))",
    "tf.compat.v1.image.resize_image_with_crop_or_pad(tf.reshape(x, [2, 2, 1]), 3, 1)",
    "tf.compat.v1.image.resize(tf.reshape(x, [2, 2, 1]), [0, 2])",
    "tf.compat.v1.image.resize(tf.reshape(x, [2, 2, 1]), [3, 2], 9)",
    "tf.compat.v1.image.resize(tf.reshape(x, [2, 2, 1]), [3, 2], 'bilinear')",
    "tf.compat.v1.image.resize_bilinear(tf.reshape(x, [2, 2, 1]), [3, 2])",
]


@pytest.mark.parametrize("source", ARGUMENTS)
def test_arguments_have_their_old_names_and_positions(oracle: Oracle, source: str) -> None:
    x = np.array([[1, -2], [3, 4]], np.int32)
    theirs = assert_same(oracle, source, {"x": x})
    refused = any(word in source for word in ("nonsense", "[0, 2]", "9)", "axis=0, squeeze", "resize_bilinear"))
    assert (theirs == REFUSED) == refused
    if not refused:
        assert_same_in_a_dataset(oracle, source, {"x": np.stack([x, x * 2])})


@pytest.mark.parametrize(
    "source",
    [
        "tf.compat.v1.image.resize_images(x, [2, 2])",
        "tf.compat.v1.image.resize_images(tf.io.decode_png(tf.io.encode_png(x), channels=3), [2, 2])",
    ],
)
def test_an_image_known_to_have_the_size_is_returned_unchanged(oracle: Oracle, source: str) -> None:
    x = np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)
    pipeline = f"list(tf.data.Dataset.from_tensor_slices(x).map(lambda x: {source}))"
    assert_same(oracle, pipeline, {"x": x})
