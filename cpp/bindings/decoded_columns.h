// The columns of a decoded batch, as NumPy arrays that are made when they are requested.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "bindings/bindings.h"
#include "core/example/batch.h"

namespace penstock::bindings {

// A feature of the plan, with the shape and type of its column's array.
struct BoundFeature {
  FeaturePlan plan;
  std::vector<std::size_t> shape;  // of one item
  nb::dlpack::dtype type;
};

using BoundFeatures = std::shared_ptr<const std::vector<BoundFeature>>;

// Returns an array that keeps its memory alive.
nb::object array_of(const SharedBuffer& buffer, std::size_t ndim, const std::size_t* shape, nb::dlpack::dtype type);

class DecodedColumns {
 public:
  // `outputs` is empty, or has the caller's array or None for each feature.
  DecodedColumns(BoundFeatures features, DecodedBatch batch, nb::list outputs = nb::list())
      : features_(std::move(features)), batch_(std::move(batch)), outputs_(std::move(outputs)) {}

  std::size_t rows() const { return batch_.rows; }
  const DecodeFault& fault() const { return batch_.fault; }
  bool is_valid() const { return batch_.fault.fault == ExampleFault::kNone; }

  // Returns an array, or a tuple (values, offsets, step offsets) if rows differ in size; with a mask, a tuple of that
  // and the mask.
  nb::object column(std::size_t feature) const;

  // Returns the columns of all features.
  nb::list columns() const;

  // Returns the buffers that views point into: the same list for every call.
  nb::list buffers();

 private:
  BoundFeatures features_;
  DecodedBatch batch_;
  nb::list outputs_;
  nb::object buffers_;
};

}  // namespace penstock::bindings
