// Views: sixteen bytes that stand for a byte string, in Arrow's BinaryView layout (little-endian).
//
//   up to 12 bytes:  int32 length, the bytes themselves, zeros
//   more:            int32 length, the first 4 bytes, int32 buffer, int32 offset
//
// Views may come from anybody: `resolve` compares one with the buffers before it hands out memory. A view array may lie
// at any address, so views are copied in and out of it, never pointed at.
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

  // The bytes that view `i` stands for, or nothing where it points outside the buffers.
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

// The view of `value`, which has at most kMaxViewBuffer bytes; where it is long, it lies at `offset` of `buffer`.
View make_view(Bytes value, std::int32_t buffer, std::int32_t offset);

// The first view that cannot be used as it is; `index` is the number of views where all can.
struct ViewFault {
  enum Kind { kNone, kStray, kNotText };
  Kind kind = kNone;
  std::size_t index = 0;
};

// A view is stray where it points outside the buffers, and no text where `text` is asked for and it is not UTF-8.
ViewFault first_fault(ViewArray views, std::span<const Bytes> buffers, bool text);

// How each value of `left` compares with the same value of `right`, or with the only one that `right` has, byte by
// byte: -1, 0 or 1 in `order`, one for each value of `left`. UTF-8 compares so as its characters do.
ViewFault compare_views(ViewArray left, std::span<const Bytes> left_buffers, ViewArray right,
                        std::span<const Bytes> right_buffers, std::span<std::int8_t> order);

// Whether each value is equal to one of `set`, in `found`.
ViewFault find_views(ViewArray values, std::span<const Bytes> buffers, ViewArray set,
                     std::span<const Bytes> set_buffers, std::span<bool> found);

// Where long values go when they are copied together: one buffer, or several where one cannot hold them.
struct CompactPlan {
  std::vector<View> views;
  std::vector<std::size_t> buffer_sizes;
};

// No view may be stray, and none may change between the two calls.
CompactPlan plan_compact(ViewArray views, std::span<const Bytes> buffers);
void copy_compact(ViewArray views, std::span<const Bytes> buffers, const CompactPlan& plan,
                  std::span<std::byte* const> targets);

// Views of the values data[offsets[i], offsets[i + 1]). Where the data is too large for one view buffer it is seen
// through several: `windows` has the offset at which each begins.
struct WindowedViews {
  std::vector<View> views;
  std::vector<std::size_t> windows;
};

// Nothing where offsets fall, leave the data, or span a value longer than a view can be.
template <class Offset>
std::optional<WindowedViews> views_of_offsets(std::span<const Offset> offsets, Bytes data);

}  // namespace penstock
