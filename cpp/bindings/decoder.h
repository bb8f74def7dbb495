// The decoder as Python sees it, for the bindings that decode: at once, ahead, or straight from files.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "bindings/bindings.h"
#include "core/example/batch.h"
#include "io/workers.h"

namespace penstock::bindings {

// A feature of the plan, and the shape and type of the array that its column becomes.
struct BoundFeature {
  FeaturePlan plan;
  std::vector<std::size_t> shape;  // of one item
  nb::dlpack::dtype type;
};

// An array on memory that it keeps alive.
nb::object array_of(const SharedBuffer& buffer, std::size_t ndim, const std::size_t* shape, nb::dlpack::dtype type);

// What a decoded batch is to Python, in stubs.
#define PENSTOCK_DECODED "tuple[int, list[typing.Any], list[NDArray[numpy.uint8]], DecodeFault | None]"

class Decoder {
 public:
  Decoder(const std::vector<BoundFeature>& features, nb::bytes default_bytes, bool sequence_example, bool validate_all,
          bool strict, std::size_t threads);

  nb::tuple decode(const std::vector<Chunk>& chunks, nb::list outputs);

  // (rows, columns, buffers, fault): a column is an array, or a tuple (values, offsets, step offsets) where rows differ
  // in size; with a mask, that and the mask in a tuple of two.
  nb::tuple to_python(const DecodedBatch& batch, const nb::list& outputs) const;

  // One column of a batch, as to_python() answers it; where `output` is memory, that is its values.
  nb::object column(std::size_t feature, const DecodedBatch& batch, nb::object output) const;

  // What the views of a batch point into.
  nb::list buffers_of(const DecodedBatch& batch) const;

  // The memory that `outputs` gives for the columns of `rows` rows; it is checked, and must be kept.
  Outputs pointers_of(std::size_t rows, const nb::list& outputs) const;

  std::shared_ptr<BatchDecoder> native() const { return decoder_; }
  const std::vector<BoundFeature>& features() const { return features_; }

 private:
  std::vector<BoundFeature> features_;
  std::shared_ptr<BatchDecoder> decoder_;
  Workers workers_;
};

}  // namespace penstock::bindings
