// The bytes before the floats of a step, the same for all steps of one size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/example/feature.h"
#include "core/example/plan.h"
#include "core/example/varint.h"

namespace penstock {

class SequenceStepPrefix {
 public:
  // Empty for any other kind of feature.
  explicit SequenceStepPrefix(const FeaturePlan& plan) {
    if (!plan.sequence() || plan.ragged || plan.element != Element::kFloat32 || plan.count > kMaxFloats) return;
    const std::uint64_t run = 4 * plan.count, list = 1 + varint_size(run) + run, step = 1 + varint_size(list) + list;
    std::byte bytes[2 * kWord] = {}, mask[2 * kWord] = {};
    std::byte* p = bytes;
    *p++ = std::byte{0x0A};
    p = put_varint(p, step);
    *p++ = std::byte{static_cast<unsigned>(Kind::kFloat) << 3 | 2};
    p = put_varint(p, list);
    *p++ = std::byte{0x0A};
    p = put_varint(p, run);
    size_ = static_cast<std::size_t>(p - bytes);
    stride_ = size_ + static_cast<std::size_t>(run);
    std::memset(mask, 0xFF, size_);
    for (std::size_t i = 0; i < 2; ++i) {
      words_[i] = load_le64(bytes + i * kWord);
      masks_[i] = load_le64(mask + i * kWord);
    }
  }

  std::size_t size() const { return size_; }
  std::size_t stride() const { return stride_; }  // from step to step

  // Counts the steps with this prefix at the start of `list`; may omit the last ones if they are short.
  std::size_t count(wire::Bytes list) const {
    if (size_ == 0) return 0;
    const std::size_t need = std::max(stride_, 2 * kWord);
    std::size_t count = 0;
    for (const std::byte* p = list.data; static_cast<std::size_t>(list.end() - p) >= need && is_at(p); p += stride_)
      ++count;
    return count;
  }

 private:
  static constexpr std::size_t kWord = 8;
  static constexpr std::uint64_t kMaxFloats = std::uint64_t{1} << 24;  // so that the prefix fits two words

  bool is_at(const std::byte* p) const {
    return (((load_le64(p) ^ words_[0]) & masks_[0]) | ((load_le64(p + kWord) ^ words_[1]) & masks_[1])) == 0;
  }

  std::uint64_t words_[2] = {}, masks_[2] = {};
  std::size_t size_ = 0, stride_ = 0;
};

}  // namespace penstock
