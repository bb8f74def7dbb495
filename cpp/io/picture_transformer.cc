#include "io/picture_transformer.h"

#include <algorithm>
#include <atomic>

namespace penstock {

void PictureTransformer::run(std::span<const image::Bytes> files, std::span<const image::PictureKey> keys,
                             std::byte* to, std::span<TransformedPicture> pictures) {
  const std::size_t stride = options_.output.bytes();
  std::atomic<std::size_t> next = 0;
  // A part per thread, so that its memory serves many pictures.
  workers_.run(std::min(workers_.threads(), files.size()), [&](std::size_t) {
    image::PictureTransform transform(options_);
    for (std::size_t i = next++; i < files.size(); i = next++) {
      if (files[i].data() == nullptr) continue;
      const image::Format format = image::format_of(files[i]);
      if (format == image::Format::kOther || (format == image::Format::kJpeg && !image::JpegDecoder::is_available())) {
        pictures[i].status = TransformedPicture::kOtherFormat;
      } else if (const image::Problem problem = transform.run(files[i], keys[i], to + i * stride)) {
        pictures[i] = {TransformedPicture::kInvalid, problem};
      }
    }
  });
}

}  // namespace penstock
