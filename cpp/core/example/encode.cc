#include "core/example/encode.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "core/example/decode.h"
#include "core/example/varint.h"
#include "core/little_endian.h"

namespace penstock {
namespace {

std::size_t field_size(std::size_t content) { return 1 + varint_size(content) + content; }

std::byte* put_field(std::byte* out, unsigned tag, std::size_t content) {
  *out++ = static_cast<std::byte>(tag);
  return put_varint(out, content);
}

template <typename T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Calls with(T{}) for the integer type that a column holds.
template <typename With>
auto with_int_type(Element element, With&& with) {
  switch (element) {
    case Element::kBool:
      return with(bool{});
    case Element::kInt8:
      return with(std::int8_t{});
    case Element::kInt16:
      return with(std::int16_t{});
    case Element::kInt32:
      return with(std::int32_t{});
    case Element::kUint8:
      return with(std::uint8_t{});
    case Element::kUint16:
      return with(std::uint16_t{});
    case Element::kUint32:
      return with(std::uint32_t{});
    default:
      return with(std::int64_t{});
  }
}

// A value as an Int64List stores it: sign-extended.
template <typename T>
std::uint64_t load_int(const std::byte* p) {
  if constexpr (std::is_same_v<T, bool>)
    return *p != std::byte{0};
  else
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(load<T>(p)));
}

std::size_t varints_size(Element element, const std::byte* p, std::uint64_t n) {
  return with_int_type(element, [&]<typename T>(T) {
    std::size_t size = 0;
    for (std::uint64_t i = 0; i < n; ++i) size += varint_size(load_int<T>(p + i * sizeof(T)));
    return size;
  });
}

// Stops at `end`, or up to FrameBuffer::kSlack - 1 bytes after it.
std::byte* put_varints(Element element, const std::byte* p, std::uint64_t n, std::byte* out, const std::byte* end) {
  return with_int_type(element, [&]<typename T>(T) {
    for (std::uint64_t i = 0; i < n && out < end; ++i) out = put_varint_with_slack(out, load_int<T>(p + i * sizeof(T)));
    return out;
  });
}

float load_float(Element element, const std::byte* p) {
  switch (element) {
    case Element::kFloat64:
      return static_cast<float>(load<double>(p));
    case Element::kBfloat16:
      return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(p)} << 16);
    case Element::kFloat16: {
      const std::uint16_t half = load<std::uint16_t>(p);
      const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
      const std::uint32_t exponent = (half >> 10) & 0x1F, mantissa = half & 0x3FFu;
      if (exponent == 0) {
        const float value = static_cast<float>(mantissa) * 0x1p-24f;
        return sign != 0 ? -value : value;
      }
      const std::uint32_t wide = exponent == 31 ? 0xFFu : exponent + 112;
      return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
    }
    default:
      return load<float>(p);
  }
}

// Items [begin, end) of a column: the list of one row or one step.
struct Items {
  std::uint64_t begin, end;
};

class RowEncoder {
 public:
  explicit RowEncoder(const EncodeColumn& column) : column_(column) { prepare_scalar(); }

  // Computes the sizes of a row; false if the column is inconsistent.
  bool measure(std::size_t row) {
    steps_.clear();
    present_ = column_.valid.empty() || (row < column_.valid.size() && column_.valid[row] != 0);
    size_ = 0;
    if (!column_.valid.empty() && row >= column_.valid.size()) return false;
    if (!present_) return true;
    if (!prefix_.empty()) return measure_scalar(row);
    if (!column_.sequence()) {
      Step step;
      if (!items_of(row, step.items) || !measure_step(step)) return false;
      steps_.push_back(step);
      value_size_ = step.feature;
    } else {
      std::uint64_t first, last;
      if (!range_of(column_.step_offsets, row, first, last)) return false;
      value_size_ = 0;
      for (std::uint64_t i = first; i < last; ++i) {
        Step step;
        if (!items_of(i, step.items) || !measure_step(step)) return false;
        value_size_ += field_size(step.feature);
        steps_.push_back(step);
      }
    }
    entry_size_ = field_size(column_.key.size()) + field_size(value_size_);
    size_ = field_size(entry_size_);
    return true;
  }

  // Bytes of the row's map field; 0 where the feature is absent.
  std::size_t size() const { return size_; }

  // Writes the size() bytes that were measured and returns their end, or nullptr if another thread changed the column
  // in between. Never writes kSlack or more bytes past the end.
  std::byte* write(std::byte* out) const {
    std::byte* end = out + size_;
    return write_field(out) == end ? end : nullptr;
  }

