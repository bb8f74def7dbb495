#include "io/salvage_scan.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "core/crc32c/crc32c.h"
#include "core/crc32c/single_bit_error.h"
#include "core/little_endian.h"
#include "io/file_region.h"
#include "io/frame_probe.h"
#include "io/nested_records.h"

namespace penstock {
namespace {

using Frame = FrameProbe::Frame;

// Damaged places take memory. After kManyStretches of them, a scan ends where the next one knows as much; after
// kMaxStretches, it ends anywhere.
constexpr std::size_t kManyStretches = std::size_t{1} << 16;
constexpr std::size_t kMaxStretches = std::size_t{1} << 20;

// How many broken headers are remembered whose payload's end is not known.
constexpr std::size_t kMaxBroken = 4;

// Work that only decides ownership is limited to this many bytes per byte of the region, which bounds the cost of
// hostile files.
constexpr std::uint64_t kMaxWork = 16;

// A header with at most this many wrong bits still counts.
constexpr int kFewBits = 2;

// For frames that are in no chain.
constexpr std::size_t kNoChain = ~std::size_t{0};

bool is_ambiguous(std::uint64_t at, const Frame& frame) { return frame.stop - at == FrameProbe::kAmbiguousFrame; }

class SalvageScanner {
 public:
  SalvageScanner(const std::filesystem::path& path, const SalvageScanOptions& options)
      : path_(path),
        options_(options),
        limit_(std::min(options.max_record_bytes, kLargestRecord)),
        region_(path, options.start, options.stop, options.cancelled),
        frames_(region_, limit_, options.ends_with_file) {}

  SalvageScan run();

 private:
  // An invalid header, and the state at that point.
  struct Broken {
    std::uint64_t at;
    Frame frame;
    std::size_t stretches, chains, first_linked;
    std::uint64_t claimed;
  };

  bool ends_at_declared_length(std::uint64_t at, const Frame& frame);
  bool is_damaged_in_place(std::uint64_t at, const Frame& frame);
  bool may_be_length(std::uint64_t at);
  bool has_crossing_frame(std::uint64_t begin, std::uint64_t stop);
  std::uint64_t check_overlap_before(std::uint64_t start);
  bool has_budget() const;
  bool is_full() const;
  std::uint64_t skip_damage(std::uint64_t at, const Frame& frame);
  bool rewind_to_broken(std::uint64_t stop);
  std::uint64_t take(std::uint64_t at, std::uint64_t stop);
  void add_whole(std::uint64_t at, std::uint64_t stop);
  std::uint64_t add_doubtful(std::uint64_t at);
  void add_records(std::uint64_t at, std::uint64_t stop, std::size_t chain);
  void add_damaged(std::uint64_t at, const Frame& frame);
  void add_lost(std::uint64_t at, std::uint64_t stop, const Frame& frame);
  Chain::Origin origin_of_found(std::uint64_t at) const;
  Chain::Origin origin_after(std::uint64_t at, std::uint64_t stop);
  void start_chain(Chain::Origin origin);
  KnownRecords known_records(const std::vector<bool>& own);
  std::vector<Stretch> classify_stretches();
  void add_other_readings(const Stretch& stretch, std::vector<Stretch>& result);

