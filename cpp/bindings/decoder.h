// The decoder as bound to Python, for the bindings that decode: immediately, ahead, or directly from files.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/decoded_columns.h"
#include "core/example/batch.h"
#include "io/workers.h"

namespace penstock::bindings {

class Decoder {
 public:
  Decoder(const std::vector<BoundFeature>& features, nb::bytes default_bytes, bool sequence_example, bool validate_all,
          bool strict, std::size_t threads);

  DecodedColumns decode(const std::vector<Chunk>& chunks, nb::list outputs);

  // Returns the memory of `outputs` for the columns of `rows` rows, checked. The caller must keep `outputs` alive.
  Outputs pointers_of(std::size_t rows, const nb::list& outputs) const;

  std::shared_ptr<BatchDecoder> native() const { return decoder_; }
  const BoundFeatures& features() const { return features_; }

 private:
  BoundFeatures features_;
  std::shared_ptr<BatchDecoder> decoder_;
  Workers workers_;
};

}  // namespace penstock::bindings
