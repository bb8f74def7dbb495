// Runs of varints, the payload of packed integer lists, decoded many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/example/varint_kernels.h"

namespace penstock {

inline constexpr std::size_t kMalformedRun = static_cast<std::size_t>(-1);

// Decodes values from `p` on until the run ends or `out` has `capacity` of them, and moves `p` behind them. Answers how
// many there were, or kMalformedRun where the run is malformed. A run of n bytes never holds more than n values. Behind
// `capacity` values, `out` has room for kVarintSlack more, which mean nothing.
std::size_t decode_varints(const std::byte*& p, const std::byte* end, std::int64_t* out, std::size_t capacity);

}  // namespace penstock