 private:
  std::byte* write_field(std::byte* out) const {
    if (!present_) return out;
    if (!prefix_.empty()) return write_scalar(out);
    out = put_field(out, 0x0A, entry_size_);
    out = put_field(out, 0x0A, column_.key.size());
    if (!column_.key.empty()) std::memcpy(out, column_.key.data(), column_.key.size());
    out = put_field(out + column_.key.size(), 0x12, value_size_);
    for (const Step& step : steps_) {
      if (column_.sequence()) out = put_field(out, 0x0A, step.feature);
      out = write_step(out, step);
      if (out == nullptr) return nullptr;
    }
    return out;
  }

  struct Step {
    Items items{};
    std::size_t content = 0;  // the packed run, or all bytes values with their tags
    std::size_t list = 0;     // the list message
    std::size_t feature = 0;  // the Feature message
  };

  static bool range_of(std::span<const std::int64_t> offsets, std::uint64_t i, std::uint64_t& first,
                       std::uint64_t& last) {
    if (i + 1 >= offsets.size() || offsets[i] < 0 || offsets[i + 1] < offsets[i]) return false;
    first = static_cast<std::uint64_t>(offsets[i]);
    last = static_cast<std::uint64_t>(offsets[i + 1]);
    return true;
  }

  bool items_of(std::uint64_t i, Items& items) const {
    if (column_.offsets.empty()) {
      items = {i, i + 1};
    } else if (!range_of(column_.offsets, i, items.begin, items.end)) {
      return false;
    }
    // Division, not multiplication: an offset may have any value.
    return column_.item_bytes() == 0 || items.end <= column_.values.size() / column_.item_bytes();
  }

  const std::byte* at(std::uint64_t item) const { return column_.values.data() + item * column_.item_bytes(); }
  std::uint64_t values_in(Items items) const { return (items.end - items.begin) * column_.count; }

  // Returns the bytes of one view, checked.
  bool view_at(const std::byte* p, std::span<const std::byte>& bytes) const {
    const auto length = load<std::int32_t>(p);
    if (length < 0) return false;
    const auto size = static_cast<std::size_t>(length);
    if (size <= 12) {
      bytes = {p + 4, size};
      return true;
    }
    const auto number = load<std::int32_t>(p + 8), offset = load<std::int32_t>(p + 12);
    if (number < 0 || offset < 0 || static_cast<std::size_t>(number) >= column_.buffers.size()) return false;
    const auto buffer = column_.buffers[static_cast<std::size_t>(number)];
    if (static_cast<std::size_t>(offset) > buffer.size() || size > buffer.size() - static_cast<std::size_t>(offset))
      return false;
    bytes = buffer.subspan(static_cast<std::size_t>(offset), size);
    return true;
  }

  bool measure_step(Step& step) const {
    const std::uint64_t n = values_in(step.items);
    const std::byte* p = at(step.items.begin);
    if (column_.element == Element::kRaw) {
      step.content = field_size((step.items.end - step.items.begin) * column_.item_bytes());
      step.list = step.content;
    } else if (column_.kind == Kind::kBytes) {
      for (std::uint64_t i = 0; i < n; ++i) {
        std::span<const std::byte> bytes;
        if (!view_at(p + 16 * i, bytes)) return false;
        step.content += field_size(bytes.size());
      }
      step.list = step.content;
    } else {
      if (column_.kind == Kind::kFloat)
        step.content = 4 * n;
      else
        step.content = varints_size(column_.element, p, n);
      // An empty list is written without the run, as protobuf does.
      step.list = n == 0 ? 0 : field_size(step.content);
    }
    step.feature = field_size(step.list);
    return true;
  }

  std::byte* write_step(std::byte* out, const Step& step) const {
    const std::uint64_t n = values_in(step.items);
    const std::byte* p = at(step.items.begin);
    out = put_field(out, static_cast<unsigned>(column_.kind) << 3 | 2, step.list);
    if (column_.element == Element::kRaw) {
      const std::size_t size = (step.items.end - step.items.begin) * column_.item_bytes();
      out = put_field(out, 0x0A, size);
      if (size != 0) std::memcpy(out, p, size);
      return out + size;
    }
    if (column_.kind == Kind::kBytes) {
      const std::byte* end = out + step.content;
      for (std::uint64_t i = 0; i < n; ++i) {
        std::span<const std::byte> bytes;
        if (!view_at(p + 16 * i, bytes) || field_size(bytes.size()) > static_cast<std::size_t>(end - out))
          return nullptr;
        out = put_field(out, 0x0A, bytes.size());
        if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
        out += bytes.size();
      }
      return out;
    }
    if (n == 0) return out;
    out = put_field(out, 0x0A, step.content);
    return write_numbers(out, p, n, step.content);
  }

