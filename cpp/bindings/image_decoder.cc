// Decodes the images of a column in one call.
#include "io/image_decoder.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "bindings/decoded_columns.h"
#include "bindings/dtypes.h"
#include "bindings/held_views.h"

namespace penstock::bindings {
namespace {

using WindowArray = nb::ndarray<const std::int64_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Sizes = std::tuple<std::size_t, std::size_t, std::size_t>;

// Between two checks for signals, per thread.
constexpr std::size_t kImagesPerCheck = 32;

class BoundImageDecoder {
 public:
  BoundImageDecoder(const ImageOptions& options, ImageSides sides, std::size_t threads)
      : decoder_(options, sides, threads), images_per_check_(kImagesPerCheck * threads) {}

  nb::tuple decode_views(nb::handle views, nb::tuple buffers, nb::handle valid, std::optional<Sizes> shape) {
    const HeldViews held(views, std::move(buffers));
    std::optional<BytesView> mask;
    if (!valid.is_none()) mask.emplace(valid);
    std::vector<Bytes> files(held.views().size());
    if (mask && mask->bytes().size() != files.size()) throw nb::value_error("the mask has another length");
    for (std::size_t i = 0; i < files.size(); ++i)
      if (!mask || mask->bytes()[i] != std::byte{0}) files[i] = present(held.value(i));
    return decode(files, {}, shape);
  }

  nb::tuple decode_list(nb::list objects, std::optional<Sizes> shape, std::optional<WindowArray> sides) {
    std::vector<std::unique_ptr<BytesView>> held;
    std::vector<Bytes> files;
    for (const nb::handle object : objects) {
      held.push_back(std::make_unique<BytesView>(object));
      files.push_back(present(held.back()->bytes()));
    }
    std::vector<image::Window> windows;
    if (sides) {
      if (sides->shape(0) != files.size()) throw nb::value_error("there is not one window for each file");
      for (std::size_t i = 0; i < files.size(); ++i) windows.push_back(window_of(sides->data() + 4 * i));
    }
    return decode(files, windows, shape);
  }

  nb::object shape_of(nb::handle object) const {
    const BytesView file(object);
    const std::optional<image::Shape> shape = decoder_.shape_of(file.bytes());
    if (!shape) return nb::none();
    return nb::make_tuple(shape->height, shape->width, shape->channels);
  }

  // Returns height, width and channels as stored, or None for a file that is not JPEG or has no valid header.
  static nb::object jpeg_shape(nb::handle object, std::uint64_t max_pixels) {
    const BytesView file(object);
    image::JpegDecoder decoder;
    image::JpegOptions options;
    options.limits.max_pixels = max_pixels;
    if (decoder.read_header(file.bytes(), options) != nullptr) return nb::none();
    const image::Shape shape = decoder.shape();
    return nb::make_tuple(shape.height, shape.width, decoder.stored_channels());
  }

 private:
  // Negative numbers become huge ones, which fit no image.
  static image::Window window_of(const std::int64_t* sides) {
    const auto size = [&](int i) { return static_cast<std::size_t>(sides[i]); };
    return {size(0), size(1), size(2), size(3)};
  }

  // A missing file has no address; one without bytes may have none either.
  static Bytes present(Bytes file) {
    static constexpr std::byte kNothing{};
    return file.empty() ? Bytes(&kNothing, 0) : file;
  }

  nb::dlpack::dtype type() const { return type_of(Code::UInt, static_cast<std::uint8_t>(8 * decoder_.sample_bytes())); }

