#include "core/example/row_values.h"

#include <array>
#include <bit>
#include <limits>

#include "core/example/float16.h"
#include "core/example/packed_varints.h"

namespace penstock {
namespace {

template <typename T>
bool store_narrow(const std::int64_t* values, std::size_t count, std::byte* out) {
  bool fits = true;
  for (std::size_t i = 0; i < count; ++i) {
    const auto narrow = static_cast<T>(values[i]);
    fits &= static_cast<std::int64_t>(narrow) == values[i];
    std::memcpy(out + i * sizeof(T), &narrow, sizeof(T));
  }
  return fits;
}

bool store_bools(const std::int64_t* values, std::size_t count, std::byte* out) {
  bool fits = true;
  for (std::size_t i = 0; i < count; ++i) {
    fits &= values[i] == 0 || values[i] == 1;
    out[i] = static_cast<std::byte>(values[i] & 1);
  }
  return fits;
}

}  // namespace

void write_view(std::byte* out, wire::Bytes bytes, ViewSource source) {
  struct {
    std::int32_t length;
    std::byte prefix[4];
    std::int32_t buffer;
    std::int32_t offset;
  } view{};
  static_assert(sizeof view == 16);
  view.length = static_cast<std::int32_t>(bytes.size);
  if (bytes.size <= 12) {
    std::memcpy(out, &view, sizeof view);
    if (bytes.size != 0) std::memcpy(out + 4, bytes.data, bytes.size);
    return;
  }
  std::memcpy(view.prefix, bytes.data, 4);
  view.buffer = source.buffer;
  view.offset = static_cast<std::int32_t>(bytes.data - source.base);
  std::memcpy(out, &view, sizeof view);
}

void place_view(std::byte* view, std::int32_t buffer) {
  if (load_le32(view) > 12) store_le32(view + 8, static_cast<std::uint32_t>(buffer));
}

// Reserves `count` more values; nullptr if a dense row is full. Counts them either way.
std::byte* RowValues::reserve(std::size_t count) {
  const std::uint64_t before = count_;
  count_ += count;
  if (growing_ != nullptr) {
    std::byte* out = growing_->reserve_more(count * plan_.value_bytes);
    growing_->commit(count * plan_.value_bytes);
    return out;
  }
  return count_ <= capacity_ ? out_ + before * plan_.value_bytes : nullptr;
}

bool RowValues::bytes(wire::Bytes value) {
  if (plan_.element == Element::kRaw) {
    const std::uint64_t item = plan_.item_bytes();
    if (++count_ > 1) return true;  // counted; the caller reports that one value was expected
    if (growing_ != nullptr) {
      if (value.size % item != 0) return fail(ExampleFault::kRawSize, value.size);
      if (value.size != 0) std::memcpy(growing_->reserve_more(value.size), value.data, value.size);
      growing_->commit(value.size);
      return true;
    }
    if (value.size != item) return fail(ExampleFault::kRawSize, value.size);
    if (item != 0) copy_by(nontemporal_, out_, value.data, value.size);
    return true;
  }
  if (std::byte* out = reserve(1)) write_view(out, value, source_);
  return true;
}

bool RowValues::floats(const std::byte* data, std::size_t count) {
  std::byte* out = reserve(count);
  if (out == nullptr) return true;
  if (plan_.element == Element::kFloat32) {
    copy_by(nontemporal_, out, data, 4 * count);
    return true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = load_le32(data + 4 * i);
    if (plan_.element == Element::kFloat64) {
      const double wide = static_cast<double>(std::bit_cast<float>(bits));
      std::memcpy(out + 8 * i, &wide, 8);
      continue;
    }
    std::uint16_t half;
    const bool exact = plan_.element == Element::kFloat16 ? to_float16(bits, half) : to_bfloat16(bits, half);
    if (!exact) return fail(ExampleFault::kInexact, 0);
    std::memcpy(out + 2 * i, &half, 2);
  }
  return true;
}

bool RowValues::varint(std::int64_t value) { return store_ints(&value, 1); }

bool RowValues::varints(wire::Bytes run) {
  if (plan_.element == Element::kInt64 && growing_ != nullptr) {
    // A run of n bytes has at most n values.
    auto* out = reinterpret_cast<std::int64_t*>(growing_->reserve_more(8 * (run.size + kVarintSlack)));
    const std::byte* p = run.data;
    const std::size_t n = decode_varints(p, run.end(), out, run.size);
    if (n == kMalformedRun) return fail(ExampleFault::kMalformed, 0);
    growing_->commit(8 * n);
    count_ += n;
    return true;
  }
  // Through a buffer on the stack: for every element type, and for dense rows, which must not be overrun.
  constexpr std::size_t kPiece = 256;
  std::array<std::int64_t, kPiece + kVarintSlack> piece;
  const std::byte* p = run.data;
  while (p != run.end()) {
    const std::size_t n = decode_varints(p, run.end(), piece.data(), kPiece);
    if (n == kMalformedRun) return fail(ExampleFault::kMalformed, 0);
    if (!store_ints(piece.data(), n)) return false;
  }
  return true;
}

bool RowValues::store_ints(const std::int64_t* values, std::size_t count) {
  std::byte* out = reserve(count);
  if (out == nullptr) return true;
  bool fits = true;
  switch (plan_.element) {
    case Element::kInt64:
      std::memcpy(out, values, 8 * count);
      break;
    case Element::kInt32:
      fits = store_narrow<std::int32_t>(values, count, out);
      break;
    case Element::kInt16:
      fits = store_narrow<std::int16_t>(values, count, out);
      break;
    case Element::kInt8:
      fits = store_narrow<std::int8_t>(values, count, out);
      break;
    case Element::kUint32:
      fits = store_narrow<std::uint32_t>(values, count, out);
      break;
    case Element::kUint16:
      fits = store_narrow<std::uint16_t>(values, count, out);
      break;
    case Element::kUint8:
      fits = store_narrow<std::uint8_t>(values, count, out);
      break;
    default:
      fits = store_bools(values, count, out);
      break;
  }
  return fits || fail(ExampleFault::kOutOfRange, 0);
}

}  // namespace penstock