  std::byte* write_numbers(std::byte* out, const std::byte* p, std::uint64_t n, std::size_t size) const {
    if (column_.kind == Kind::kInt64) {
      const std::byte* end = out + size;
      out = put_varints(column_.element, p, n, out, end);
      return out == end ? out : nullptr;
    }
    if (column_.element == Element::kFloat32) {
      std::memcpy(out, p, 4 * n);
      return out + 4 * n;
    }
    for (std::uint64_t i = 0; i < n; ++i, out += 4) {
      const float value = load_float(column_.element, p + i * column_.value_bytes);
      std::memcpy(out, &value, 4);
    }
    return out;
  }

  // Tabular data is mostly one number per row. With a short key all its lengths have one byte, so a row is a fixed
  // prefix, in which four bytes are patched, and the value:
  //   0a E  0a K key  12 V  kind L  0a n  value
  static constexpr std::size_t kMaxScalarKey = 100;

  void prepare_scalar() {
    const bool number = column_.kind != Kind::kBytes && column_.count == 1;
    if (!number || column_.sequence() || !column_.offsets.empty() || column_.key.size() > kMaxScalarKey) return;
    prefix_ = std::string("\x0a\0\x0a", 3) + static_cast<char>(column_.key.size()) + column_.key +
              std::string("\x12\0", 2) + static_cast<char>(static_cast<unsigned>(column_.kind) << 3 | 2) +
              std::string("\0\x0a\0", 3);
  }

  bool measure_scalar(std::size_t row) {
    if (row >= column_.values.size() / column_.value_bytes) return false;
    scalar_ = at(row);
    value_size_ = column_.kind == Kind::kFloat ? 4 : varints_size(column_.element, scalar_, 1);
    size_ = prefix_.size() + value_size_;
    return true;
  }

  std::byte* write_scalar(std::byte* out) const {
    const auto n = static_cast<unsigned>(value_size_);
    const std::size_t size = prefix_.size();
    std::memcpy(out, prefix_.data(), size);
    out[1] = static_cast<std::byte>(size - 2 + n);
    out[size - 5] = static_cast<std::byte>(n + 4);
    out[size - 3] = static_cast<std::byte>(n + 2);
    out[size - 1] = static_cast<std::byte>(n);
    return write_numbers(out + size, scalar_, 1, value_size_);
  }

  const EncodeColumn& column_;
  std::string prefix_;  // not empty: the column is written as scalars
  const std::byte* scalar_ = nullptr;
  bool present_ = true;
  std::vector<Step> steps_;
  std::size_t value_size_ = 0, entry_size_ = 0, size_ = 0;
};

}  // namespace

EncodeResult encode_rows(std::span<const EncodeColumn> columns, bool sequence_example, std::size_t first,
                         std::size_t rows, std::size_t limit, FrameBuffer& frames) {
  std::vector<RowEncoder> encoders;
  for (const EncodeColumn& column : columns) encoders.emplace_back(column);
  for (std::size_t row = first; row < rows; ++row) {
    if (frames.size() >= limit) return {EncodeFault::kNone, row, 0};
    std::size_t map_size[3] = {};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (!encoders[c].measure(row)) return {EncodeFault::kBadColumn, row, c};
      map_size[static_cast<std::size_t>(columns[c].section)] += encoders[c].size();
    }
    const std::size_t size = field_size(map_size[1]) + (sequence_example ? field_size(map_size[2]) : 0);
    if (size > kLargestExample) return {EncodeFault::kTooLarge, row, 0};
    std::size_t changed = columns.size();
    const bool whole = frames.append_written(size, [&](std::byte* out) {
      for (std::size_t section = 1; section <= (sequence_example ? 2u : 1u); ++section) {
        out = put_field(out, section == 1 ? 0x0A : 0x12, map_size[section]);
        for (std::size_t c = 0; c < columns.size(); ++c)
          if (static_cast<std::size_t>(columns[c].section) == section) {
            out = encoders[c].write(out);
            if (out == nullptr) {
              changed = c;
              return false;
            }
          }
      }
      return true;
    });
    if (!whole) return {EncodeFault::kBadColumn, row, changed};
  }
  return {EncodeFault::kNone, rows, 0};
}

}  // namespace penstock
