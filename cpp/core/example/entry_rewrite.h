// Copies Examples and SequenceExamples with some features left out or under other keys, without decoding a value.
//
// Whatever is not touched keeps its bytes, however they are encoded: entries, their order, repeated keys, unknown
// fields. A renamed entry gets its new key, then its other fields as they are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/example/map_entries.h"
#include "core/frame_buffer.h"

namespace penstock {

enum class RewriteFault : std::uint8_t {
  kNone,
  kMalformed,  // the bytes are no Example
  kOther,      // they are another message
  kTaken,      // a feature that nobody named has a key that another feature would get
};

// What happens to the features of a record. Immutable, so threads may share it.
class EntryRewrite {
 public:
  // With `keep_others`, entries with keys that are not named stay, and so do unknown fields. With `strict`, a record
  // that is another message is a fault.
  EntryRewrite(bool sequence_example, bool keep_others, bool strict)
      : sequence_example_(sequence_example), keep_others_(keep_others), strict_(strict) {}

  // Name what happens to a key: each key once, and all renamed ones before the first record.
  void keep(Section section, const std::string& key) { change(section, key, {Action::kKeep, {}}); }
  void drop(Section section, const std::string& key) { change(section, key, {Action::kDrop, {}}); }
  void rename(Section section, const std::string& key, const std::string& new_key);

  // A copy of one record after another into frames; for one thread.
  class Copy {
   public:
    explicit Copy(const EntryRewrite& rewrite) : rewrite_(rewrite) {}
    // Adds a frame unless there is a fault.
    RewriteFault append(wire::Bytes record, FrameBuffer& frames);

   private:
    // Bytes to copy, or where `data` is null a varint to write: `size` is its value.
    struct Piece {
      const std::byte* data;
      std::size_t size;
    };
    using Pieces = std::vector<Piece>;

    RewriteFault gather(wire::Bytes record);
    RewriteFault gather_map(Section section, wire::Bytes map, bool& changed);
    static std::size_t add(Pieces& pieces, const std::byte* begin, const std::byte* end);

    const EntryRewrite& rewrite_;
    Pieces record_, map_;
    std::size_t record_bytes_ = 0, map_bytes_ = 0;
    Joined joined_;
  };

 private:
  enum class Action : std::uint8_t { kKeep, kDrop, kRename, kTaken };
  struct Change {
    Action action;
    std::string key_field;  // the new key as a field of an entry
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  void change(Section section, const std::string& key, Change change) {
    changes_[static_cast<std::size_t>(section) - 1].insert_or_assign(key, std::move(change));
  }
  const Change& find(Section section, wire::Bytes key) const;

  bool sequence_example_, keep_others_, strict_;
  std::unordered_map<std::string, Change, Hash, std::equal_to<>> changes_[2];
};

}  // namespace penstock