  const std::filesystem::path& path_;
  const SalvageScanOptions& options_;
  const std::uint64_t limit_;
  FileRegion region_;
  FrameProbe frames_;
  std::vector<Stretch> stretches_;
  std::vector<std::size_t> chain_of_;  // per stretch
  std::vector<Chain> chains_;
  std::size_t first_linked_ = 0;   // the first chain that the last one is linked with
  std::deque<Broken> broken_;      // whose payload may continue, in order
  std::uint64_t claimed_ = 0;      // valid headers claim payloads up to here
  std::uint64_t search_work_ = 0;  // bytes searched for crossing frames
};

SalvageScan SalvageScanner::run() {
  const std::uint64_t stop = region_.stop();
  std::uint64_t at = region_.start();
  start_chain(Chain::Origin::kStart);
  if (options_.starts_at_record) {
    at = check_overlap_before(at);
  } else {
    const std::uint64_t found = frames_.find_whole(at, stop);
    if (found > at) add_lost(at, found, {FaultKind::kLengthChecksum});
    start_chain(Chain::Origin::kFound);
    at = found;
  }
  while (at < stop && !is_full()) {
    const Frame frame = frames_.probe(at);
    if (frame.is_whole()) {
      at = take(at, frame.stop);
    } else if (ends_at_declared_length(at, frame)) {
      if (is_damaged_in_place(at, frame)) {
        add_lost(at, frame.stop, frame);
      } else {
        add_damaged(at, frame);
        start_chain(origin_after(at, frame.stop));
      }
      at = frame.stop;
    } else {
      at = skip_damage(at, frame);
    }
  }
  if (at == stop) chains_.back().reaches_end = options_.ends_with_file;
  std::vector<Stretch> result = classify_stretches();
  return {std::move(result), chains_.size() == 1, region_.work() + search_work_};
}

// The last record before the region may be two headers, the second of which belongs to a whole frame in the region.
// That frame is then doubtful. Returns where to continue.
std::uint64_t SalvageScanner::check_overlap_before(std::uint64_t start) {
  if (start < FrameProbe::kAmbiguousFrame) return start;
  const Frame before = frames_.probe(start - FrameProbe::kAmbiguousFrame);
  if (!before.header_is_valid || before.stop != start) return start;
  const std::uint64_t at = start - kHeaderBytes;
  const Frame frame = frames_.probe(at);
  if (!frame.is_whole() || (is_ambiguous(at, frame) && !frames_.starts_record(frame.stop))) return start;
  start_chain(Chain::Origin::kFound);
  return add_doubtful(at);
}

bool SalvageScanner::is_full() const {
  const bool knows_as_much = chains_[first_linked_].origin == Chain::Origin::kStart;
  return stretches_.size() >= (knows_as_much ? kManyStretches : kMaxStretches);
}

bool SalvageScanner::has_budget() const {
  return region_.work() + search_work_ <= kMaxWork * (region_.stop() - region_.start()) + FileRegion::kWindowBytes;
}

// True if a damaged frame ends where its header says.
bool SalvageScanner::ends_at_declared_length(std::uint64_t at, const Frame& frame) {
  if (!frame.fits) return false;
  if (!frame.header_is_valid && frames_.is_payload(at + kHeaderBytes, frame.stop - kFooterBytes)) return true;
  return frames_.starts_record(frame.stop) && !has_crossing_frame(at + 1, frame.stop);
}

// True if the checksums of a damaged frame show that no bytes were lost or added: the length is intact, or one bit of
// the payload is flipped. Not conclusive for eight bytes that are a length but for one bit: they may be a header with
// one wrong bit.
bool SalvageScanner::is_damaged_in_place(std::uint64_t at, const Frame& frame) {
  const std::uint64_t payload = at + kHeaderBytes, payload_stop = frame.stop - kFooterBytes;
  if (!frame.header_is_valid)
    return load_le64(region_.peek(at, 8)) == payload_stop - payload && frames_.is_payload(payload, payload_stop);
  const std::uint32_t stored = load_le32(region_.peek(payload_stop, kFooterBytes));
  return frame.fault == FaultKind::kDataChecksum && !(is_ambiguous(at, frame) && may_be_length(payload)) &&
         is_single_bit_error(region_.checksum(payload, payload_stop), unmask_crc(stored), payload_stop - payload);
}

// True if eight bytes, with or without one bit flipped, are the length of a payload that fits the region.
bool SalvageScanner::may_be_length(std::uint64_t at) {
  const std::uint64_t space = region_.stop() - std::min(region_.stop(), at + kFrameOverhead);
  const std::uint64_t length = load_le64(region_.peek(at, 8));
  return (length ^ std::bit_floor(length)) <= std::min(limit_, space);
}

// True if a frame starts inside another one, from `begin` on, and ends after its payload, or cannot be in a payload at
// all: then bytes were lost or added, and the outer frame does not end where its header says.
bool SalvageScanner::has_crossing_frame(std::uint64_t begin, std::uint64_t stop) {
  if (!has_budget()) return true;
  const std::uint64_t payload_stop = stop - kFooterBytes;
  search_work_ += stop - begin;
  for (std::uint64_t from = begin; (from = frames_.find_valid_header(from)) < payload_stop;) {
    const Frame frame = frames_.probe(from);
    if (frame.fits && frame.stop > payload_stop) return true;
    if (options_.flat && frame.is_whole()) return true;
    from = frame.is_whole() && !is_ambiguous(from, frame) ? frame.stop : from + 1;
  }
  return false;
}

// Continues after a frame that breaks the chain; returns where.
std::uint64_t SalvageScanner::skip_damage(std::uint64_t at, const Frame& frame) {
  const std::uint64_t stop = region_.stop();
  if (!frame.header_is_valid) {
    if (broken_.size() == kMaxBroken) broken_.pop_front();
    broken_.push_back({at, frame, stretches_.size(), chains_.size(), first_linked_, claimed_});
  }
  std::uint64_t found = at + 1;
  for (;; ++found) {
    found = frames_.find_valid_header(found);
    if (rewind_to_broken(found)) return found;
    if (found == stop || frames_.probe(found).is_whole()) break;
  }
  add_lost(at, found, frame);
  if (frame.header_is_valid) claimed_ = std::max(claimed_, frame.fits ? frame.stop - kFooterBytes : stop);
  start_chain(origin_of_found(found));
  return found;
}

// If the bytes between a broken header and `stop` are a payload with its checksum, that frame ends there, and
// everything found since lies inside it: discards that and returns true.
bool SalvageScanner::rewind_to_broken(std::uint64_t stop) {
  if (stop == region_.stop() && !options_.ends_with_file) return false;
  for (std::size_t i = 0; i < broken_.size() && has_budget(); ++i) {
    const Broken broken = broken_[i];
    const std::uint64_t size = stop - broken.at;
    if (size < kFrameOverhead || size - kFrameOverhead > limit_ ||
        !frames_.is_payload(broken.at + kHeaderBytes, stop - kFooterBytes))
      continue;
    broken_.resize(i);
    stretches_.resize(broken.stretches);
    chain_of_.resize(broken.stretches);
    chains_.resize(broken.chains);
    first_linked_ = broken.first_linked;
    claimed_ = broken.claimed;
    add_lost(broken.at, stop, broken.frame);
    start_chain(origin_after(broken.at, stop));
    return true;
  }
  return false;
}

Chain::Origin SalvageScanner::origin_of_found(std::uint64_t at) const {
  return at < claimed_ ? Chain::Origin::kClaimed : Chain::Origin::kFound;
}

// The origin of a chain after a damaged frame: linked if the header, up to some flipped bits, gives its end.
Chain::Origin SalvageScanner::origin_after(std::uint64_t at, std::uint64_t stop) {
  const bool gives_end = header_bit_errors(region_.peek(at, kHeaderBytes), stop - at - kFrameOverhead) <= kFewBits;
  return gives_end ? Chain::Origin::kLinked : origin_of_found(stop);
}

void SalvageScanner::start_chain(Chain::Origin origin) {
  if (origin != Chain::Origin::kLinked) first_linked_ = chains_.size();
  chains_.push_back({origin});
}

// Adds a whole frame to the chain, or the overlapping frames that start with it; returns where to continue.
//
// Of overlapping frames, every other one is a record if that leads to another record. Otherwise they are doubtful.
std::uint64_t SalvageScanner::take(std::uint64_t at, std::uint64_t stop) {
  const std::uint64_t count = frames_.count_overlapping(at), last_stop = stop + (count - 1) * kHeaderBytes;
  if (count > 1 && (count % 2 == 0 || !frames_.starts_record(last_stop))) {
    add_doubtful(at);
    start_chain(origin_of_found(last_stop));
    return last_stop;
  }
  for (; at < last_stop; at = stop, stop += FrameProbe::kAmbiguousFrame) add_whole(at, stop);
  return last_stop;
}

void SalvageScanner::add_whole(std::uint64_t at, std::uint64_t stop) {
  if (chains_[first_linked_].origin == Chain::Origin::kClaimed && stop > claimed_) {
    // The frame ends after the claimed payload, so it is not inside, and neither are those directly before it.
    if (first_linked_ == chains_.size() - 1)
      chains_[first_linked_].origin = Chain::Origin::kFound;
    else
      start_chain(Chain::Origin::kFound);
  }
  chains_.back().bytes += stop - at;
  add_records(at, stop, chains_.size() - 1);
}

void SalvageScanner::add_records(std::uint64_t at, std::uint64_t stop, std::size_t chain) {
  if (!stretches_.empty() && stretches_.back().kind == StretchKind::kWhole && stretches_.back().stop == at &&
      chain_of_.back() == chain) {
    stretches_.back().stop = stop;
    ++stretches_.back().records;
    return;
  }
  stretches_.push_back({StretchKind::kWhole, at, stop, 1, {}});
  chain_of_.push_back(chain);
}

// Adds the whole frame at `at`, and those that overlap from it on, as doubtful; returns where the last one ends.
std::uint64_t SalvageScanner::add_doubtful(std::uint64_t at) {
  const std::uint64_t size = frames_.probe(at).stop - at, count = frames_.count_overlapping(at);
  for (const std::uint64_t first : {0, 1})
    for (std::uint64_t i = first; i < count; i += 2)
      add_records(at + i * kHeaderBytes, at + i * kHeaderBytes + size, kNoChain);
  return at + (count - 1) * kHeaderBytes + size;
}

// Adds a frame whose end is known, but which may lack bytes and contain some of the next records: it is unknown whether
// the whole frames in it belong to its payload.
void SalvageScanner::add_damaged(std::uint64_t at, const Frame& frame) {
  const std::uint64_t payload = at + kHeaderBytes, payload_stop = frame.stop - kFooterBytes;
  std::uint64_t lost = at;
  if (!frames_.is_payload(payload, payload_stop)) {
    search_work_ += frame.stop - at;
    for (std::uint64_t from = at + 1;
         (from = frames_.find_whole(from, payload_stop)) < payload_stop && stretches_.size() < kMaxStretches;
         lost = from) {
      if (from > lost) add_lost(lost, from, frame);
      from = add_doubtful(from);
    }
  }
  add_lost(lost, frame.stop, frame);
}

void SalvageScanner::add_lost(std::uint64_t at, std::uint64_t stop, const Frame& frame) {
  stretches_.push_back({StretchKind::kLost, at, stop, 0, {frame.fault, at, 0, frame.need, region_.stop() - at}});
  chain_of_.push_back(chains_.size() - 1);
}

// Examines the whole frames among the consecutive frames of [at, stop).
void add_known(KnownRecords& known, FileRegion& region, FrameProbe& frames, std::uint64_t at, std::uint64_t stop) {
  const std::uint64_t max_work = region.work() + kMaxWork * (stop - at) + FileRegion::kWindowBytes;
  for (Frame frame; at < stop && !known.contain_records; at = frame.stop) {
    frame = frames.probe(at);
    if (!frame.is_whole()) continue;  // its payload was not checked before
    // Assume the worst if it takes too long.
    known.contain_records = frames.find_whole(at + 1, frame.stop) < frame.stop || region.work() > max_work;
    known.longest = std::max(known.longest, frame.stop - at);
    ++known.count;
  }
}

KnownRecords SalvageScanner::known_records(const std::vector<bool>& own) {
  KnownRecords known;
  for (std::size_t i = 0; i < stretches_.size(); ++i)
    if (stretches_[i].kind == StretchKind::kWhole && chain_of_[i] != kNoChain && own[chain_of_[i]])
      add_known(known, region_, frames_, stretches_[i].start, stretches_[i].stop);
  if (options_.known_from < region_.start()) {
    FileRegion before(path_, options_.known_from, region_.start(), options_.cancelled);
    FrameProbe frames(before, limit_, true);
    add_known(known, before, frames, before.start(), before.stop());
  }
  return known;
}

std::vector<Stretch> SalvageScanner::classify_stretches() {
  std::vector<bool> own = find_own(chains_, limit_);
  if (options_.flat) own.assign(chains_.size(), true);
  if (options_.by_length && std::ranges::find(own, false) != own.end())
    add_likely_own(chains_, known_records(own), own);
  std::vector<Stretch> result;
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    Stretch& stretch = result.emplace_back(stretches_[i]);
    if (stretch.kind != StretchKind::kWhole || (chain_of_[i] != kNoChain && own[chain_of_[i]])) continue;
    stretch.kind = StretchKind::kDoubtful;
    if (chain_of_[i] != kNoChain) add_other_readings(stretches_[i], result);
  }
  return result;
}

// If the owner of the frames is in doubt, so is which of the overlapping frames that take() chose from are records.
void SalvageScanner::add_other_readings(const Stretch& stretch, std::vector<Stretch>& result) {
  for (std::uint64_t at = stretch.start; at < stretch.stop;) {
    const std::uint64_t count = frames_.count_overlapping(at), others = count / 2;
    const std::uint64_t first = at + kHeaderBytes;
    if (others > 0)
      result.push_back({StretchKind::kDoubtful, first, first + others * FrameProbe::kAmbiguousFrame, others, {}});
    at = frames_.probe(at).stop + (count - 1) * kHeaderBytes;
  }
}

}  // namespace

SalvageScan salvage_scan(const std::filesystem::path& path, const SalvageScanOptions& options) {
  return SalvageScanner(path, options).run();
}

}  // namespace penstock
