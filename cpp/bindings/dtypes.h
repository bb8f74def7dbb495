// The dtypes of columns: their names in a schema, their encoding in an Example, and the type of their arrays.
#pragma once

#include <nanobind/ndarray.h>

#include <string>

#include "bindings/bindings.h"
#include "core/example/plan.h"

namespace penstock::bindings {

struct ElementInfo {
  const char* name;
  Element element;
  Kind kind;
  nb::dlpack::dtype type;  // of the column's array; bfloat16 is returned as its 16 bits
};

constexpr nb::dlpack::dtype type_of(nb::dlpack::dtype_code code, std::uint8_t bits) {
  return {static_cast<std::uint8_t>(code), bits, 1};
}

using Code = nb::dlpack::dtype_code;

inline constexpr ElementInfo kElements[] = {
    {"bool", Element::kBool, Kind::kInt64, type_of(Code::Bool, 8)},
    {"int8", Element::kInt8, Kind::kInt64, type_of(Code::Int, 8)},
    {"int16", Element::kInt16, Kind::kInt64, type_of(Code::Int, 16)},
    {"int32", Element::kInt32, Kind::kInt64, type_of(Code::Int, 32)},
    {"int64", Element::kInt64, Kind::kInt64, type_of(Code::Int, 64)},
    {"uint8", Element::kUint8, Kind::kInt64, type_of(Code::UInt, 8)},
    {"uint16", Element::kUint16, Kind::kInt64, type_of(Code::UInt, 16)},
    {"uint32", Element::kUint32, Kind::kInt64, type_of(Code::UInt, 32)},
    {"uint64", Element::kRaw, Kind::kBytes, type_of(Code::UInt, 64)},
    {"float16", Element::kFloat16, Kind::kFloat, type_of(Code::Float, 16)},
    {"bfloat16", Element::kBfloat16, Kind::kFloat, type_of(Code::UInt, 16)},
    {"float32", Element::kFloat32, Kind::kFloat, type_of(Code::Float, 32)},
    {"float64", Element::kFloat64, Kind::kFloat, type_of(Code::Float, 64)},
};

inline const ElementInfo& info_of(const std::string& dtype) {
  for (const ElementInfo& info : kElements)
    if (dtype == info.name) return info;
  throw nb::value_error(("no such dtype: " + dtype).c_str());
}

// A column of bytes or str: Arrow binary views, four 32-bit words each.
inline constexpr ElementInfo kViewElement = {"view", Element::kView, Kind::kBytes, type_of(Code::Int, 32)};

}  // namespace penstock::bindings
