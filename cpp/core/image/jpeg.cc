#include "core/image/jpeg.h"

#ifdef PENSTOCK_JPEG

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <vector>
// Needs FILE and size_t before it.
#include <jerror.h>
#include <jpeglib.h>

#include <cstdio>

namespace penstock::image {
namespace {

// A file of a few kilobytes can hold thousands of scans, each of which visits all of the image.
constexpr int kMaxScans = 100;

constexpr std::size_t kRowsPerCall = 16;

constexpr Problem kTruncated = "it is truncated";

constexpr JOCTET kEndOfImage[2] = {0xff, JPEG_EOI};

// The file, as the library reads it: all at once. What a truncated file does is what it does in TensorFlow.
struct Source {
  jpeg_source_mgr functions;  // first, since the library has a pointer to it
  const JOCTET* data;
  std::size_t size;
  bool recover_truncated;
  std::size_t read_again;  // bytes
};

// A truncated file that is recovered is read again from the last place where that is possible. Between two blocks that
// ends; in a header it never would.
constexpr std::size_t kMaxReadAgain = std::size_t{1} << 28, kReadAgainCost = 64;

Source& source_of(j_decompress_ptr image) { return *reinterpret_cast<Source*>(image->src); }

void begin_source(j_decompress_ptr image) {
  Source& source = source_of(image);
  source.functions.next_input_byte = source.data;
  source.functions.bytes_in_buffer = source.size;
}

// False where the library can stop between two rows: the rows before are good.
boolean fill_source(j_decompress_ptr image) {
  Source& source = source_of(image);
  jpeg_source_mgr& input = source.functions;
  if (input.bytes_in_buffer != 0) {
    source.read_again += input.bytes_in_buffer + kReadAgainCost;
    if (source.read_again > kMaxReadAgain) ERREXIT(image, JERR_INPUT_EOF);
    return source.recover_truncated ? TRUE : FALSE;
  }
  if (!source.recover_truncated || input.next_input_byte == kEndOfImage) ERREXIT(image, JERR_INPUT_EOF);
  input.next_input_byte = kEndOfImage;
  input.bytes_in_buffer = sizeof kEndOfImage;
  return TRUE;
}

void skip_source(j_decompress_ptr image, long size) {
  if (size < 0) return;
  jpeg_source_mgr& input = source_of(image).functions;
  if (static_cast<std::size_t>(size) > input.bytes_in_buffer) {
    input.bytes_in_buffer = 0;
    fill_source(image);
  } else {
    input.bytes_in_buffer -= static_cast<std::size_t>(size);
    input.next_input_byte += size;
  }
}

void end_source(j_decompress_ptr) {}

// CMYK as it is stored, inverted by Adobe's programs, to RGB.
void rgb_of_cmyk(const JSAMPLE* cmyk, std::size_t count, bool inverted, JSAMPLE* rgb) {
  for (; count != 0; --count, cmyk += 4, rgb += 3) {
    const int black = inverted ? cmyk[3] : 255 - cmyk[3];
    for (int i = 0; i < 3; ++i) rgb[i] = static_cast<JSAMPLE>(black * (inverted ? cmyk[i] : 255 - cmyk[i]) / 255);
  }
}

void with_opaque_alpha(const JSAMPLE* from, std::size_t count, std::size_t channels, JSAMPLE* to) {
  for (; count != 0; --count) {
    for (std::size_t i = 0; i + 1 < channels; ++i) *to++ = *from++;
    *to++ = 255;
  }
}

}  // namespace

struct JpegDecoder::State {
  jpeg_decompress_struct image;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  Source source;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  JpegOptions options;
  bool created = false;
  std::vector<JSAMPLE> rows, rgb;

  static State& of(j_common_ptr image) { return *static_cast<State*>(image->client_data); }

  // Runs C code that may jump here. Neither this nor `step` may have objects with destructors.
  template <typename Step>
  bool guarded(Step step) {
    if (setjmp(jump) != 0) return false;
    step();
    return true;
  }

  [[noreturn]] static void fail(j_common_ptr image) {
    State& state = of(image);
    image->err->format_message(image, state.message);
    std::longjmp(state.jump, 1);
  }

  // The library goes on after what it calls a warning, and so does TensorFlow.
  static void ignore(j_common_ptr, int) {}
  static void print_nothing(j_common_ptr) {}

