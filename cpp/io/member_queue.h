// Inflates gzip members on threads, two interleaved on each, and returns them in order.
#pragma once

#include <array>
#include <chrono>
#include <new>
#include <optional>
#include <span>

#include "core/inflate/gzip_member.h"
#include "io/ordered_jobs.h"

namespace penstock {

class MemberQueue {
 public:
  using Body = std::span<const std::byte>;
  using Inflated = std::array<std::optional<inflate::Piece>, 2>;

  MemberQueue(std::size_t threads, std::size_t most)
      : jobs_(threads, [most](Job& job) {
          try {
            job.inflated = inflate::inflate_members(job.bodies, most);
          } catch (const std::bad_alloc&) {
            // Not enough memory to inflate them at once; the caller can still stream them.
          }
        }) {}

  // Submits what follows the headers of two members, or of one and nothing. The bytes must stay valid until they are
  // returned.
  void submit(Body one, Body other) { jobs_.submit({{one, other}, {}}); }

  // Returns the oldest two, or nothing after `timeout`. An entry without a value is damaged, too large, or empty.
  std::optional<Inflated> next(std::chrono::milliseconds timeout) {
    std::optional<Job> job = jobs_.next(timeout);
    if (!job) return std::nullopt;
    return std::move(job->inflated);
  }

 private:
  struct Job {
    std::array<Body, 2> bodies;
    Inflated inflated;
  };
  OrderedJobs<Job> jobs_;
};

}  // namespace penstock
