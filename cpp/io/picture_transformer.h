// Decodes and transforms many pictures on threads, each straight into its row of the output.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/image/transform.h"
#include "io/workers.h"

namespace penstock {

struct TransformedPicture {
  enum Status { kDone, kOtherFormat, kInvalid };
  Status status = kDone;
  std::string problem;
};

class PictureTransformer {
 public:
  PictureTransformer(const image::TransformOptions& options, std::size_t threads)
      : options_(options), workers_(threads) {}

  // Transforms files, some of which may be missing; `to` has room for an output for each. Thread-safe.
  void run(std::span<const image::Bytes> files, std::span<const image::PictureKey> keys, std::byte* to,
           std::span<TransformedPicture> pictures);

  const image::TransformOptions& options() const { return options_; }

 private:
  image::TransformOptions options_;
  Workers workers_;
};

}  // namespace penstock
