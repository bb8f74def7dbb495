// Python's InflatedPiece.
#pragma once

#include <optional>
#include <utility>

#include "core/inflate/piece.h"

namespace penstock::bindings {

class InflatedPiece {
 public:
  explicit InflatedPiece(inflate::Piece piece) : piece_(std::move(piece)) {}

  std::span<const std::byte> bytes() const { return piece_.bytes(); }

  // Returns the piece, to the first caller only: the headroom before the bytes is for one scanner.
  std::optional<inflate::Piece> take() {
    if (std::exchange(taken_, true)) return std::nullopt;
    return piece_;
  }

 private:
  inflate::Piece piece_;
  bool taken_ = false;  // guarded by the GIL
};

}  // namespace penstock::bindings
