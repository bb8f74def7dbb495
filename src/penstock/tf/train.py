"""``tf.train``: Example, SequenceExample and their parts as real protobuf messages.

Their descriptors are in a pool of their own, so that they do not conflict with a TensorFlow in the same process.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from penstock.errors import import_extra
from penstock.tf.tensorflow_fallback import attribute_of_tensorflow

if TYPE_CHECKING:
    BytesList: Any
    FloatList: Any
    Int64List: Any
    Feature: Any
    Features: Any
    FeatureList: Any
    FeatureLists: Any
    Example: Any
    SequenceExample: Any

# The fields of each message: number, name, and type after "repeated" or "map" (from strings). Types in capitals are
# scalars.
_MESSAGES: dict[str, list[tuple[int, str, str]]] = {
    "BytesList": [(1, "value", "repeated BYTES")],
    "FloatList": [(1, "value", "repeated FLOAT")],
    "Int64List": [(1, "value", "repeated INT64")],
    "Feature": [(1, "bytes_list", "BytesList"), (2, "float_list", "FloatList"), (3, "int64_list", "Int64List")],
    "Features": [(1, "feature", "map Feature")],
    "FeatureList": [(1, "feature", "repeated Feature")],
    "FeatureLists": [(1, "feature_list", "map FeatureList")],
    "Example": [(1, "features", "Features")],
    "SequenceExample": [(1, "context", "Features"), (2, "feature_lists", "FeatureLists")],
}
_ONEOFS = {"Feature": "kind"}


def __getattr__(name: str) -> Any:
    if name in _MESSAGES:
        return _classes()[name]
    return attribute_of_tensorflow("train", name)


@cache
def _classes() -> dict[str, Any]:
    purpose = "tf.train"
    import_extra("google.protobuf", "protobuf", purpose)  # so that the error names this package
    descriptor_pb2 = import_extra("google.protobuf.descriptor_pb2", "protobuf", purpose)
    pool = import_extra("google.protobuf.descriptor_pool", "protobuf", purpose).DescriptorPool()
    factory = import_extra("google.protobuf.message_factory", "protobuf", purpose)
    file = descriptor_pb2.FileDescriptorProto(name="penstock/example.proto", package="tensorflow", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in _ONEOFS:
            message.oneof_decl.add(name=_ONEOFS[name])
        for number, field, kind in fields:
            _add_field(message, number, field, kind)
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(file.SerializeToString())
    return {name: factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{name}")) for name in _MESSAGES}


def _add_field(message: Any, number: int, name: str, kind: str) -> None:
    how, _, type_name = kind.rpartition(" ")
    field = message.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if how else field.LABEL_OPTIONAL
    if message.name in _ONEOFS:
        field.oneof_index = 0
    if type_name.isupper():
        field.type = getattr(field, f"TYPE_{type_name}")
        return
    field.type = field.TYPE_MESSAGE
    field.type_name = f".tensorflow.{type_name}"
    if how == "map":  # a map is a list of entries
        entry = message.nested_type.add(name="".join(map(str.capitalize, name.split("_"))) + "Entry")
        entry.options.map_entry = True
        key = entry.field.add(name="key", number=1)
        key.type, key.label = key.TYPE_STRING, key.LABEL_OPTIONAL
        value = entry.field.add(name="value", number=2, type_name=field.type_name)
        value.type, value.label = value.TYPE_MESSAGE, value.LABEL_OPTIONAL
        field.type_name = f".tensorflow.{message.name}.{entry.name}"
