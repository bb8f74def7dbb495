"""What a feature accepts, what it rejects, and how it describes itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from penstock import Feature, SchemaError
from penstock.schema import NO_DEFAULT


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("float32", "float32"),
        ("bfloat16", "bfloat16"),
        (np.float64, "float64"),
        (np.dtype(">i2"), "int16"),
        (np.dtype("S5"), "bytes"),
        (np.str_, "str"),
        (np.bool_, "bool"),
        (bool, "bool"),
        (int, "int64"),
        (float, "float32"),
        (str, "str"),
        (bytes, "bytes"),
    ],
)
def test_dtype_is_stored_under_its_canonical_name(given: object, name: str) -> None:
    assert Feature(given).dtype == name


@pytest.mark.parametrize("given", ["float", "flaot32", "object", object, None, np.complex64, np.dtype("M8[s]"), [1], 3])
def test_unknown_dtype_raises(given: object) -> None:
    with pytest.raises(SchemaError):
        Feature(given)


def test_misspelt_dtype_raises_with_the_right_one() -> None:
    with pytest.raises(SchemaError, match="float32"):
        Feature("flaot32")


@pytest.mark.parametrize(
    ("shape", "levels", "inner", "dense"),
    [
        ((), 0, (), True),
        (3, 0, (3,), True),
        (np.int32(3), 0, (3,), True),
        ([2, np.int64(3)], 0, (2, 3), True),
        ((0, 3), 0, (0, 3), True),
        ((None,), 1, (), False),
        ((None, 3), 1, (3,), False),
        ((None, None, 4), 2, (4,), False),
    ],
)
def test_shape_distinguishes_dense_from_ragged(shape: object, levels: int, inner: tuple[int, ...], dense: bool) -> None:
    feature = Feature("int64", shape)  # type: ignore[arg-type]
    assert (feature.ragged_levels, feature.inner_shape, feature.is_dense) == (levels, inner, dense)


@pytest.mark.parametrize(
    "shape",
    [
        (3, None),
        (None, 3, None),
        (None, 0),
        (-1,),
        (1.5,),
        (True,),
        "3",
        b"3",
        2.0,
        (1 << 63,),
        (1 << 40, 1 << 40),
        (1,) * 32,
    ],
)
def test_impossible_shape_raises(shape: object) -> None:
    with pytest.raises(SchemaError):
        Feature("int64", shape)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("feature", "kind"),
    [
        (Feature("str"), "bytes"),
        (Feature("bytes", (None,)), "bytes"),
        (Feature("bool"), "int64"),
        (Feature("uint32"), "int64"),
        (Feature("float64"), "float"),
        (Feature("bfloat16"), "float"),
        (Feature("float32", (2,), encoding="raw"), "bytes"),
        (Feature("uint64", encoding="tensor"), "bytes"),
        (Feature("uint8", (None, None, 3), encoding="jpeg"), "bytes"),
    ],
)
def test_kind_is_the_list_that_holds_the_values(feature: Feature, kind: str) -> None:
    assert feature.kind == kind


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"dtype": "uint64"}, 'encoding="raw"'),
        ({"dtype": "str", "encoding": "raw"}, 'encoding="list"'),
        ({"dtype": "int64", "encoding": "zip"}, "jpeg"),
        ({"dtype": "uint8", "encoding": "jpeg"}, r"\(None, None, 3\)"),
        ({"dtype": "uint8", "shape": (1, 1, 5), "encoding": "png"}, "1 to 4 channels"),
        ({"dtype": "uint16", "shape": (1, 1, 3), "encoding": "jpeg"}, "uint8"),
        ({"dtype": "float32", "shape": (1, 1, 3), "encoding": "image"}, "uint8 or uint16"),
        ({"dtype": "int64", "shape": (3, None)}, 'encoding="tensor"'),
        ({"dtype": "int64", "shape": (None, None), "encoding": "raw"}, '"tensor"'),
        ({"dtype": "int64", "shape": (None, None), "partitions": "ab"}, r"\(key,\)"),
        ({"dtype": "int64", "shape": (None, None), "partitions": ("a", "b")}, "needs 1 partitions"),
        ({"dtype": "int64", "shape": (None, None, None), "partitions": ("a", "a")}, "must be distinct"),
        ({"dtype": "int64", "partitions": ("a",)}, "needs 0 partitions"),
        ({"dtype": "int64", "encoding": "tensor", "partitions": ("a",)}, "ragged lists"),
        ({"dtype": "int64", "key": 3}, "str"),
        ({"dtype": "int64", "optional": True, "default": 0}, "exclude each other"),
        ({"dtype": "int64", "shape": (None,), "default": []}, "optional=True"),
    ],
)
def test_wrong_combination_says_what_to_write(arguments: dict[str, object], advice: str) -> None:
    with pytest.raises(SchemaError, match=advice):
        Feature(**arguments)  # type: ignore[arg-type]


def test_images_and_tensors_may_vary_anywhere() -> None:
    assert Feature("uint8", (None, 64, 3), encoding="png").ragged_levels == 0
    assert not Feature("float32", (3, None), encoding="tensor").is_dense


@pytest.mark.parametrize(
    ("dtype", "shape", "given", "kept"),
    [
        ("int64", (), 3, 3),
        ("uint8", (2,), [1, 255], (1, 255)),
        ("uint8", (2, 1), np.array([[1], [2]], np.uint8), ((1,), (2,))),
        ("float32", (), 0.1, 0.1),
        ("float32", (), np.float32(0.1), 0.1),
        ("float16", (), 0.1, 0.1),
        ("bfloat16", (), 2, 2.0),
        ("float32", (), float("-inf"), float("-inf")),
        ("bool", (1,), [np.True_], (True,)),
        ("str", (), "ä", "ä"),
        ("bytes", (), np.bytes_(b"x"), b"x"),
        ("int64", (0,), [], ()),
    ],
)
def test_default_is_stored_as_python_values(dtype: str, shape: tuple[int, ...], given: object, kept: object) -> None:
    default = Feature(dtype, shape, default=given).default
    assert default == kept
    assert type(default) is type(kept)


@pytest.mark.parametrize(
    ("dtype", "shape", "given"),
    [
        ("int64", (), 1.0),
        ("int64", (), True),
        ("int64", (), [1]),
        ("int64", (2,), [1]),
        ("int64", (2,), 1),
        ("int64", (2, 1), [1, 2]),
        ("uint8", (), 256),
        ("int64", (), 1 << 63),
        ("float16", (), 70000.0),
        ("float32", (), 1e39),
        pytest.param("float32", (), 10**400, id="a huge int"),
        ("bool", (), 1),
        ("str", (), b"x"),
        ("str", (), "\ud800"),
        ("bytes", (), "x"),
        ("bytes", (), None),
    ],
)
def test_default_that_does_not_fit_raises(dtype: str, shape: tuple[int, ...], given: object) -> None:
    with pytest.raises(SchemaError, match="default"):
        Feature(dtype, shape, default=given)


def test_features_with_equal_arguments_are_one_set_element() -> None:
    nan = Feature("float32", (1,), default=[float("nan")])
    assert {nan, pickle.loads(pickle.dumps(nan)), Feature(float, 1, default=[np.float32("nan")])} == {nan}
    assert nan != Feature("float32", (1,))


def test_pickle_keeps_the_absence_of_a_default() -> None:
    feature = pickle.loads(pickle.dumps(Feature("str", key="k")))
    assert feature.default is NO_DEFAULT
    assert not feature.has_default


def test_feature_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Feature("str").dtype = "bytes"  # type: ignore[misc]


def test_repr_is_the_call_that_makes_it() -> None:
    feature = Feature("float32", (2,), encoding="raw", default=[0, 1], key="k")
    assert repr(feature) == "Feature('float32', (2,), encoding='raw', default=(0.0, 1.0), key='k')"
    assert eval(repr(feature)) == feature
    assert repr(Feature(int)) == "Feature('int64')"


def test_bfloat16_is_that_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    feature = Feature(ml_dtypes.bfloat16, (2,), default=np.array([0.5, 1], ml_dtypes.bfloat16))
    assert feature.numpy_dtype == np.dtype(ml_dtypes.bfloat16)
    assert feature == Feature("bfloat16", (2,), default=[0.5, 1])


def test_numpy_dtype_of_text_raises() -> None:
    assert Feature("float16").numpy_dtype == np.float16
    with pytest.raises(SchemaError, match="no NumPy dtype"):
        _ = Feature("str").numpy_dtype


@pytest.mark.parametrize(("name", "ours"), [("int", "int64"), ("float", "float32"), ("string", "str")])
def test_names_of_others_are_led_to_ours(name: str, ours: str):
    with pytest.raises(SchemaError, match=f'did you mean "{ours}"'):
        Feature(name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtype": str, "names": ["a"]}, "names are those of the classes that an integer numbers"),
        ({"dtype": int, "names": "ab"}, "found one str"),
        ({"dtype": int, "names": ["a", "b", "a"]}, "'a' occurs twice"),
        ({"dtype": int, "names": [1]}, "each of names must be a str"),
        ({"dtype": float, "logical": "date32[day]"}, "needs dtype int32 or int64, found float32"),
        ({"dtype": bool, "logical": "struct"}, "needs optional=True"),
        ({"dtype": int, "logical": "dictionary"}, "needs names"),
        ({"dtype": int, "logical": "list<struct"}, "unknown logical type"),
        ({"dtype": bool, "logical": "list<" * 40 + "struct" + ">" * 40, "optional": True}, "unknown logical type"),
        ({"dtype": int, "logical": 7}, "logical must be a str"),
    ],
)
def test_names_and_logical_types_fit_the_dtype(arguments, message: str):
    with pytest.raises(SchemaError, match=message):
        Feature(**arguments)


def test_many_names_are_shortened_in_the_repr():
    feature = Feature(int, names=[f"n{number}" for number in range(1000)])
    assert repr(feature).endswith("'n7', and 992 more))")
