// Views: sixteen bytes that represent a byte string, in Arrow's BinaryView layout (little-endian).
//
//   up to 12 bytes:  int32 length, the bytes themselves, zeros
//   more:            int32 length, the first 4 bytes, int32 buffer, int32 offset
//
// Views are not trusted: `resolve` checks one against the buffers before it returns memory. A view array may be
// unaligned, so views are copied in and out of it, never referenced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace penstock {

using Bytes = std::span<const std::byte>;

inline constexpr std::size_t kViewBytes = 16;
inline constexpr std::size_t kInlineBytes = 12;
inline constexpr std::size_t kMaxViewBuffer = 0x7fffffff;  // offsets and lengths are int32

struct View {
  std::int32_t length = 0;
  std::byte prefix[4] = {};
  std::int32_t buffer = 0;
  std::int32_t offset = 0;

  bool is_inline() const { return static_cast<std::uint32_t>(length) <= kInlineBytes; }
};
static_assert(sizeof(View) == kViewBytes);

class ViewArray {
 public:
  explicit ViewArray(Bytes memory) : memory_(memory) {}

  std::size_t size() const { return memory_.size() / kViewBytes; }
  View operator[](std::size_t i) const {
    View view;
    std::memcpy(&view, memory_.data() + i * kViewBytes, kViewBytes);
    return view;
  }

  // The bytes of view `i`, or nothing if it points outside the buffers.
  std::optional<Bytes> resolve(std::size_t i, std::span<const Bytes> buffers) const {
    const View view = (*this)[i];
    if (view.is_inline())
      return memory_.subspan(i * kViewBytes + sizeof view.length, static_cast<std::size_t>(view.length));
    if (view.length < 0 || view.offset < 0 || static_cast<std::uint32_t>(view.buffer) >= buffers.size()) return {};
    const Bytes buffer = buffers[static_cast<std::size_t>(view.buffer)];
    const auto offset = static_cast<std::size_t>(view.offset), length = static_cast<std::size_t>(view.length);
    if (offset > buffer.size() || length > buffer.size() - offset) return {};
    return buffer.subspan(offset, length);
  }

 private:
  Bytes memory_;
};

// Returns a view of `value`, of at most kMaxViewBuffer bytes. A long value lies at `offset` of `buffer`.
View make_view(Bytes value, std::int32_t buffer, std::int32_t offset);

// The first invalid view; `index` is the number of views if all are valid.
struct ViewFault {
  enum Kind { kNone, kStray, kNotText };
  Kind kind = kNone;
  std::size_t index = 0;
};

// Checks views. A view is stray if it points outside the buffers; with `text`, it must also be UTF-8.
ViewFault first_fault(ViewArray views, std::span<const Bytes> buffers, bool text);

// Compares each value of `left` with the value of `right` in the same row, or with its only value, byte by byte: -1, 0
// or 1 in `order`. For UTF-8 this is the order of the code points.
ViewFault compare_views(ViewArray left, std::span<const Bytes> left_buffers, ViewArray right,
                        std::span<const Bytes> right_buffers, std::span<std::int8_t> order);

// Sets found[i] if value `i` equals a value of `set`.
ViewFault find_views(ViewArray values, std::span<const Bytes> buffers, ViewArray set,
                     std::span<const Bytes> set_buffers, std::span<bool> found);

// How long values are compacted: into one buffer, or several if they exceed one.
struct CompactPlan {
  std::vector<View> views;
  std::vector<std::size_t> buffer_sizes;
};

// No view may be stray, and the views must not change between the two calls.
CompactPlan plan_compact(ViewArray views, std::span<const Bytes> buffers);
void copy_compact(ViewArray views, std::span<const Bytes> buffers, const CompactPlan& plan,
                  std::span<std::byte* const> targets);

// Views of the values data[offsets[i], offsets[i + 1]). Data that exceeds one view buffer is split: `windows` has the
// offset at which each buffer begins.
struct WindowedViews {
  std::vector<View> views;
  std::vector<std::size_t> windows;
};

// Returns nothing if offsets decrease, leave the data, or span a value longer than a view allows.
template <class Offset>
std::optional<WindowedViews> views_of_offsets(std::span<const Offset> offsets, Bytes data);

}  // namespace penstock
