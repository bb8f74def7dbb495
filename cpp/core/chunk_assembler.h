// Joins blocks of bytes, in order, into chunks of whole records.
//
// Blocks may end anywhere. Each lies in a buffer with headroom before it: the start of a record from the previous block
// is copied there, so that the record is contiguous. A longer record gets a buffer of its own, which grows with the
// bytes that arrive (at most twice as fast), not with the length that its header claims.
//
// Not thread-safe, since blocks must come in order. Payload checksums can be left to verify(), which may run in
// parallel.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/block_scan.h"
#include "core/chunk.h"

namespace penstock {

struct ChunkAssemblerOptions {
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  std::optional<std::uint64_t> input_end;  // offset where the input ends, if known
  std::uint64_t start_offset = 0;          // offset of the first byte of the first block
  std::uint64_t start_record = 0;
  std::shared_ptr<const std::string> source;  // the input's name, stored in chunks
  bool verify = false;                        // also check payloads
  bool defers_copies = false;                 // take_copy() is called after each block; not with `verify`
};

// The start of a record, to be copied in front of the block that contains the rest of it.
struct DeferredCopy {
  SharedBuffer from, to;
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::size_t size = 0;

  void run() {
    if (size != 0) std::memcpy(target, source, std::exchange(size, 0));
  }
};

using Event = std::variant<Chunk, Fault>;

class ChunkAssembler {
 public:
  explicit ChunkAssembler(const ChunkAssemblerOptions& options)
      : options_(options), offset_(options.start_offset), record_(options.start_record) {}

  // Adds the block [begin, end) of `buffer`. The bytes before `begin` are headroom, or the previous block. Appends
  // complete records to `events`; its last chunk grows if it has the same buffer. After a fault, blocks are ignored.
  void add(const SharedBuffer& buffer, std::size_t begin, std::size_t end, std::vector<Event>& events);

  // Adds the frames found by scan_block(), as a chunk of their own, if a frame starts where the scan began. Otherwise
  // returns false.
  bool add_scanned(const SharedBuffer& buffer, const BlockScan& scanned, std::vector<Event>& events);

  // Returns the copy that makes the first record of the last block whole, if any. The threads that read blocks run it
  // in parallel: for large records, it takes longer than all that must be done in the order of the blocks.
  DeferredCopy take_copy();

  // Ends the input: a record that is still incomplete is a fault.
  void finish(std::vector<Event>& events);

  bool failed() const { return failed_; }

  // Number of the next record.
  std::uint64_t record() const { return record_; }

  // Offset of the next record's frame.
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
  void copy_tail(const SharedBuffer& buffer, std::byte* target);
  std::size_t extend_long_record(const std::byte* data, std::size_t size);
  void fail(FaultKind kind, std::uint64_t need, std::uint64_t have, std::vector<Event>& events);

  ChunkAssemblerOptions options_;
  std::uint64_t offset_;  // of the next frame
  std::uint64_t record_;
  Tail tail_;                 // the start of that frame, if the last block ended inside it
  bool long_record_ = false;  // tail_.buffer is our own, and grows with the record
  std::uint64_t need_ = 0;    // with a tail: the bytes that complete it
  bool failed_ = false;
  DeferredCopy copy_;
  std::shared_ptr<std::vector<Span>> spans_;  // of the last chunk
};

// Appends an event, merging a chunk that continues the last one into it.
void append(Event event, std::vector<Event>& events);

// Checks the payloads of a chunk and appends it to `events`, split around damaged records, each of which becomes a
// fault. Passes faults through.
void verify(const Event& event, std::vector<Event>& events);

}  // namespace penstock
