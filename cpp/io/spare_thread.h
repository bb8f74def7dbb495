// A thread that is not started while the consumer of a BlockReader does its work.
//
// A consumer that finds nothing could sleep. To be woken for each piece, on a CPU that a thread has to leave, costs
// both more than to read along costs the consumer. One that comes late again and again does other things, which may
// need no CPU: then the thread starts, and the consumer waits from then on.
#pragma once

#include <chrono>
#include <cstddef>

#include "io/block_reader.h"

namespace penstock {

class SpareThread {
 public:
  using Clock = std::chrono::steady_clock;

  SpareThread(BlockReader& reader, std::size_t threads)
      : reader_(reader), threads_(threads), is_spare_(threads > 1), left_at_(Clock::now()) {}

  // Starts the threads, but for the spare one.
  void start_others() {
    if (!reader_.started()) reader_.start(threads_ - (is_spare_ ? 1 : 0));
  }

  // The consumer came at `now` and found nothing: whether it reads along. No lock may be held that threads take.
  bool consumer_reads(Clock::time_point now) {
    late_ = now - left_at_ < kShortAbsence ? 0 : late_ + 1;
    if (is_spare_ && late_ == kOften) {
      is_spare_ = false;
      reader_.start(1);
    }
    return is_spare_;
  }

  // The consumer has what it came for.
  void consumer_leaves() { left_at_ = Clock::now(); }

 private:
  // A consumer that is back before this does little but ask...
  static constexpr std::chrono::microseconds kShortAbsence{150};
  // ... and one that is not, so many times in a row, does something else.
  static constexpr int kOften = 4;

  BlockReader& reader_;
  const std::size_t threads_;
  bool is_spare_;
  Clock::time_point left_at_;
  int late_ = 0;  // times in a row
};

}  // namespace penstock