  nb::tuple decode(std::span<const Bytes> files, std::span<const image::Window> windows, std::optional<Sizes> sizes) {
    image::Shape shape;
    SharedBuffer column;
    nb::object array = nb::none();
    if (sizes) {
      shape = {std::get<0>(*sizes), std::get<1>(*sizes), std::get<2>(*sizes)};
      const std::size_t dimensions[] = {files.size(), shape.height, shape.width, shape.channels};
      column = acquire_buffer(files.size() * shape.samples() * decoder_.sample_bytes());
      array = array_of(column, 4, dimensions, type());
    }
    std::vector<DecodedImage> images(files.size());
    const std::size_t stride = shape.samples() * decoder_.sample_bytes();
    for (std::size_t at = 0; at < files.size(); at += images_per_check_) {
      const std::size_t count = std::min(images_per_check_, files.size() - at);
      {
        const ReleasedGil release;
        decoder_.run(files.subspan(at, count), windows.empty() ? windows : windows.subspan(at, count), shape,
                     column ? column->data() + at * stride : nullptr, std::span(images).subspan(at, count));
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    nb::dict others;
    for (std::size_t i = 0; i < files.size(); ++i)
      if (files[i].data() != nullptr && (images[i].status != DecodedImage::kDone || images[i].pixels))
        others[nb::int_(i)] = outcome(images[i]);
    return nb::make_tuple(array, others);
  }

  nb::object outcome(const DecodedImage& image) const {
    const image::Shape& shape = image.shape;
    switch (image.status) {
      case DecodedImage::kOtherFormat:
        return nb::none();
      case DecodedImage::kInvalid:
        return nb::str(image.problem.c_str());
      case DecodedImage::kWrongSides:
        return nb::make_tuple(shape.height, shape.width);
      case DecodedImage::kDone:
        break;
    }
    const std::size_t dimensions[] = {shape.height, shape.width, shape.channels};
    return array_of(image.pixels, 3, dimensions, type());
  }

  ImageDecoder decoder_;
  std::size_t images_per_check_;
};

std::int64_t side_of(std::optional<std::size_t> size) { return size ? static_cast<std::int64_t>(*size) : -1; }

}  // namespace

void bind_image_decoder(nb::module_& m) {
  m.attr("DECODES_JPEG") = image::JpegDecoder::is_available();
  nb::class_<BoundImageDecoder>(m, "ImageDecoder",
                                "Decodes JPEG and PNG on native threads. Results have the rows whose pixels are not "
                                "in the array: pixels of their own, a message, height and width where these do not "
                                "fit, or None for another format.")
      .def(
          "__init__",
          [](BoundImageDecoder* self, unsigned channels, unsigned bits, std::optional<std::size_t> height,
             std::optional<std::size_t> width, std::uint64_t max_pixels, bool accurate_dct, bool fancy_upscaling,
             unsigned ratio, bool recover_truncated, float acceptable_fraction, std::size_t threads) {
            if (channels > 4 || (bits != 8 && bits != 16)) throw nb::value_error("no such pixels");
            if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) throw nb::value_error("no such ratio");
            const image::Limits limits{max_pixels};
            const image::JpegOptions jpeg{channels,          8 / ratio,           accurate_dct, fancy_upscaling,
                                          recover_truncated, acceptable_fraction, limits};
            new (self) BoundImageDecoder({jpeg, {channels, bits, limits}}, {side_of(height), side_of(width)},
                                         std::max<std::size_t>(threads, 1));
          },
          nb::kw_only(), nb::arg("channels") = 0, nb::arg("bits") = 8, nb::arg("height") = nb::none(),
          nb::arg("width") = nb::none(), nb::arg("max_pixels"), nb::arg("accurate_dct") = false,
          nb::arg("fancy_upscaling") = true, nb::arg("ratio") = 1, nb::arg("recover_truncated") = false,
          nb::arg("acceptable_fraction") = 1.0f, nb::arg("threads") = 1)
      .def("decode_views", &BoundImageDecoder::decode_views, nb::arg("views"), nb::arg("buffers"),
           nb::arg("valid").none(), nb::arg("shape").none(),
           nb::sig("def decode_views(self, views: object, buffers: tuple[object, ...], valid: object, "
                   "shape: tuple[int, int, int] | None) -> tuple[typing.Any, dict[int, typing.Any]]"),
           "Decode the rows of a column that ``valid`` does not exclude, into an array if there is a ``shape``.")
      .def("decode_list", &BoundImageDecoder::decode_list, nb::arg("files"), nb::arg("shape").none(),
           nb::arg("windows").none() = nb::none(),
           nb::sig("def decode_list(self, files: list[typing.Any], shape: tuple[int, int, int] | None, "
                   "windows: numpy.typing.NDArray[numpy.int64] | None = None) -> "
                   "tuple[typing.Any, dict[int, typing.Any]]"),
           "Decode bytes-like objects, into an array if there is a ``shape``. ``windows`` are top, left, height and "
           "width of the part of each JPEG image to decode.")
      .def("shape_of", &BoundImageDecoder::shape_of, nb::arg("file"),
           nb::sig("def shape_of(self, file: object) -> tuple[int, int, int] | None"),
           "Return the shape of the pixels by the header; None if it is invalid or of another format.");
  m.def("jpeg_shape", &BoundImageDecoder::jpeg_shape, nb::arg("file"), nb::arg("max_pixels"),
        nb::sig("def jpeg_shape(file: object, max_pixels: int) -> tuple[int, int, int] | None"),
        "Return height, width and channels of a JPEG image as stored; None if its header is invalid.");
}

}  // namespace penstock::bindings
