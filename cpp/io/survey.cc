#include "io/survey.h"

#include <algorithm>
#include <deque>

#include "core/bytes.h"
#include "core/crc32c/crc32c.h"
#include "core/crc32c/one_bit.h"
#include "io/chains.h"
#include "io/region.h"

namespace penstock {
namespace {

// What is known about each damaged place takes memory: behind so many of them a survey ends where it can go on, and
// behind so many more it gives the rest up.
constexpr std::size_t kManyStretches = std::size_t{1} << 16;
constexpr std::size_t kMostStretches = std::size_t{1} << 20;

// Of so many broken headers it is remembered that the end of their payload is not known.
constexpr std::size_t kMostBroken = 4;

// What is not needed to find whole frames, but settles whose they are, is done for so many bytes for each of the
// region's: hostile files cost no more.
constexpr std::uint64_t kMostWork = 16;

// With so many wrong bits, a header still tells what it told.
constexpr int kFewBits = 2;

// Of frames that are in no chain.
constexpr std::size_t kNoChain = ~std::size_t{0};

// A frame as its header describes it.
struct Frame {
  FaultKind fault = FaultKind::kNone;
  bool header_is_sound = false;
  bool fits = false;       // it ends inside the region; without a sound header, perhaps
  std::uint64_t stop = 0;  // where it ends, or would end, but not beyond the region
  std::uint64_t need = 0;  // as in Fault
};

class Surveyor {
 public:
  Surveyor(const std::filesystem::path& path, const SurveyOptions& options)
      : options_(options),
        limit_(std::min(options.max_record_bytes, kLargestRecord)),
        region_(path, options.start, options.stop, options.cancelled) {}

  Survey run();

 private:
  // A header that cannot be read, and what was known there.
  struct Broken {
    std::uint64_t at;
    Frame frame;
    std::size_t stretches, chains, first_linked;
    std::uint64_t claimed;
  };

  Frame judge(std::uint64_t at);
  Frame guess(std::uint64_t at, const std::byte* header);
  bool ends_as_it_says(std::uint64_t at, const Frame& frame);
  bool is_hurt_in_place(std::uint64_t at, const Frame& frame);
  bool is_payload(std::uint64_t begin, std::uint64_t end);
  bool starts_record(std::uint64_t at);
  bool is_crossed(std::uint64_t begin, std::uint64_t stop);
  bool is_zero(std::uint64_t at);
  bool has_patience() const;
  bool is_full() const;
  std::uint64_t find_sound(std::uint64_t from);
  std::uint64_t find_whole(std::uint64_t from, std::uint64_t before);
  std::uint64_t cross(std::uint64_t at, const Frame& frame);
  bool goes_back_to_broken(std::uint64_t stop);
  void add_whole(std::uint64_t at, std::uint64_t stop);
  void add_records(std::uint64_t at, std::uint64_t stop, std::size_t chain);
  void add_damaged(std::uint64_t at, const Frame& frame);
  void add_lost(std::uint64_t at, std::uint64_t stop, const Frame& frame);
  Chain::Ground ground_of_found(std::uint64_t at) const;
  Chain::Ground ground_behind(std::uint64_t at, std::uint64_t stop);
  void start_chain(Chain::Ground ground);
  void tell_owners();

