#include "io/header_walk.h"

#include <algorithm>
#include <atomic>

#include "io/header_window.h"

namespace penstock {
namespace {

// How far into a piece its first frame is searched: if there is none, records are long and quick to walk.
constexpr std::uint64_t kSearchBytes = std::uint64_t{256} << 10;

// Walked first, to see how long the records are; less if pieces are smaller.
constexpr std::uint64_t kProbeBytes = std::uint64_t{128} << 10;

// Extends a run by the frames that start before `stop`; returns the fault of the frame where it ends.
HeaderWindow::Frame extend_run(FrameRun& run, HeaderWindow& window, std::uint64_t stop, bool keep_lengths) {
  while (run.end < stop) {
    const HeaderWindow::Frame frame = window.frame_at(run.end);
    if (frame.fault != FaultKind::kNone) return frame;
    if (keep_lengths) run.lengths.push_back(frame.length);
    run.end += frame.length + kFrameOverhead;
    ++run.count;
  }
  return {};
}

// Returns the run from the first position in [from, stop) that leads to `stop` without a fault.
FrameRun guess_run(HeaderWindow& window, std::uint64_t from, std::uint64_t stop, bool keep_lengths) {
  std::uint64_t searched = 0;
  while (searched < kSearchBytes) {
    const std::uint64_t start = window.find_frame(from, std::min(stop, from + kSearchBytes - searched));
    if (start == HeaderWindow::kNotFound) break;
    searched += start - from + 1;
    FrameRun run{start, start, 0, {}};
    if (extend_run(run, window, stop, keep_lengths).fault == FaultKind::kNone) return run;
    from = run.end;  // frames within a payload lead to its end: the next real frame is near
  }
  return {HeaderWindow::kNotFound, HeaderWindow::kNotFound, 0, {}};
}

}  // namespace

HeaderWalk::HeaderWalk(const std::filesystem::path& path, const HeaderWalkOptions& options)
    : options_(options), file_(path), file_size_(file_.size()), workers_(options.threads) {}

bool HeaderWalk::advance(std::uint64_t bytes) {
  if (fault_.kind != FaultKind::kNone || found_.end >= file_size_) return false;
  walk_pieces(found_.end + std::min(bytes, file_size_ - found_.end));
  return fault_.kind == FaultKind::kNone && found_.end < file_size_;
}

void HeaderWalk::walk_pieces(std::uint64_t stop) {
  HeaderWindow window(file_, file_size_, options_.max_record_bytes);
  const auto walk_to = [&](std::uint64_t place) {
    const HeaderWindow::Frame last = extend_run(found_, window, place, options_.keep_lengths);
    if (last.fault == FaultKind::kNone) return true;
    const std::uint64_t need = last.fault == FaultKind::kTruncatedHeader   ? kHeaderBytes
                               : last.fault == FaultKind::kTruncatedRecord ? last.length + kFrameOverhead
                                                                           : last.length;
    fault_ = {last.fault, found_.end, found_.count, need, file_size_ - found_.end};
    return false;
  };

  const std::uint64_t step = options_.piece_bytes, probe_start = found_.end, probe_records = found_.count;
  if (!walk_to(std::min(stop, probe_start + std::min(step, kProbeBytes)))) return;
  const std::uint64_t origin = found_.end;
  const bool hops = origin - probe_start >= (found_.count - probe_records) * HeaderWindow::kMinSeekBytes;
  if (options_.threads == 1 || hops || origin >= stop || stop - origin < 2 * step) {
    walk_to(stop);
    return;
  }

  std::vector<FrameRun> runs(static_cast<std::size_t>((stop - origin + step - 1) / step));
  const auto end_of = [&](std::size_t i) { return std::min(stop, origin + (i + 1) * step); };
  std::atomic<std::size_t> next{0};
  workers_.run(std::min(options_.threads, runs.size()), [&](std::size_t) {
    HeaderWindow own(file_, file_size_, options_.max_record_bytes);
    for (std::size_t i; (i = next++) < runs.size();)
      runs[i] = guess_run(own, origin + i * step, end_of(i), options_.keep_lengths);
  });

  for (std::size_t i = 0; i < runs.size(); ++i) {
    const FrameRun& run = runs[i];
    if (!walk_to(std::min(run.start, end_of(i)))) return;
    if (found_.end == run.start) {
      found_.lengths.insert(found_.lengths.end(), run.lengths.begin(), run.lengths.end());
      found_.count += run.count;
      found_.end = run.end;
    } else if (!walk_to(end_of(i))) {
      return;
    }
  }
}

}  // namespace penstock
