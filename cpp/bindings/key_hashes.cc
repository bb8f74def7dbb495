#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/held_views.h"
#include "core/blake2b.h"
#include "core/little_endian.h"

namespace penstock::bindings {
namespace {

constexpr std::size_t kNumberBytes = 8;

// A column of keys: numbers of 8 bytes, or views of strings.
class KeyColumn {
 public:
  KeyColumn(nb::tuple column, std::size_t rows) : tag_(static_cast<std::byte>(nb::cast<std::string>(column[0]).at(0))) {
    std::size_t found = 0;
    if (tag_ == std::byte{'t'}) {
      strings_.emplace(column[1], nb::cast<nb::tuple>(column[2]));
      found = strings_->views().size();
    } else {
      numbers_ = std::make_unique<BytesView>(column[1]);
      found = numbers_->bytes().size() / kNumberBytes;
    }
    if (!column[3].is_none()) valid_ = std::make_unique<BytesView>(column[3]);
    if (found != rows || (valid_ && valid_->bytes().size() != rows)) {
      throw nb::value_error("columns of keys have different lengths");
    }
  }

  // Whether the value is inside the buffers.
  bool update(Blake2b& hash, std::size_t row) const {
    if (valid_ && valid_->bytes()[row] == std::byte{0}) {
      const std::byte absent{'n'};
      hash.update({&absent, 1});
      return true;
    }
    hash.update({&tag_, 1});
    if (numbers_) {
      hash.update(numbers_->bytes().subspan(row * kNumberBytes, kNumberBytes));
      return true;
    }
    const auto value = strings_->views().resolve(row, strings_->buffers());
    if (!value) return false;
    std::byte length[8];
    store_le64(length, value->size());
    hash.update(length);
    hash.update(*value);
    return true;
  }

 private:
  std::byte tag_;
  std::optional<HeldViews> strings_;
  std::unique_ptr<BytesView> numbers_, valid_;
};

nb::object key_hashes(const nb::list& columns, std::size_t rows, nb::bytes key) {
  if (key.size() > 64) throw nb::value_error("a key has at most 64 bytes");
  std::vector<std::unique_ptr<KeyColumn>> held;
  for (const nb::handle column : columns) {
    held.push_back(std::make_unique<KeyColumn>(nb::cast<nb::tuple>(column), rows));
  }
  auto out = std::make_unique<std::uint64_t[]>(rows);
  std::size_t row = 0;
  bool inside = true;
  {
    const Blake2b start({reinterpret_cast<const std::byte*>(key.c_str()), key.size()});
    const ReleasedGil release;
    for (; row < rows && inside; ++row) {
      Blake2b hash = start;
      for (const auto& column : held) inside = inside && column->update(hash, row);
      out[row] = hash.finish();
    }
  }
  if (!inside) HeldViews::raise_stray(row - 1);
  std::uint64_t* data = out.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::uint64_t*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>(data, {rows}, owner));
}

}  // namespace

void bind_key_hashes(nb::module_& m) {
  m.def("key_hashes", &key_hashes, nb::arg("columns"), nb::arg("rows"), nb::arg("key"),
        nb::sig("def key_hashes(columns: list[tuple[str, object, tuple[object, ...], object]], rows: int, key: bytes) "
                "-> NDArray[numpy.uint64]"),
        "Return the BLAKE2b of 8 bytes of each row of keys, as an integer. A column is a tag, 'i', 'f' or 't'; its "
        "numbers of 8 bytes, or views; the buffers of views; and which rows are present, or None.");
}

}  // namespace penstock::bindings
