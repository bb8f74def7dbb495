#include "core/example/entry_rewrite.h"

#include <cstring>

#include "core/example/feature.h"
#include "core/example/varint.h"

namespace penstock {
namespace {

// Calls visit(begin, end) for each field of an entry but its key; the entry is well-formed.
template <typename Visit>
void visit_all_but_key(wire::Bytes entry, Visit&& visit) {
  wire::Cursor cursor(entry);
  while (!cursor.done()) {
    const std::byte* start = cursor.p;
    wire::Tag tag;
    if (!cursor.read_tag(tag) || !cursor.skip(tag.type)) return;
    if (tag.field != 1 || tag.type != wire::Type::kLength) visit(start, cursor.p);
  }
}

wire::Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

}  // namespace

void EntryRewrite::rename(Section section, const std::string& key, const std::string& new_key) {
  std::string field(1 + varint_size(new_key.size()), '\x0A');
  put_varint(reinterpret_cast<std::byte*>(field.data()) + 1, new_key.size());
  change(section, key, {Action::kRename, field + new_key});
  // Unless the feature that has this key now is named, too.
  changes_[static_cast<std::size_t>(section) - 1].try_emplace(new_key, Change{Action::kTaken, {}});
}

const EntryRewrite::Change& EntryRewrite::find(Section section, wire::Bytes key) const {
  static const Change kept{Action::kKeep, {}}, dropped{Action::kDrop, {}};
  const auto& changes = changes_[static_cast<std::size_t>(section) - 1];
  const auto found = changes.find(std::string_view(reinterpret_cast<const char*>(key.data), key.size));
  if (found == changes.end()) return keep_others_ ? kept : dropped;
  return found->second.action == Action::kTaken && !keep_others_ ? dropped : found->second;
}

RewriteFault EntryRewrite::Copy::append(wire::Bytes record, FrameBuffer& frames) {
  if (rewrite_.strict_ && is_other_message(record)) return RewriteFault::kOther;
  record_.clear();
  record_bytes_ = 0;
  const RewriteFault fault = gather(record);
  if (fault != RewriteFault::kNone) return fault;
  frames.append_written(record_bytes_, [&](std::byte* out) {
    for (const Piece piece : record_) {
      if (piece.data == nullptr) {
        out = put_varint(out, piece.size);
      } else {
        std::memcpy(out, piece.data, piece.size);
        out += piece.size;
      }
    }
    return true;
  });
  return fault;
}

// Adds bytes to copy, to those that they follow where possible; returns how many.
std::size_t EntryRewrite::Copy::add(Pieces& pieces, const std::byte* begin, const std::byte* end) {
  const auto size = static_cast<std::size_t>(end - begin);
  if (size == 0) return 0;
  if (!pieces.empty() && pieces.back().data != nullptr && pieces.back().data + pieces.back().size == begin)
    pieces.back().size += size;
  else
    pieces.push_back({begin, size});
  return size;
}

RewriteFault EntryRewrite::Copy::gather(wire::Bytes record) {
  wire::Cursor top(record);
  while (!top.done()) {
    const std::byte* start = top.p;
    wire::Tag tag;
    if (!top.read_tag(tag)) return RewriteFault::kMalformed;
    const bool is_map =
        tag.type == wire::Type::kLength && (tag.field == 1 || (tag.field == 2 && rewrite_.sequence_example_));
    if (!is_map) {
      if (!top.skip(tag.type)) return RewriteFault::kMalformed;
      if (rewrite_.keep_others_) record_bytes_ += add(record_, start, top.p);
      continue;
    }
    const std::byte* after_tag = top.p;
    wire::Bytes map;
    if (!top.read_bytes(map)) return RewriteFault::kMalformed;
    map_.clear();
    map_bytes_ = 0;
    bool changed = false;
    const RewriteFault fault = gather_map(static_cast<Section>(tag.field), map, changed);
    if (fault != RewriteFault::kNone) return fault;
    if (!changed) {
      record_bytes_ += add(record_, start, top.p);
      continue;
    }
    record_bytes_ += add(record_, start, after_tag) + varint_size(map_bytes_) + map_bytes_;
    record_.push_back({nullptr, map_bytes_});
    record_.insert(record_.end(), map_.begin(), map_.end());
  }
  return RewriteFault::kNone;
}

RewriteFault EntryRewrite::Copy::gather_map(Section section, wire::Bytes bytes, bool& changed) {
  wire::Cursor map(bytes);
  while (!map.done()) {
    const std::byte* start = map.p;
    wire::Tag tag;
    if (!map.read_tag(tag)) return RewriteFault::kMalformed;
    if (tag.field != 1 || tag.type != wire::Type::kLength) {
      if (!map.skip(tag.type)) return RewriteFault::kMalformed;
      if (rewrite_.keep_others_)
        map_bytes_ += add(map_, start, map.p);
      else
        changed = true;
      continue;
    }
    const std::byte* after_tag = map.p;
    wire::Bytes whole;
    MapEntry entry;
    if (!map.read_bytes(whole) || !read_entry(whole, entry, joined_)) return RewriteFault::kMalformed;
    const bool good = section == Section::kContext ? validate_feature(entry.value) : validate_feature_list(entry.value);
    if (!good) return RewriteFault::kMalformed;
    const Change& change = rewrite_.find(section, entry.key);
    switch (change.action) {
      case Action::kKeep:
        map_bytes_ += add(map_, start, map.p);
        break;
      case Action::kDrop:
        changed = true;
        break;
      case Action::kTaken:
        return RewriteFault::kTaken;
      case Action::kRename: {
        changed = true;
        const wire::Bytes key = bytes_of(change.key_field);
        std::size_t size = key.size;
        visit_all_but_key(
            whole, [&](const std::byte* from, const std::byte* to) { size += static_cast<std::size_t>(to - from); });
        map_bytes_ += add(map_, start, after_tag) + varint_size(size) + size;
        map_.push_back({nullptr, size});
        add(map_, key.data, key.end());
        visit_all_but_key(whole, [&](const std::byte* from, const std::byte* to) { add(map_, from, to); });
        break;
      }
    }
  }
  return RewriteFault::kNone;
}

}  // namespace penstock
