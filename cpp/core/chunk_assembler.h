// Joins blocks of bytes, in order, into chunks of whole records.
//
// The blocks may be cut anywhere. Each lies in a buffer with head room before it, so that the piece of a record that
// the last block ended with is copied in front of it and the record is in one piece; a record too long for that is
// gathered in a buffer of its own, which grows with the bytes that really come (at most twice as fast), not with the
// length that its header claims.
//
// Not thread-safe: blocks have an order. Payload checksums may be left to verify(), which needs none and runs in
// parallel.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/block_scan.h"
#include "core/chunk.h"

namespace penstock {

struct ChunkAssemblerOptions {
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  std::optional<std::uint64_t> input_end;  // offset where the input ends, when that is known
  std::uint64_t start_offset = 0;          // offset of the first byte of the first block
  std::uint64_t start_record = 0;
  std::shared_ptr<const std::string> source;  // the input's name, carried along in chunks
  bool verify = false;                        // check payloads too, at once
};

using Event = std::variant<Chunk, Fault>;

class ChunkAssembler {
 public:
  explicit ChunkAssembler(const ChunkAssemblerOptions& options)
      : options_(options), offset_(options.start_offset), record_(options.start_record) {}

  // Takes the block [begin, end) of `buffer`; buffer bytes before `begin` are head room, or the last block. Appends
  // what is complete to `events`, whose last chunk grows where it is of the same buffer. After a fault, blocks are
  // ignored.
  void add(const SharedBuffer& buffer, std::size_t begin, std::size_t end, std::vector<Event>& events);

  // Takes the frames of the block that were walked ahead, if it goes on with them; else answers false. They are one
  // chunk of their own.
  bool add_scanned(const SharedBuffer& buffer, const BlockScan& scanned, std::vector<Event>& events);

  // The input is over: a record that is still incomplete is a fault.
  void finish(std::vector<Event>& events);

  bool failed() const { return failed_; }

  // Number of the record that comes next.
  std::uint64_t record() const { return record_; }

  // Where it starts.
  std::uint64_t offset() const { return offset_; }

 private:
  struct Tail {
    SharedBuffer buffer;
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  void walk(const SharedBuffer& buffer, std::size_t begin, std::size_t end, std::vector<Event>& events);
  WalkResult walk_to_damage(const SharedBuffer& buffer, std::size_t begin, std::size_t end, std::vector<Event>& events);
  std::shared_ptr<std::vector<Span>> spans_for(const SharedBuffer& buffer, const std::vector<Event>& events);
  void start_long_record();
  std::size_t extend_long_record(const std::byte* data, std::size_t size);
  void fail(FaultKind kind, std::uint64_t need, std::uint64_t have, std::vector<Event>& events);

  ChunkAssemblerOptions options_;
  std::uint64_t offset_;  // of the frame that comes next
  std::uint64_t record_;
  Tail tail_;                 // the start of that frame, where the last block ended inside it
  bool long_record_ = false;  // tail_.buffer is a buffer of our own that the record grows in
  std::uint64_t need_ = 0;    // with a tail: the bytes that would complete it
  bool failed_ = false;
  std::shared_ptr<std::vector<Span>> spans_;  // of the last chunk
};

// Appends an event; a chunk that goes on where the last one ends is joined to it.
void append(Event event, std::vector<Event>& events);

// Checks the payloads of a chunk and appends it to `events`, split around the records that are damaged, each of which
// becomes a fault. A fault passes through.
void verify(const Event& event, std::vector<Event>& events);

}  // namespace penstock
