#include "core/columns/views.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/columns/utf8.h"

namespace penstock {
namespace {

std::string_view chars_of(Bytes value) { return {reinterpret_cast<const char*>(value.data()), value.size()}; }

}  // namespace

View make_view(Bytes value, std::int32_t buffer, std::int32_t offset) {
  View view;
  view.length = static_cast<std::int32_t>(value.size());
  if (view.is_inline()) {
    auto* memory = reinterpret_cast<std::byte*>(&view);
    if (!value.empty()) std::memcpy(memory + sizeof view.length, value.data(), value.size());
  } else {
    std::memcpy(view.prefix, value.data(), sizeof view.prefix);
    view.buffer = buffer;
    view.offset = offset;
  }
  return view;
}

ViewFault first_fault(ViewArray views, std::span<const Bytes> buffers, bool text) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto value = views.resolve(i, buffers);
    if (!value) return {ViewFault::kStray, i};
    if (text && !is_utf8(*value)) return {ViewFault::kNotText, i};
  }
  return {ViewFault::kNone, views.size()};
}

ViewFault compare_views(ViewArray left, std::span<const Bytes> left_buffers, ViewArray right,
                        std::span<const Bytes> right_buffers, std::span<std::int8_t> order) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::size_t other = right.size() == 1 ? 0 : i;
    const auto a = left.resolve(i, left_buffers), b = right.resolve(other, right_buffers);
    if (!a || !b) return {ViewFault::kStray, a ? other : i};
    // A string_view compares its chars as unsigned bytes.
    order[i] = static_cast<std::int8_t>(std::clamp(chars_of(*a).compare(chars_of(*b)), -1, 1));
  }
  return {ViewFault::kNone, left.size()};
}

ViewFault find_views(ViewArray values, std::span<const Bytes> buffers, ViewArray set,
                     std::span<const Bytes> set_buffers, std::span<bool> found) {
  std::unordered_set<std::string_view> wanted;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto value = set.resolve(i, set_buffers);
    if (!value) return {ViewFault::kStray, i};
    wanted.insert(chars_of(*value));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = values.resolve(i, buffers);
    if (!value) return {ViewFault::kStray, i};
    found[i] = wanted.contains(chars_of(*value));
  }
  return {ViewFault::kNone, values.size()};
}

CompactPlan plan_compact(ViewArray views, std::span<const Bytes> buffers) {
  CompactPlan plan;
  plan.views.reserve(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Bytes value = *views.resolve(i, buffers);
    if (views[i].is_inline()) {
      plan.views.push_back(views[i]);
      continue;
    }
    if (plan.buffer_sizes.empty() || value.size() > kMaxViewBuffer - plan.buffer_sizes.back())
      plan.buffer_sizes.push_back(0);
    std::size_t& used = plan.buffer_sizes.back();
    plan.views.push_back(
        make_view(value, static_cast<std::int32_t>(plan.buffer_sizes.size() - 1), static_cast<std::int32_t>(used)));
    used += value.size();
  }
  return plan;
}

void copy_compact(ViewArray views, std::span<const Bytes> buffers, const CompactPlan& plan,
                  std::span<std::byte* const> targets) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const View& target = plan.views[i];
    if (target.is_inline()) continue;
    const Bytes value = *views.resolve(i, buffers);
    std::memcpy(targets[static_cast<std::size_t>(target.buffer)] + target.offset, value.data(), value.size());
  }
}

template <class Offset>
std::optional<WindowedViews> views_of_offsets(std::span<const Offset> offsets, Bytes data) {
  WindowedViews result;
  if (offsets.empty()) return result;
  result.views.reserve(offsets.size() - 1);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (offsets[i] < 0 || offsets[i + 1] < offsets[i]) return {};
    const auto begin = static_cast<std::size_t>(offsets[i]), end = static_cast<std::size_t>(offsets[i + 1]);
    if (end > data.size() || end - begin > kMaxViewBuffer) return {};
    if (result.windows.empty() || end - result.windows.back() > kMaxViewBuffer) result.windows.push_back(begin);
    result.views.push_back(make_view(data.subspan(begin, end - begin),
                                     static_cast<std::int32_t>(result.windows.size() - 1),
                                     static_cast<std::int32_t>(begin - result.windows.back())));
  }
  return result;
}

template std::optional<WindowedViews> views_of_offsets(std::span<const std::int32_t>, Bytes);
template std::optional<WindowedViews> views_of_offsets(std::span<const std::int64_t>, Bytes);

}  // namespace penstock
