// Views and the buffers that they point into, as arguments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "core/columns/views.h"

namespace penstock::bindings {

// Views and the buffers they point into, held for the lifetime of this object.
class HeldViews {
 public:
  HeldViews(nb::handle views, nb::tuple buffers) : memory_(views) {
    if (memory_.bytes().size() % kViewBytes != 0) throw nb::value_error("views must have 16 bytes each");
    for (const nb::handle buffer : buffers) {
      held_.push_back(std::make_unique<BytesView>(buffer));
      buffers_.push_back(held_.back()->bytes());
    }
  }

  Bytes memory() const { return memory_.bytes(); }
  ViewArray views() const { return ViewArray(memory()); }
  std::span<const Bytes> buffers() const { return buffers_; }
  Bytes value(std::size_t i) const {
    const auto value = views().resolve(i, buffers_);
    if (!value) raise_stray(i);
    return *value;
  }
  [[noreturn]] static void raise_stray(std::size_t i) {
    throw nb::value_error(("the view of value " + std::to_string(i) + " points outside the column's buffers").c_str());
  }

 private:
  BytesView memory_;
  std::vector<std::unique_ptr<BytesView>> held_;
  std::vector<Bytes> buffers_;
};

}  // namespace penstock::bindings
