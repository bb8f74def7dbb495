#include "io/survey.h"

#include <algorithm>

#include "core/bytes.h"
#include "core/crc32c/crc32c.h"
#include "io/region.h"

namespace penstock {
namespace {

// What is known about each damaged place takes memory: behind so many of them a survey ends where it can go on, and
// behind so many more it gives the rest up.
constexpr std::size_t kManyStretches = std::size_t{1} << 16;
constexpr std::size_t kMostStretches = std::size_t{1} << 20;

// Payload bytes in which TFRecords are looked for.
constexpr std::uint64_t kLookInside = std::uint64_t{4} << 20;

// A frame as its header describes it.
struct Frame {
  FaultKind fault = FaultKind::kNone;
  bool header_is_sound = false;
  bool fits = false;       // it ends inside the region
  std::uint64_t stop = 0;  // where it ends, or would end, but not beyond the region
  std::uint64_t need = 0;  // as in Fault
};

// Frames that follow each other.
struct Chain {
  enum class Ground : std::uint8_t {
    kCertain,  // the chain starts where a record is known to start
    kPassed,   // it starts behind a payload that does not match its checksum, where the header says that it ends
    kSearch,   // its first frame was found by searching
    kClaimed,  // the same, where a header that checks itself claims a payload
  };
  Ground ground;
  bool ends_unexplained = false;  // behind it stands neither a header that checks itself, nor zeros, nor the file's end
  bool reaches_end = false;
  bool goes_on = false;  // the next chain is its continuation, beyond the payload that was claimed

  bool starts_at_record() const { return ground == Ground::kCertain || ground == Ground::kPassed; }
};

class Surveyor {
 public:
  Surveyor(const std::filesystem::path& path, const SurveyOptions& options)
      : options_(options),
        limit_(std::min(options.max_record_bytes, kLargestRecord)),
        region_(path, options.start, options.stop, options.cancelled) {}

  Survey run();

 private:
  Frame judge(std::uint64_t at);
  bool starts_record(std::uint64_t at);
  std::uint64_t find(std::uint64_t from, std::uint64_t before);
  bool is_crossed(std::uint64_t at, std::uint64_t stop);
  bool is_full() const;
  bool is_zero(std::uint64_t at);
  std::uint64_t cross(std::uint64_t at, const Frame& frame);
  bool is_payload(std::uint64_t begin, std::uint64_t end);
  void add_whole(std::uint64_t at, std::uint64_t stop);
  void add_lost(std::uint64_t at, std::uint64_t stop, const Frame& frame);
  void start_chain(Chain::Ground ground) { chains_.push_back({ground}); }
  void look_inside(std::uint64_t begin, std::uint64_t end);
  void decide();

  // A header that cannot be read, and what was known there.
  struct Broken {
    std::uint64_t at;
    std::size_t stretches;
    std::size_t chains;
    Frame frame;
  };