  static void count_scans(j_common_ptr image) {
    if (reinterpret_cast<j_decompress_ptr>(image)->input_scan_number <= kMaxScans) return;
    std::strcpy(of(image).message, "it has more than 100 scans");
    std::longjmp(of(image).jump, 1);
  }

  void close() {
    if (created) jpeg_destroy_decompress(&image);
    created = false;
  }

  // A new library object for each file: its tables would serve a file that has none of its own.
  void create(Bytes file) {
    close();
    image.err = jpeg_std_error(&errors);
    errors.error_exit = fail;
    errors.emit_message = ignore;
    errors.output_message = print_nothing;
    image.client_data = this;  // before an error may occur; creating it leaves both as they are
    created = true;
    jpeg_create_decompress(&image);
    progress = {};
    progress.progress_monitor = count_scans;
    image.progress = &progress;
    source = {};
    source.functions.init_source = begin_source;
    source.functions.fill_input_buffer = fill_source;
    source.functions.skip_input_data = skip_source;
    source.functions.resync_to_restart = jpeg_resync_to_restart;
    source.functions.term_source = end_source;
    source.data = reinterpret_cast<const JOCTET*>(file.data());
    source.size = file.size();
    source.recover_truncated = options.recover_truncated;
    image.src = &source.functions;
  }

  // Returns the channels without alpha.
  unsigned colors() const {
    const unsigned wanted = options.channels != 0 ? options.channels : static_cast<unsigned>(image.num_components);
    return options.channels == 0 ? std::min(wanted, 3u) : wanted <= 2 ? 1 : 3;
  }

  void configure() {
    const bool cmyk = image.jpeg_color_space == JCS_CMYK || image.jpeg_color_space == JCS_YCCK;
    image.out_color_space = colors() == 1 ? JCS_GRAYSCALE : cmyk ? JCS_CMYK : JCS_RGB;
    image.do_fancy_upsampling = options.fancy_upscaling ? TRUE : FALSE;
    image.scale_num = options.eighths;
    image.scale_denom = 8;
    image.dct_method = options.accurate_dct ? JDCT_ISLOW : JDCT_IFAST;
    jpeg_calc_output_dimensions(&image);
  }

  bool is_cmyk() const { return image.out_color_space == JCS_CMYK; }

  // Reads rows until `end`, or until the file ends.
  void read_rows(JSAMPLE* output, std::size_t end, std::size_t width, std::size_t channels) {
    const std::size_t colors_read = static_cast<std::size_t>(image.out_color_components);
    const std::size_t stride = image.output_width * colors_read;
    // The library moves the left side of a window to where a block begins.
    const std::size_t left = (image.output_width - width) * colors_read;
    const bool direct = left == 0 && !is_cmyk() && channels == colors_read;
    while (image.output_scanline < end) {
      JSAMPROW pointers[kRowsPerCall];
      const std::size_t most = std::min(kRowsPerCall, end - image.output_scanline);
      for (std::size_t i = 0; i < most; ++i)
        pointers[i] = direct ? output + i * width * channels : rows.data() + i * stride;
      const std::size_t count = jpeg_read_scanlines(&image, pointers, static_cast<JDIMENSION>(most));
      if (count == 0) return;
      for (std::size_t i = 0; !direct && i < count; ++i) {
        const JSAMPLE* from = pointers[i] + left;
        JSAMPLE* const to = output + i * width * channels;
        if (is_cmyk()) {
          JSAMPLE* const converted = channels == 4 ? rgb.data() : to;
          rgb_of_cmyk(from, width, image.saw_Adobe_marker != 0, converted);
          from = converted;
        }
        if (channels % 2 == 0)
          with_opaque_alpha(from, width, channels, to);
        else if (from != to)
          std::memcpy(to, from, width * channels);
      }
      output += count * width * channels;
    }
  }
};

bool JpegDecoder::is_available() { return true; }

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}

JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;

JpegDecoder::~JpegDecoder() {
  if (state_) state_->close();
}

