// Decodes and transforms the pictures of a column in one call.
#include "io/picture_transformer.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/decoded_columns.h"
#include "bindings/dtypes.h"
#include "bindings/held_views.h"

namespace penstock::bindings {
namespace {

using Int64Array = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PixelArray = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using image::TransformOptions;

// Between two checks for signals, per thread.
constexpr std::size_t kPicturesPerCheck = 64;

class BoundTransformer {
 public:
  BoundTransformer(const TransformOptions& options, std::size_t threads)
      : transformer_(options, threads), pictures_per_check_(kPicturesPerCheck * threads) {}

  nb::tuple transform(nb::handle views, nb::tuple buffers, nb::handle valid, const Int64Array& epochs,
                      const Int64Array& rows, const Int64Array& items) {
    const HeldViews held(views, std::move(buffers));
    std::optional<BytesView> mask;
    if (!valid.is_none()) mask.emplace(valid);
    const std::size_t count = held.views().size();
    if ((mask && mask->bytes().size() != count) || epochs.size() != count || rows.size() != count ||
        items.size() != count)
      throw nb::value_error("the arguments differ in length");
    static constexpr std::byte kNothing{};
    std::vector<Bytes> files(count);
    std::vector<image::PictureKey> keys(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (mask && mask->bytes()[i] == std::byte{0}) continue;
      files[i] = held.value(i);
      if (files[i].empty()) files[i] = Bytes(&kNothing, 0);
      keys[i] = key_of(epochs(i), rows(i), items(i));
    }
    const image::Output& output = transformer_.options().output;
    const SharedBuffer column = acquire_buffer(count * output.bytes());
    std::vector<TransformedPicture> pictures(count);
    for (std::size_t at = 0; at < count; at += pictures_per_check_) {
      const std::size_t size = std::min(pictures_per_check_, count - at);
      {
        const ReleasedGil release;
        transformer_.run(std::span(files).subspan(at, size), std::span(keys).subspan(at, size),
                         column->data() + at * output.bytes(), std::span(pictures).subspan(at, size));
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    nb::dict others;
    for (std::size_t i = 0; i < count; ++i)
      if (pictures[i].status != TransformedPicture::kDone)
        others[nb::int_(i)] = pictures[i].status == TransformedPicture::kInvalid
                                  ? nb::object(nb::str(pictures[i].problem.c_str()))
                                  : nb::object(nb::none());
    const auto shape = shape_of(output);
    const std::size_t dimensions[] = {count, shape[0], shape[1], shape[2]};
    return nb::make_tuple(array_of(column, 4, dimensions, type()), others);
  }

  // Transforms pixels that were decoded elsewhere; None if they are fewer than the part to crop.
  nb::object transform_pixels(const PixelArray& pixels, std::int64_t epoch, std::int64_t row, std::int64_t item) {
    const image::Output& output = transformer_.options().output;
    if (pixels.size() == 0 || pixels.shape(2) != output.channels) throw nb::value_error("no such pixels");
    const SharedBuffer buffer = acquire_buffer(output.bytes());
    image::Problem problem;
    {
      const ReleasedGil release;
      image::PictureTransform transform(transformer_.options());
      problem =
          transform.run(pixels.data(), pixels.shape(0), pixels.shape(1), key_of(epoch, row, item), buffer->data());
    }
    if (problem != nullptr) return nb::none();
    const auto shape = shape_of(output);
    return array_of(buffer, 3, shape.data(), type());
  }

  // Returns the part of a picture: top, left, height, width, and 1 where it is flipped; None where it is too small.
  nb::object choose(std::size_t height, std::size_t width, std::int64_t epoch, std::int64_t row,
                    std::int64_t item) const {
    const auto part = image::Part::choose(transformer_.options(), height, width, key_of(epoch, row, item));
    if (!part) return nb::none();
    return nb::make_tuple(part->top, part->left, part->height, part->width, part->flip);
  }

 private:
  static image::PictureKey key_of(std::int64_t epoch, std::int64_t row, std::int64_t item) {
    return {static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(item)};
  }

  static std::array<std::size_t, 3> shape_of(const image::Output& output) {
    if (output.channels_first) return {output.channels, output.height, output.width};
    return {output.height, output.width, output.channels};
  }

  nb::dlpack::dtype type() const {
    const image::Output& output = transformer_.options().output;
    const auto code = output.type == image::SampleType::kUint8 ? Code::UInt : Code::Float;
    return type_of(code, static_cast<std::uint8_t>(8 * output.sample_bytes()));
  }

  PictureTransformer transformer_;
  std::size_t pictures_per_check_;
};

TransformOptions::Part part_of(const std::string& name) {
  if (name == "whole") return TransformOptions::kWhole;
  if (name == "random") return TransformOptions::kRandom;
  if (name == "center") return TransformOptions::kCenter;
  if (name == "resized center") return TransformOptions::kResizedCenter;
  throw nb::value_error("no such part");
}

image::SampleType type_named(const std::string& name) {
  if (name == "uint8") return image::SampleType::kUint8;
  if (name == "float16") return image::SampleType::kFloat16;
  if (name == "float32") return image::SampleType::kFloat32;
  throw nb::value_error("no such dtype");
}

}  // namespace

void bind_picture_transformer(nb::module_& m) {
  nb::class_<BoundTransformer>(m, "PictureTransformer",
                               "Decodes, crops, resizes, flips and stores pictures on native threads.")
      .def(
          "__init__",
          [](BoundTransformer* self, const std::string& part, std::size_t height, std::size_t width,
             std::size_t channels, std::size_t shorter_side, std::array<double, 2> area, std::array<double, 2> ratio,
             double flip, bool antialias, bool exact, const std::string& dtype, bool channels_first,
             const std::vector<float>& factor, const std::vector<float>& offset, std::uint64_t seed,
             std::uint64_t max_pixels, std::size_t threads) {
            if (height == 0 || width == 0 || height > 65536 || width > 65536 || (channels != 1 && channels != 3) ||
                factor.size() != channels || offset.size() != channels)
              throw nb::value_error("no such output");
            TransformOptions options;
            options.part = part_of(part);
            options.shorter_side = shorter_side;
            options.area = area;
            options.ratio = ratio;
            options.flip = flip;
            options.antialias = antialias;
            options.exact = exact;
            options.output = {height, width, channels, type_named(dtype), channels_first, {}, {}};
            std::copy(factor.begin(), factor.end(), options.output.factor.begin());
            std::copy(offset.begin(), offset.end(), options.output.offset.begin());
            options.seed = seed;
            options.limits.max_pixels = max_pixels;
            new (self) BoundTransformer(options, std::max<std::size_t>(threads, 1));
          },
          nb::kw_only(), nb::arg("part"), nb::arg("height"), nb::arg("width"), nb::arg("channels"),
          nb::arg("shorter_side"), nb::arg("area"), nb::arg("ratio"), nb::arg("flip"), nb::arg("antialias"),
          nb::arg("exact"), nb::arg("dtype"), nb::arg("channels_first"), nb::arg("factor"), nb::arg("offset"),
          nb::arg("seed"), nb::arg("max_pixels"), nb::arg("threads"))
      .def("transform", &BoundTransformer::transform, nb::arg("views"), nb::arg("buffers"), nb::arg("valid").none(),
           nb::arg("epochs"), nb::arg("rows"), nb::arg("items"),
           nb::sig("def transform(self, views: object, buffers: tuple[object, ...], valid: object, "
                   "epochs: numpy.typing.NDArray[numpy.int64], rows: numpy.typing.NDArray[numpy.int64], "
                   "items: numpy.typing.NDArray[numpy.int64]) -> tuple[typing.Any, dict[int, str | None]]"),
           "Transform the rows of a column; also return why rows were not: a message, or None for another format.")
      .def("transform_pixels", &BoundTransformer::transform_pixels, nb::arg("pixels"), nb::arg("epoch"), nb::arg("row"),
           nb::arg("item"),
           nb::sig("def transform_pixels(self, pixels: numpy.typing.NDArray[numpy.uint8], epoch: int, row: int, "
                   "item: int) -> typing.Any"),
           "Transform pixels that were decoded elsewhere; None if there are fewer than the part to crop.")
      .def("choose", &BoundTransformer::choose, nb::arg("height"), nb::arg("width"), nb::arg("epoch"), nb::arg("row"),
           nb::arg("item"),
           nb::sig("def choose(self, height: int, width: int, epoch: int, row: int, item: int) -> "
                   "tuple[float, float, float, float, bool] | None"),
           "Return top, left, height and width of the part of a picture, and whether it is flipped.");
}

}  // namespace penstock::bindings
