#include "core/example/entry_rewrite.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bindings/bindings.h"
#include "bindings/frame_buffer.h"
#include "core/chunk.h"

namespace penstock::bindings {
namespace {

const char* name_of(RewriteFault fault) {
  switch (fault) {
    case RewriteFault::kNone:
      return "";
    case RewriteFault::kMalformed:
      return "malformed";
    case RewriteFault::kOther:
      return "other";
    case RewriteFault::kTaken:
      return "taken";
  }
  return "malformed";
}

std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

void change_key(EntryRewrite& rewrite, bool is_sequence, const nb::bytes& key, const std::optional<nb::bytes>& to) {
  const Section section = is_sequence ? Section::kSequence : Section::kContext;
  if (!to)
    rewrite.drop(section, text_of(key));
  else if (text_of(*to) == text_of(key))
    rewrite.keep(section, text_of(key));
  else
    rewrite.rename(section, text_of(key), text_of(*to));
}

nb::tuple append(const EntryRewrite& rewrite, const Chunk& chunk, std::size_t first, std::size_t stop,
                 std::size_t limit, GuardedFrames& guarded) {
  if (first > stop || stop > chunk.size()) throw nb::index_error("no such record");
  std::size_t i = first;
  RewriteFault fault = RewriteFault::kNone;
  guarded.alone([&](FrameBuffer& frames) {
    EntryRewrite::Copy copy(rewrite);
    for (; i < stop && frames.size() < limit; ++i) {
      const Span span = chunk.span(i);
      fault = copy.append({chunk.buffer->data() + span.offset, static_cast<std::size_t>(span.length)}, frames);
      if (fault != RewriteFault::kNone) return;
    }
  });
  return nb::make_tuple(i, name_of(fault));
}

}  // namespace

void bind_entry_rewrite(nb::module_& m) {
  nb::class_<EntryRewrite>(m, "EntryRewrite", "What happens to the features of Examples that are copied.")
      .def(nb::init<bool, bool, bool>(), nb::kw_only(), nb::arg("sequence_example"), nb::arg("keep_others"),
           nb::arg("strict"))
      .def("change", &change_key, nb::arg("is_sequence"), nb::arg("key"), nb::arg("to").none(),
           "Say what becomes of a key: another one, itself, or None to drop it. Before the first record.")
      .def("append", &append, nb::arg("chunk"), nb::arg("first"), nb::arg("stop"), nb::arg("limit"), nb::arg("frames"),
           nb::sig("def append(self, chunk: RecordChunk, first: int, stop: int, limit: int, frames: FrameBuffer) -> "
                   "tuple[int, str]"),
           "Frame the rewritten records[first:stop] until the frames have ``limit`` bytes; return the first one left, "
           "and what is wrong with it: malformed, other, taken or nothing.");
}

}  // namespace penstock::bindings