Problem JpegDecoder::read_header(Bytes file, const JpegOptions& options) {
  State& state = *state_;
  state.options = options;
  bool complete = false;
  if (!state.guarded([&] {
        state.create(file);
        complete = jpeg_read_header(&state.image, TRUE) == JPEG_HEADER_OK;
      }))
    return state.message;
  if (!complete) return kTruncated;
  const unsigned colors = state.colors();
  if (colors == 2) return "it has two channels";
  const jpeg_decompress_struct& image = state.image;
  // Checked as stored, since progressive images are decoded in full whatever their scale.
  if (!options.limits.allow(image.image_height, image.image_width, static_cast<unsigned>(image.num_components)))
    return kTooManyPixels;
  if (!state.guarded([&] { state.configure(); })) return state.message;
  return nullptr;
}

Shape JpegDecoder::shape() const {
  const jpeg_decompress_struct& image = state_->image;
  const unsigned channels = state_->options.channels;
  return {image.output_height, image.output_width, channels != 0 ? channels : state_->colors()};
}

std::size_t JpegDecoder::stored_channels() const { return static_cast<std::size_t>(state_->image.num_components); }

Problem JpegDecoder::scale(unsigned eighths) {
  State& state = *state_;
  state.options.eighths = eighths;
  return state.guarded([&] { state.configure(); }) ? nullptr : state.message;
}

Problem JpegDecoder::read(std::byte* output, const Window& window, bool stop_early) {
  State& state = *state_;
  jpeg_decompress_struct& image = state.image;
  const bool cropped = window.height != 0;
  const Shape whole = shape();
  const Window part = cropped ? window : Window{0, 0, whole.height, whole.width};
  auto* const pixels = reinterpret_cast<JSAMPLE*>(output);
  const std::size_t stride = part.width * whole.channels;
  bool started = false;
  if (!state.guarded([&] { started = jpeg_start_decompress(&image) != 0; })) return state.message;
  if (!started) return kTruncated;
  // The library's rows have at most this size, also when they are cropped.
  state.rows.resize(kRowsPerCall * image.output_width * 4);
  state.rgb.resize(image.output_width * 3);
  if (!state.guarded([&] {
        if (cropped) {
          auto left = static_cast<JDIMENSION>(part.left), width = static_cast<JDIMENSION>(part.width);
          jpeg_crop_scanline(&image, &left, &width);
          jpeg_skip_scanlines(&image, static_cast<JDIMENSION>(part.top));
        }
        state.read_rows(pixels, part.top + part.height, part.width, whole.channels);
      }))
    return state.message;
  const std::size_t end = part.top + part.height;
  const std::size_t last = std::min<std::size_t>(image.output_scanline, end);
  const std::size_t read = last - std::min(last, part.top);
  if (read < part.height) {  // the file ends early, between two rows
    if (!state.options.recover_truncated) {
      if (last < part.top) return kTruncated;
      const float fraction = static_cast<float>(read) / static_cast<float>(part.height);
      if (fraction < std::min(1.0f, state.options.acceptable_fraction)) return kTruncated;
      std::memset(pixels + read * stride, 0, (part.height - read) * stride);
      return nullptr;
    }
    if (read == 0) std::memset(pixels, 0, stride);
    for (std::size_t row = std::max<std::size_t>(read, 1); row < part.height; ++row)
      std::memcpy(pixels + row * stride, pixels + (row - 1) * stride, stride);
    image.output_scanline = static_cast<JDIMENSION>(end);
  }
  if (stop_early) return nullptr;
  // Reads the rest of the file: what is missing there is an error as well.
  if (!state.guarded([&] {
        if (cropped && image.output_scanline < image.output_height)
          jpeg_skip_scanlines(&image, image.output_height - image.output_scanline);
        jpeg_finish_decompress(&image);
      }))
    return state.message;
  return nullptr;
}

}  // namespace penstock::image

#else

namespace penstock::image {

struct JpegDecoder::State {};

bool JpegDecoder::is_available() { return false; }
JpegDecoder::JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder::~JpegDecoder() = default;
Problem JpegDecoder::read_header(Bytes, const JpegOptions&) { return "JPEG is not supported by this build"; }
Shape JpegDecoder::shape() const { return {}; }
std::size_t JpegDecoder::stored_channels() const { return 0; }
Problem JpegDecoder::scale(unsigned) { return "JPEG is not supported by this build"; }
Problem JpegDecoder::read(std::byte*, const Window&, bool) { return "JPEG is not supported by this build"; }

}  // namespace penstock::image

#endif
