#include "tests/rewrite_check.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/example/entry_rewrite.h"
#include "core/example/feature.h"
#include "tests/checks.h"
#include "tests/memory.h"

namespace penstock::tests {
namespace {

using Entries = std::vector<std::tuple<Section, std::string, std::string>>;

std::string text_of(wire::Bytes bytes) {
  return bytes.size == 0 ? std::string() : std::string(reinterpret_cast<const char*>(bytes.data), bytes.size);
}

// All entries in their order; nothing if the record is malformed.
std::optional<Entries> read_entries(wire::Bytes record, bool sequence_example) {
  Joined joined;
  Entries entries;
  const bool good = visit_entries(record, sequence_example, joined, [&](Section section, const MapEntry& entry) {
    entries.emplace_back(section, text_of(entry.key), text_of(entry.value));
    return section == Section::kContext ? validate_feature(entry.value) : validate_feature_list(entry.value);
  });
  if (!good) return std::nullopt;
  return entries;
}

// Nothing: the entry is left out. The last key is that of a feature which is not named here.
const std::map<std::string, std::optional<std::string>> kNew = {
    {"a", "b"}, {"b", "a"}, {"c", std::nullopt}, {"label", "label"}, {"", "x"}, {"id", "longer_than_eight"}};
const std::string kTaken = "longer_than_eight";

}  // namespace

void check_rewrite(const std::string& record, unsigned chosen) {
  const bool sequence_example = chosen & 1, keep_others = chosen & 2, strict = chosen & 4;
  EntryRewrite rewrite(sequence_example, keep_others, strict);
  for (const Section section : {Section::kContext, Section::kSequence}) {
    for (const auto& [key, to] : kNew) {
      if (!to)
        rewrite.drop(section, key);
      else if (*to == key)
        rewrite.keep(section, key);
      else
        rewrite.rename(section, key, *to);
    }
  }
  const SharedBuffer buffer = place_input(std::as_bytes(std::span(record)), chosen & 8);
  const wire::Bytes bytes{buffer->data(), record.size()};
  FrameBuffer frames;
  EntryRewrite::Copy copy(rewrite);
  const RewriteFault fault = copy.append(bytes, frames);
  require((fault == RewriteFault::kNone) == (frames.count() == 1), "a frame is missing, or one too many");

  const auto before = read_entries(bytes, sequence_example);
  if (strict && is_other_message(bytes)) {
    require(fault == RewriteFault::kOther, "another message is copied");
    return;
  }
  if (!before) {
    require(fault == RewriteFault::kMalformed || fault == RewriteFault::kTaken, "a malformed record is copied");
    return;
  }
  Entries expected;
  bool is_taken = false, is_changed = false;
  for (const auto& [section, key, value] : *before) {
    const auto found = kNew.find(key);
    const std::optional<std::string> unnamed = keep_others ? std::optional(key) : std::nullopt;
    const std::optional<std::string> to = found == kNew.end() ? unnamed : found->second;
    is_taken |= keep_others && (key == kTaken || key == "x");
    is_changed |= to != key;
    if (to) expected.emplace_back(section, *to, value);
  }
  if (is_taken) {
    require(fault == RewriteFault::kTaken, "two features get one key");
    return;
  }
  require(fault == RewriteFault::kNone, "a record is refused");
  const std::span<const std::byte> written = frames.bytes().subspan(kHeaderBytes, frames.size() - kFrameOverhead);
  require(read_entries({written.data(), written.size()}, sequence_example) == expected, "other entries are written");
  const std::string same(reinterpret_cast<const char*>(written.data()), written.size());
  require(!keep_others || is_changed || same == record, "an unchanged record has other bytes");
}

}  // namespace penstock::tests