  const SurveyOptions& options_;
  const std::uint64_t limit_;
  Region region_;
  std::vector<Stretch> stretches_;
  std::vector<std::size_t> chain_of_;  // of each stretch
  std::vector<Chain> chains_;
  std::optional<Broken> root_;  // where certainty was lost, if there was any
  std::uint64_t claimed_ = 0;   // up to here, headers that check themselves claim payloads
  std::uint64_t looked_at_ = 0;
  bool holds_frames_ = false;
};

Survey Surveyor::run() {
  const std::uint64_t stop = region_.stop();
  std::uint64_t at = region_.start();
  start_chain(Chain::Ground::kCertain);
  if (!options_.starts_at_record) {
    const std::uint64_t found = find(at, stop);
    if (found > at) add_lost(at, found, {FaultKind::kLengthChecksum});
    start_chain(Chain::Ground::kSearch);
    at = found;
  }
  while (at < stop && !is_full()) {
    const Frame frame = judge(at);
    if (frame.fault == FaultKind::kNone) {
      add_whole(at, frame.stop);
      at = frame.stop;
    } else if (frame.fits && starts_record(frame.stop) && !is_crossed(at, frame.stop)) {
      add_lost(at, frame.stop, frame);
      if (chains_.back().starts_at_record()) start_chain(Chain::Ground::kPassed);
      at = frame.stop;
    } else {
      at = cross(at, frame);
    }
  }
  if (at == stop)
    chains_.back().reaches_end = options_.ends_with_file;
  else if (!chains_.back().starts_at_record())
    add_lost(at, stop, {FaultKind::kLengthChecksum});
  decide();
  return {std::move(stretches_), region_.work()};
}

bool Surveyor::is_full() const {
  return stretches_.size() >= (chains_.back().starts_at_record() ? kManyStretches : kMostStretches);
}

Frame Surveyor::judge(std::uint64_t at) {
  const std::uint64_t stop = region_.stop(), left = stop - at;
  if (left < kHeaderBytes) return {FaultKind::kTruncatedHeader, false, false, stop, kHeaderBytes};
  const std::byte* header = region_.look(at, kHeaderBytes);
  if (!header_is_sound(header)) return {FaultKind::kLengthChecksum, false, false, stop, 0};
  const std::uint64_t length = load_le64(header);
  const bool fits = left >= kFrameOverhead && length <= left - kFrameOverhead;
  const std::uint64_t frame_stop = fits ? at + length + kFrameOverhead : stop;
  if (length > limit_) return {FaultKind::kTooLarge, true, fits, frame_stop, length};
  if (!fits) return {FaultKind::kTruncatedRecord, true, false, stop, length + kFrameOverhead};
  const bool matches = is_payload(at + kHeaderBytes, frame_stop - kFooterBytes);
  return {matches ? FaultKind::kNone : FaultKind::kDataChecksum, true, true, frame_stop, length + kFrameOverhead};
}

// True when the four bytes at `end` are the checksum of [begin, end).
bool Surveyor::is_payload(std::uint64_t begin, std::uint64_t end) {
  return mask_crc(region_.checksum(begin, end)) == load_le32(region_.probe(end, kFooterBytes));
}

bool Surveyor::starts_record(std::uint64_t at) {
  if (at == region_.stop()) return options_.ends_with_file;
  return region_.stop() - at >= kHeaderBytes && header_is_sound(region_.probe(at, kHeaderBytes));
}

// True when a whole frame starts inside a frame's payload and ends behind it: then bytes are missing or too many, and
// the frame does not end where its header says.
bool Surveyor::is_crossed(std::uint64_t at, std::uint64_t stop) {
  const std::uint64_t payload_stop = stop - kFooterBytes;
  for (std::uint64_t from = at + kHeaderBytes; (from = find(from, payload_stop)) < payload_stop;) {
    from = judge(from).stop;
    if (from > payload_stop) return true;
  }
  return false;
}

// The first whole frame that starts at or after `from`, and before `before`; the region's end where there is none.
std::uint64_t Surveyor::find(std::uint64_t from, std::uint64_t before) {
  const std::uint64_t stop = region_.stop();
  while (from < before && stop - from >= kFrameOverhead) {
    const std::size_t size = region_.at_hand(from, 4 * kHeaderBytes);
    const std::size_t at = find_header({region_.look(from, size), size}, 0);
    if (at < size) {
      from += at;
      if (from < before && judge(from).fault == FaultKind::kNone) return from;
      ++from;
    } else {
      // The last bytes may be the start of a header that the next ones complete.
      from += size - (kHeaderBytes - 1);
    }
  }
  return stop;
}

// Goes on behind a frame that breaks the chain; answers where.
std::uint64_t Surveyor::cross(std::uint64_t at, const Frame& frame) {
  Chain& chain = chains_.back();
  const Broken broken{at, stretches_.size(), chains_.size(), frame};
  const bool was_certain = chain.starts_at_record();
  const std::uint64_t stop = region_.stop();
  const std::uint64_t found = find(frame.header_is_sound ? at + kHeaderBytes : at + 1, stop);
  if (was_certain) root_ = broken;
  const auto leads_to_found = [&](const Broken& from) {
    if (from.frame.header_is_sound || (found == stop && !options_.ends_with_file)) return false;
    return found - from.at >= kFrameOverhead && found - from.at - kFrameOverhead <= limit_ &&
           is_payload(from.at + kHeaderBytes, found - kFooterBytes);
  };
  if (leads_to_found(broken)) {
    add_lost(at, found, frame);
    return found;
  }
  if (!was_certain && root_ && leads_to_found(*root_)) {
    // What was found since lies inside one payload.
    stretches_.resize(root_->stretches);
    chain_of_.resize(root_->stretches);
    chains_.resize(root_->chains);
    add_lost(root_->at, found, root_->frame);
    chains_.back().ends_unexplained = false;
    claimed_ = 0;
    return found;
  }
  chain.ends_unexplained = !frame.header_is_sound && !is_zero(at);
  add_lost(at, found, frame);
  if (frame.header_is_sound) claimed_ = std::max(claimed_, frame.fits ? frame.stop - kFooterBytes : stop);
  start_chain(found < claimed_ ? Chain::Ground::kClaimed : Chain::Ground::kSearch);
  return found;
}

// True when zeros stand where a header should: a block that was never written.
bool Surveyor::is_zero(std::uint64_t at) {
  if (region_.stop() - at < kHeaderBytes) return false;
  const std::byte* header = region_.probe(at, kHeaderBytes);
  return std::all_of(header, header + kHeaderBytes, [](std::byte b) { return b == std::byte{0}; });
}

void Surveyor::add_whole(std::uint64_t at, std::uint64_t stop) {
  if (chains_.back().ground == Chain::Ground::kClaimed && stop > claimed_) {
    // The frame reaches beyond the payload that was claimed, so it does not lie inside.
    chains_.back().goes_on = true;
    start_chain(Chain::Ground::kSearch);
  }
  const std::size_t chain = chains_.size() - 1;
  look_inside(at + kHeaderBytes, stop - kFooterBytes);
  if (!stretches_.empty() && stretches_.back().kind == StretchKind::kWhole && chain_of_.back() == chain) {
    stretches_.back().stop = stop;
    ++stretches_.back().records;
    return;
  }
  stretches_.push_back({StretchKind::kWhole, at, stop, 1, {}});
  chain_of_.push_back(chain);
}

void Surveyor::add_lost(std::uint64_t at, std::uint64_t stop, const Frame& frame) {
  stretches_.push_back({StretchKind::kLost, at, stop, 0, {frame.fault, at, 0, frame.need, region_.stop() - at}});
  chain_of_.push_back(chains_.size() - 1);
}

void Surveyor::look_inside(std::uint64_t begin, std::uint64_t end) {
  if (options_.nested || holds_frames_ || looked_at_ > kLookInside || end - begin > Region::kWindowBytes) return;
  const auto size = static_cast<std::size_t>(end - begin);
  looked_at_ += size;
  const std::byte* payload = region_.look(begin, size);
  for (std::size_t at = 0; (at = find_header({payload, size}, at)) < size; ++at)
    if (load_le64(payload + at) <= size - at) holds_frames_ = true;
}

// Tells the chains that are certainly the file's own from those that are not.
void Surveyor::decide() {
  const bool nested = options_.nested.value_or(holds_frames_);
  const bool assumed_flat = options_.nested.has_value() && !*options_.nested;
  std::vector<bool> doubtful(chains_.size());
  bool unexplained = false;  // here or in a later chain
  for (std::size_t i = chains_.size(); i-- > 0;) {
    const Chain& chain = chains_[i];
    unexplained = unexplained || chain.ends_unexplained;
    if (assumed_flat || chain.ground == Chain::Ground::kCertain) continue;
    if (chain.ground == Chain::Ground::kPassed)
      doubtful[i] = nested && chain.ends_unexplained;
    else if (chain.ground == Chain::Ground::kClaimed)
      doubtful[i] = !chain.goes_on || nested || doubtful[i + 1];
    else
      doubtful[i] = !chain.reaches_end && (nested || unexplained);
  }
  for (std::size_t i = 0; i < stretches_.size(); ++i)
    if (stretches_[i].kind == StretchKind::kWhole && doubtful[chain_of_[i]])
      stretches_[i].kind = StretchKind::kDoubtful;
}

}  // namespace

Survey survey(const std::filesystem::path& path, const SurveyOptions& options) { return Surveyor(path, options).run(); }

}  // namespace penstock
