// Lets threads through in the order of their numbers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>

namespace penstock {

class Turnstile {
 public:
  // Waits for the turn of `number`; false if it will never come.
  bool enter(std::uint64_t number) {
    // The turn usually comes soon: yielding is cheaper than sleeping.
    for (int i = 0; i < kSpins && next_.load(std::memory_order_relaxed) < number; ++i) std::this_thread::yield();
    std::unique_lock lock(mutex_);
    Seat& seat = seat_of(number);
    ++seat.waiting;
    seat.turn.wait(lock, [&] { return next_ == number || number >= end_; });
    --seat.waiting;
    return number < end_;
  }
  // Wakes the thread of the next block, if it sleeps, and no other.
  void leave() {
    std::unique_lock lock(mutex_);
    Seat& next = seat_of(++next_);
    if (next.waiting == 0) return;
    lock.unlock();
    next.turn.notify_all();
  }
  // No thread enters with `number` or above.
  void close_at(std::uint64_t number) {
    {
      const std::lock_guard lock(mutex_);
      end_ = std::min(end_, number);
    }
    for (Seat& seat : seats_) seat.turn.notify_all();
  }
  bool open_for(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return number < end_;
  }

 private:
  static constexpr int kSpins = 64;

  // Where threads sleep. Those of successive blocks sleep in different ones.
  struct Seat {
    std::condition_variable turn;
    int waiting = 0;  // guarded by the mutex
  };
  Seat& seat_of(std::uint64_t number) { return seats_[number % seats_.size()]; }

  std::mutex mutex_;
  std::array<Seat, 32> seats_;
  std::atomic<std::uint64_t> next_ = 0;
  std::uint64_t end_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace penstock
