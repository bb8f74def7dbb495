// Decodes runs of varints, the payload of packed integer lists, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/example/varint_kernels.h"

namespace penstock {

inline constexpr std::size_t kMalformedRun = static_cast<std::size_t>(-1);

// Decodes values from `p` until the run ends or `out` has `capacity` of them, and moves `p` after them. Returns their
// number, or kMalformedRun. A run of n bytes has at most n values. `out` must have space for kVarintSlack more than
// `capacity` values, which are undefined.
std::size_t decode_varints(const std::byte*& p, const std::byte* end, std::int64_t* out, std::size_t capacity);

}  // namespace penstock