  const SurveyOptions& options_;
  const std::uint64_t limit_;
  Region region_;
  std::vector<Stretch> stretches_;
  std::vector<std::size_t> chain_of_;  // of each stretch
  std::vector<Chain> chains_;
  std::size_t first_linked_ = 0;  // of the chains, the first that the last one is linked with
  std::deque<Broken> broken_;     // those whose payload may go on, in order
  std::uint64_t claimed_ = 0;     // up to here, headers that check themselves claim payloads
  std::uint64_t crossed_ = 0;     // bytes that were searched for frames that cross others
};

Survey Surveyor::run() {
  const std::uint64_t stop = region_.stop();
  std::uint64_t at = region_.start();
  start_chain(Chain::Ground::kStart);
  if (!options_.starts_at_record) {
    const std::uint64_t found = find_whole(at, stop);
    if (found > at) add_lost(at, found, {FaultKind::kLengthChecksum});
    start_chain(Chain::Ground::kFound);
    at = found;
  }
  while (at < stop && !is_full()) {
    const Frame frame = judge(at);
    if (frame.fault == FaultKind::kNone) {
      add_whole(at, frame.stop);
      at = frame.stop;
    } else if (ends_as_it_says(at, frame)) {
      if (is_hurt_in_place(at, frame)) {
        add_lost(at, frame.stop, frame);
      } else {
        add_damaged(at, frame);
        start_chain(ground_behind(at, frame.stop));
      }
      at = frame.stop;
    } else {
      at = cross(at, frame);
    }
  }
  if (at == stop)
    chains_.back().reaches_end = options_.ends_with_file;
  else if (chains_[first_linked_].ground != Chain::Ground::kStart)
    add_lost(at, stop, {FaultKind::kLengthChecksum});
  if (!options_.flat) tell_owners();
  return {std::move(stretches_), chains_.size() == 1, region_.work() + crossed_};
}

bool Surveyor::is_full() const {
  const bool can_go_on = chains_[first_linked_].ground == Chain::Ground::kStart;
  return stretches_.size() >= (can_go_on ? kManyStretches : kMostStretches);
}

bool Surveyor::has_patience() const {
  return region_.work() + crossed_ <= kMostWork * (region_.stop() - region_.start()) + Region::kWindowBytes;
}

Frame Surveyor::judge(std::uint64_t at) {
  const std::uint64_t stop = region_.stop(), left = stop - at;
  if (left < kHeaderBytes) return {FaultKind::kTruncatedHeader, false, false, stop, kHeaderBytes};
  const std::byte* header = region_.look(at, kHeaderBytes);
  if (!header_is_sound(header)) return guess(at, header);
  const std::uint64_t length = load_le64(header);
  const bool fits = left >= kFrameOverhead && length <= left - kFrameOverhead;
  const std::uint64_t frame_stop = fits ? at + length + kFrameOverhead : stop;
  if (length > limit_) return {FaultKind::kTooLarge, true, fits, frame_stop, length};
  if (!fits) return {FaultKind::kTruncatedRecord, true, false, stop, length + kFrameOverhead};
  const bool matches = is_payload(at + kHeaderBytes, frame_stop - kFooterBytes);
  return {matches ? FaultKind::kNone : FaultKind::kDataChecksum, true, true, frame_stop, length + kFrameOverhead};
}

// A header that does not check itself may still hold the length: as it was, or with one bit changed.
Frame Surveyor::guess(std::uint64_t at, const std::byte* header) {
  const std::uint64_t left = region_.stop() - at, length = corrected_length(header);
  if (is_zero(at) || length > limit_ || left < kFrameOverhead || length > left - kFrameOverhead)
    return {FaultKind::kLengthChecksum, false, false, region_.stop(), 0};
  return {FaultKind::kLengthChecksum, false, true, at + length + kFrameOverhead, 0};
}

// True when a damaged frame ends where its header says.
bool Surveyor::ends_as_it_says(std::uint64_t at, const Frame& frame) {
  if (!frame.fits) return false;
  if (!frame.header_is_sound && is_payload(at + kHeaderBytes, frame.stop - kFooterBytes)) return true;
  return starts_record(frame.stop) && !is_crossed(frame.header_is_sound ? at + kHeaderBytes : at + 1, frame.stop);
}

// True when the checksums of a damaged frame show that no byte of it is missing or too many: its length is as it was,
// or one bit of its payload is not.
bool Surveyor::is_hurt_in_place(std::uint64_t at, const Frame& frame) {
  const std::uint64_t payload = at + kHeaderBytes, payload_stop = frame.stop - kFooterBytes;
  if (!frame.header_is_sound)
    return load_le64(region_.probe(at, 8)) == payload_stop - payload && is_payload(payload, payload_stop);
  const std::uint32_t stored = load_le32(region_.probe(payload_stop, kFooterBytes));
  return frame.fault == FaultKind::kDataChecksum &&
         is_one_bit_off(region_.checksum(payload, payload_stop), unmask_crc(stored), payload_stop - payload);
}

// True when the four bytes at `end` are the checksum of [begin, end).
bool Surveyor::is_payload(std::uint64_t begin, std::uint64_t end) {
  return mask_crc(region_.checksum(begin, end)) == load_le32(region_.probe(end, kFooterBytes));
}

// True when a header checks itself, or a payload shows where its header was; or when the file ends.
bool Surveyor::starts_record(std::uint64_t at) {
  if (at == region_.stop()) return options_.ends_with_file;
  if (region_.stop() - at < kHeaderBytes) return false;
  const std::byte* header = region_.probe(at, kHeaderBytes);
  if (header_is_sound(header)) return true;
  const Frame frame = guess(at, header);
  return frame.fits && is_payload(at + kHeaderBytes, frame.stop - kFooterBytes);
}

// True when a frame starts inside another one, from `begin` on, and ends behind its payload, or could not be in a
// payload at all: then bytes are missing or too many, and the other one does not end where its header says.
bool Surveyor::is_crossed(std::uint64_t begin, std::uint64_t stop) {
  if (!has_patience()) return true;
  const std::uint64_t payload_stop = stop - kFooterBytes;
  crossed_ += stop - begin;
  for (std::uint64_t from = begin; (from = find_sound(from)) < payload_stop;) {
    const Frame frame = judge(from);
    if (frame.fits && frame.stop > payload_stop) return true;
    if (options_.flat && frame.fault == FaultKind::kNone) return true;
    from = frame.fault == FaultKind::kNone ? frame.stop : from + 1;
  }
  return false;
}

// True when zeros stand where a header should: a block that was never written.
bool Surveyor::is_zero(std::uint64_t at) {
  if (region_.stop() - at < kHeaderBytes) return false;
  const std::byte* header = region_.probe(at, kHeaderBytes);
  return std::all_of(header, header + kHeaderBytes, [](std::byte b) { return b == std::byte{0}; });
}

// The first header at or after `from` that checks itself; the region's end where there is none.
std::uint64_t Surveyor::find_sound(std::uint64_t from) {
  const std::uint64_t stop = region_.stop();
  while (from < stop && stop - from >= kFrameOverhead) {
    const std::size_t size = region_.at_hand(from, 4 * kHeaderBytes);
    const std::size_t at = find_header({region_.look(from, size), size}, 0);
    if (at < size) return from + at;
    // The last bytes may be the start of a header that the next ones complete.
    from += size - (kHeaderBytes - 1);
  }
  return stop;
}

// The first whole frame that starts at or after `from`, and before `before`; the region's end where there is none.
std::uint64_t Surveyor::find_whole(std::uint64_t from, std::uint64_t before) {
  while ((from = find_sound(from)) < before) {
    if (judge(from).fault == FaultKind::kNone) return from;
    ++from;
  }
  return region_.stop();
}

// Goes on behind a frame that breaks the chain; answers where.
std::uint64_t Surveyor::cross(std::uint64_t at, const Frame& frame) {
  const std::uint64_t stop = region_.stop();
  if (!frame.header_is_sound) {
    if (broken_.size() == kMostBroken) broken_.pop_front();
    broken_.push_back({at, frame, stretches_.size(), chains_.size(), first_linked_, claimed_});
  }
  std::uint64_t found = frame.header_is_sound ? at + kHeaderBytes : at + 1;
  for (;; ++found) {
    found = find_sound(found);
    if (goes_back_to_broken(found)) return found;
    if (found == stop || judge(found).fault == FaultKind::kNone) break;
  }
  add_lost(at, found, frame);
  if (frame.header_is_sound) claimed_ = std::max(claimed_, frame.fits ? frame.stop - kFooterBytes : stop);
  start_chain(ground_of_found(found));
  return found;
}

// Where the bytes between a broken header and `stop` are a payload with its checksum, that frame ends there, and all
// that was found since lies inside: forgets it, and answers true.
bool Surveyor::goes_back_to_broken(std::uint64_t stop) {
  if (stop == region_.stop() && !options_.ends_with_file) return false;
  for (std::size_t i = 0; i < broken_.size() && has_patience(); ++i) {
    const Broken broken = broken_[i];
    const std::uint64_t size = stop - broken.at;
    if (size < kFrameOverhead || size - kFrameOverhead > limit_ ||
        !is_payload(broken.at + kHeaderBytes, stop - kFooterBytes))
      continue;
    broken_.resize(i);
    stretches_.resize(broken.stretches);
    chain_of_.resize(broken.stretches);
    chains_.resize(broken.chains);
    first_linked_ = broken.first_linked;
    claimed_ = broken.claimed;
    add_lost(broken.at, stop, broken.frame);
    start_chain(ground_behind(broken.at, stop));
    return true;
  }
  return false;
}

Chain::Ground Surveyor::ground_of_found(std::uint64_t at) const {
  return at < claimed_ ? Chain::Ground::kClaimed : Chain::Ground::kFound;
}

// Of a chain behind a damaged frame: they are linked where its header, but for some flipped bits, tells its end.
Chain::Ground Surveyor::ground_behind(std::uint64_t at, std::uint64_t stop) {
  const bool tells_end = bits_off_header(region_.probe(at, kHeaderBytes), stop - at - kFrameOverhead) <= kFewBits;
  return tells_end ? Chain::Ground::kLinked : ground_of_found(stop);
}

void Surveyor::start_chain(Chain::Ground ground) {
  if (ground != Chain::Ground::kLinked) first_linked_ = chains_.size();
  chains_.push_back({ground});
}

void Surveyor::add_whole(std::uint64_t at, std::uint64_t stop) {
  if (chains_[first_linked_].ground == Chain::Ground::kClaimed && stop > claimed_) {
    // The frame reaches beyond the payload that is claimed, so it does not lie inside, nor do those right before it.
    if (first_linked_ == chains_.size() - 1)
      chains_[first_linked_].ground = Chain::Ground::kFound;
    else
      start_chain(Chain::Ground::kFound);
  }
  chains_.back().bytes += stop - at;
  add_records(at, stop, chains_.size() - 1);
}

void Surveyor::add_records(std::uint64_t at, std::uint64_t stop, std::size_t chain) {
  if (!stretches_.empty() && stretches_.back().kind == StretchKind::kWhole && chain_of_.back() == chain) {
    stretches_.back().stop = stop;
    ++stretches_.back().records;
    return;
  }
  stretches_.push_back({StretchKind::kWhole, at, stop, 1, {}});
  chain_of_.push_back(chain);
}

// A frame that tells its end, but perhaps lacks bytes, and has some of the next records where they were: whether the
// whole frames in it are those of its payload, nobody can know.
void Surveyor::add_damaged(std::uint64_t at, const Frame& frame) {
  const std::uint64_t payload = at + kHeaderBytes, payload_stop = frame.stop - kFooterBytes;
  std::uint64_t lost = at;
  if (!is_payload(payload, payload_stop)) {
    crossed_ += frame.stop - at;
    for (std::uint64_t from = frame.header_is_sound ? payload : at + 1;
         (from = find_whole(from, payload_stop)) < payload_stop && stretches_.size() < kMostStretches; lost = from) {
      const std::uint64_t stop = judge(from).stop;
      if (from > lost) add_lost(lost, from, frame);
      add_records(from, stop, kNoChain);
      from = stop;
    }
  }
  add_lost(lost, frame.stop, frame);
}

void Surveyor::add_lost(std::uint64_t at, std::uint64_t stop, const Frame& frame) {
  stretches_.push_back({StretchKind::kLost, at, stop, 0, {frame.fault, at, 0, frame.need, region_.stop() - at}});
  chain_of_.push_back(chains_.size() - 1);
}

void Surveyor::tell_owners() {
  const std::vector<bool> own = are_own(chains_, limit_);
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    const bool is_own = chain_of_[i] != kNoChain && own[chain_of_[i]];
    if (stretches_[i].kind == StretchKind::kWhole && !is_own) stretches_[i].kind = StretchKind::kDoubtful;
  }
}

}  // namespace

Survey survey(const std::filesystem::path& path, const SurveyOptions& options) { return Surveyor(path, options).run(); }

}  // namespace penstock
