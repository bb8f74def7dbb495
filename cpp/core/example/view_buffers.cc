#include "core/example/view_buffers.h"

#include <cstring>

#include "core/columns/views.h"

namespace penstock {
namespace {

// Views that use less than this fraction of a chunk are copied.
constexpr std::size_t kMinViewedFraction = 8;

struct Viewed {
  std::size_t bytes = 0;        // that views refer to
  std::int32_t buffer = 0;      // in the batch
  std::byte* copies = nullptr;  // where the next copy goes, if the values are copied
  std::int32_t copied = 0;      // bytes so far
};

// Calls visit(view, chunk) for the views into chunks, and stores the changed views.
template <typename Visit>
void for_each_view(std::span<const std::span<std::byte>> arrays, Visit&& visit) {
  for (const std::span<std::byte> array : arrays) {
    for (std::size_t at = 0; at < array.size(); at += kViewBytes) {
      View view;
      std::memcpy(&view, array.data() + at, kViewBytes);
      if (view.is_inline() || view.buffer >= 0) continue;
      visit(view, static_cast<std::size_t>(-1 - view.buffer));
      std::memcpy(array.data() + at, &view, kViewBytes);
    }
  }
}

std::size_t bytes_of(const Chunk& chunk) {
  const Span first = chunk.span(0), last = chunk.span(chunk.size() - 1);
  return static_cast<std::size_t>(last.offset + last.length - first.offset);
}

}  // namespace

std::size_t assign_view_buffers(std::span<const std::span<std::byte>> arrays, std::span<const Chunk> chunks,
                                ViewBuffers& buffers) {
  std::vector<Viewed> viewed(chunks.size());
  for_each_view(arrays,
                [&](const View& view, std::size_t i) { viewed[i].bytes += static_cast<std::size_t>(view.length); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Viewed& part = viewed[i];
    if (part.bytes == 0) continue;
    const std::size_t whole = bytes_of(chunks[i]);
    if (part.bytes < whole / kMinViewedFraction && part.bytes <= kMaxViewBuffer) {
      const SharedBuffer own = acquire_buffer(part.bytes);
      part.copies = own->data();
      part.buffer = buffers.add(own);
      kept += part.bytes;
    } else {
      part.buffer = buffers.number_of(chunks[i].buffer);
      kept += whole;
    }
  }
  for_each_view(arrays, [&](View& view, std::size_t i) {
    Viewed& part = viewed[i];
    view.buffer = part.buffer;
    if (part.copies == nullptr) return;
    std::memcpy(part.copies + part.copied, chunks[i].buffer->data() + view.offset,
                static_cast<std::size_t>(view.length));
    view.offset = part.copied;
    part.copied += view.length;
  });
  return kept;
}

}  // namespace penstock
