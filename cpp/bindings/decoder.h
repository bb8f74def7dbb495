// The decoder as bound to Python, for the bindings that decode: immediately, ahead, or directly from files.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "bindings/bindings.h"
#include "core/example/batch.h"
#include "io/workers.h"

namespace penstock::bindings {

// A feature of the plan, with the shape and type of its column's array.
struct BoundFeature {
  FeaturePlan plan;
  std::vector<std::size_t> shape;  // of one item
  nb::dlpack::dtype type;
};

// Returns an array that keeps its memory alive.
nb::object array_of(const SharedBuffer& buffer, std::size_t ndim, const std::size_t* shape, nb::dlpack::dtype type);

// The type of a decoded batch, in stubs.
#define PENSTOCK_DECODED "tuple[int, list[typing.Any], list[NDArray[numpy.uint8]], DecodeFault | None]"

class Decoder {
 public:
  Decoder(const std::vector<BoundFeature>& features, nb::bytes default_bytes, bool sequence_example, bool validate_all,
          bool strict, std::size_t threads);

  nb::tuple decode(const std::vector<Chunk>& chunks, nb::list outputs);

  // Returns (rows, columns, buffers, fault). A column is an array, or a tuple (values, offsets, step offsets) if rows
  // differ in size; with a mask, a tuple of that and the mask.
  nb::tuple to_python(const DecodedBatch& batch, const nb::list& outputs) const;

  // Returns one column of a batch, as in to_python(); if `output` is given, that is its values.
  nb::object column(std::size_t feature, const DecodedBatch& batch, nb::object output) const;

  // Returns the buffers that the views of a batch point into.
  nb::list buffers_of(const DecodedBatch& batch) const;

  // Returns the memory of `outputs` for the columns of `rows` rows, checked. The caller must keep `outputs` alive.
  Outputs pointers_of(std::size_t rows, const nb::list& outputs) const;

  std::shared_ptr<BatchDecoder> native() const { return decoder_; }
  const std::vector<BoundFeature>& features() const { return features_; }

 private:
  std::vector<BoundFeature> features_;
  std::shared_ptr<BatchDecoder> decoder_;
  Workers workers_;
};

}  // namespace penstock::bindings
