"""TensorFlow Metadata's schema.pbtxt: written, read back, read from others, and damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_strategies import schemas

from penstock import Feature, Schema, SchemaError

# As TensorFlow Data Validation writes it, with much that does not concern a schema of ours.
FOREIGN = """
# a comment
feature {
  name: "age"
  value_count { min: 1 max: 1 }
  type: INT
  presence { min_fraction: 1.0 min_count: 1 }
  int_domain { min: 0, max: 130 }
}
feature { name: "tags" type: BYTES domain: "tags" presence { min_count: 1 } value_count < min: 1 > }
feature: {
  name: 'em' "bedding"; type: 3
  shape { dim { size: 2 } dim { size: 3 } }
  presence { min_fraction: 1 }
  annotation { extra_metadata { [type.googleapis.com/a.B] { x: [1, 2.5e-3, -inf] y: ["a", "b"] } } }
}
feature { name: "ok" type: INT bool_domain {} value_count { min: 4 max: 4 } }
string_domain { name: "tags" value: "a" value: "\\303\\244\\x41\\"" }
default_environment: "TRAINING"
"""


def test_foreign_file_is_read_by_kind_shape_and_presence() -> None:
    assert Schema.from_pbtxt(FOREIGN) == Schema(
        {
            "age": int,
            "tags": Feature("bytes", (None,), optional=True),
            "embedding": Feature("float32", (2, 3)),
            "ok": Feature("bool", (4,), optional=True),
        }
    )


@given(schemas())
def test_round_trip_is_exact(schema: Schema) -> None:
    assert Schema.from_pbtxt(schema.to_pbtxt()) == schema


def test_fields_say_what_the_example_holds() -> None:
    text = Schema(
        {"image": Feature("uint8", (28, 28), encoding="raw"), "x": Feature("float32", (2,), optional=True)}
    ).to_pbtxt()
    assert 'name: "image"\n  type: BYTES\n  shape { }\n  presence { min_fraction: 1 min_count: 1 }' in text
    assert 'name: "x"\n  type: FLOAT\n  shape { dim { size: 2 } }\n  annotation' in text


def test_edited_field_counts_more_than_the_comment() -> None:
    text = Schema({"x": Feature("uint8", (2,), key="k")}).to_pbtxt()
    assert Schema.from_pbtxt(text.replace("size: 2", "size: 3")) == Schema({"k": Feature("int64", (3,))})


def test_row_lengths_are_features_of_the_file_but_not_of_the_schema() -> None:
    schema = Schema({"x": Feature("int64", (None, None))})
    assert 'name: "x/ragged_row_lengths_0"' in schema.to_pbtxt()
    assert list(Schema.from_pbtxt(schema.to_pbtxt())) == ["x"]


@pytest.mark.parametrize(
    "text",
    [
        "feature",
        "feature {",
        "feature { name: }",
        "feature { name: 'a }",
        "feature { name 'a' }",
        "feature { } }",
        "feature { name: ['a' }",
        "[",
        "\\",
        "a { " * 1000,
        "feature { type: INT }",
        'feature { name: "a" }',
        'feature { name: "a" type: STRUCT }',
        'feature { name: "a" type: INT shape { dim { size: x } } }',
        'feature { name: "a" type: INT shape { dim { size: -1 } } }',
        'feature { name: "a" type: INT presence { min_fraction: x } }',
        'feature { name: "a" type: INT } feature { name: "a" type: INT }',
        'feature { name: "a" type: INT annotation { comment: "penstock.feature {" } }',
        'feature { name: "a" type: INT annotation { comment: "penstock.feature []" } }',
        'feature { name: "a" type: INT annotation { comment: "penstock.feature {\\"name\\": 1}" } }',
    ],
)
def test_damaged_text_is_a_schema_error(text: str) -> None:
    with pytest.raises(SchemaError):
        Schema.from_pbtxt(text)


def test_error_names_the_line() -> None:
    with pytest.raises(SchemaError, match="line 3"):
        Schema.from_pbtxt("feature {\n  name: 'a'\n  type = INT\n}")


@given(st.text(alphabet="feature{}<>[]:;,'\"\\#ntypINT01.- \n", max_size=60))
def test_any_text_is_a_schema_or_a_schema_error(text: str) -> None:
    try:
        Schema.from_pbtxt(text)
    except SchemaError:
        pass


def test_a_text_that_is_too_large_raises_unread():
    with pytest.raises(SchemaError, match="larger than 67108864 bytes"):
        Schema.from_pbtxt(" " * ((64 << 20) + 1))
