#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <deque>

#include "bindings/bindings.h"
#include "bindings/inflated_piece.h"
#include "core/crc32/crc32.h"
#include "core/inflate/restart.h"
#include "core/inflate/stream_inflater.h"
#include "io/member_queue.h"

namespace penstock::bindings {
namespace {

using inflate::Piece;

int piece_buffer(PyObject* self, Py_buffer* view, int flags) {
  const std::span<const std::byte> bytes = nb::inst_ptr<InflatedPiece>(self)->bytes();
  return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(bytes.data()), static_cast<Py_ssize_t>(bytes.size()), 1,
                           flags);
}

PyType_Slot piece_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(piece_buffer)}, {0, nullptr}};

std::optional<InflatedPiece> plain(std::optional<Piece> piece) {
  if (!piece) return std::nullopt;
  return InflatedPiece(std::move(*piece));
}

// Two bodies in the queue, which Python must not free.
struct HeldBodies {
  HeldBodies(nb::handle first, nb::handle second) : one(first), other(second) {}
  BytesView one, other;
};

struct HeldForQueue {
  std::deque<HeldBodies> bodies;
  // A queue is destroyed without the GIL, which is needed to release them; if it must not be acquired, they are leaked.
  ~HeldForQueue() {
    if (is_finalizing_elsewhere()) {
      new std::deque<HeldBodies>(std::move(bodies));
      return;
    }
    const AcquiredGil taken;
    bodies.clear();
  }
};

class Members {
 public:
  Members(std::size_t threads, std::size_t most) : queue_(threads, most) {}

  void submit(nb::handle one, nb::handle other) {
    const HeldBodies& held = held_.bodies.emplace_back(one, other);
    try {
      queue_.submit(held.one.bytes(), held.other.bytes());
    } catch (...) {
      held_.bodies.pop_back();
      throw;
    }
  }

  std::array<std::optional<InflatedPiece>, 2> next() {
    MemberQueue::Inflated found;
    wait_for([&](auto timeout) {
      std::optional<MemberQueue::Inflated> inflated = queue_.next(timeout);
      if (inflated) found = std::move(*inflated);
      return inflated.has_value();
    });
    held_.bodies.pop_front();
    return {plain(std::move(found[0])), plain(std::move(found[1]))};
  }

 private:
  HeldForQueue held_;  // declared first: outlives the threads
  MemberQueue queue_;
};

using OpenMembers = Closable<Members>;

using inflate::Stop;

// A stream, and its current input, which Python must not free.
class FedInflater {
 public:
  void feed(nb::handle data) {
    if (!inflater_.needs_input()) throw nb::value_error("the inflater has input already, or is at its end");
    held_.emplace(data);
    inflater_.feed(held_->bytes());
  }

  InflatedPiece next() {
    const ReleasedGil release;
    return InflatedPiece(inflater_.next());
  }

  const inflate::StreamInflater& inflater() const { return inflater_; }
  void stop_at_block() { inflater_.stop_at_block(); }

 private:
  std::optional<BytesView> held_;
  inflate::StreamInflater inflater_;
};

}  // namespace

void bind_inflate(nb::module_& m) {
  m.def(
      "crc32_kernels",
      [] {
        std::vector<std::string> names;
        for (const Crc32Kernel& kernel : crc32_kernels()) names.emplace_back(kernel.name);
        return names;
      },
      "Return the names of the CRC-32 kernels that this CPU supports, the one in use first.");
  m.def(
      "crc32",
      [](nb::handle data, std::uint32_t crc, const std::optional<std::string>& kernel) {
        const BytesView view(data);
        for (const Crc32Kernel& known : crc32_kernels())
          if (!kernel || *kernel == known.name) {
            const ReleasedGil release;
            return known.extend(crc, view.bytes().data(), view.bytes().size());
          }
        throw nb::value_error(("no CRC-32 kernel named " + *kernel + " runs on this CPU").c_str());
      },
      nb::arg("data"), nb::arg("crc") = 0, nb::arg("kernel") = nb::none(),
      "CRC-32 (that of gzip) of a bytes-like object, continuing from ``crc``.");

  nb::class_<InflatedPiece>(m, "InflatedPiece", nb::type_slots(piece_slots),
                            nb::sig("class InflatedPiece(typing_extensions.Buffer)"),
                            "A piece of an inflated stream: bytes that StreamRecords takes without a copy.")
      .def("__len__", [](const InflatedPiece& piece) { return piece.bytes().size(); });

  nb::class_<OpenMembers>(m, "MemberQueue", "Inflates gzip members on native threads, two interleaved on each.")
      .def(
          "__init__",
          [](OpenMembers* self, std::size_t threads, std::size_t most) {
            new (self) OpenMembers(std::make_shared<Members>(threads, most));
          },
          nb::kw_only(), nb::arg("threads"), nb::arg("max_bytes"))
      .def(
          "submit", [](OpenMembers& self, nb::handle one, nb::handle other) { self.get()->submit(one, other); },
          nb::arg("one"), nb::arg("other"), "Submit what follows the headers of two members (b'' for none).")
      .def(
          "next", [](OpenMembers& self) { return self.get()->next(); },
          nb::sig("def next(self) -> list[InflatedPiece | None]"),
          "Return the oldest two, inflated; None for one that is damaged or claims more than ``max_bytes`` bytes.")
      .def("close", &OpenMembers::close, "End the threads.");

  nb::class_<FedInflater>(m, "StreamInflater", "Inflates raw deflate data that comes in parts of any size.")
      .def(nb::init<>())
      .def("feed", &FedInflater::feed, nb::arg("data"), "Add input, if it ``needs_input``.")
      .def("next", &FedInflater::next, "Return the next piece of the output, of bounded size, or an empty one.")
      .def_prop_ro("needs_input", [](const FedInflater& self) { return self.inflater().needs_input(); })
      .def_prop_ro("done", [](const FedInflater& self) { return self.inflater().stop() == Stop::kDone; })
      .def_prop_ro(
          "damaged", [](const FedInflater& self) { return self.inflater().stop() == Stop::kDamaged; },
          "Whether the last piece ends where the data is damaged.")
      .def_prop_ro(
          "unread", [](const FedInflater& self) { return self.inflater().unread(); },
          "Bytes of the input that were not read; once ``done``, the bytes after the data.")
      .def("stop_at_block", &FedInflater::stop_at_block, "Make a piece end where the next block starts.")
      .def_prop_ro(
          "at_block", [](const FedInflater& self) { return self.inflater().stop() == Stop::kBlock; },
          "Whether the last piece ends so.")
      .def_prop_ro(
          "decoded_bits", [](const FedInflater& self) { return self.inflater().decoded_bits(); },
          "Bits of all input that were decoded.")
      .def_prop_ro(
          "window",
          [](const FedInflater& self) {
            const std::span<const std::byte> window = self.inflater().window();
            return nb::bytes(reinterpret_cast<const char*>(window.data()), window.size());
          },
          "The end of the output so far, as much as later data can refer to.");

  m.def(
      "inflate_from",
      [](nb::handle data, unsigned bits, nb::handle window, bool gzip, std::size_t skip, std::size_t size) {
        const BytesView input(data), before(window);
        inflate::Inflated inflated = [&] {
          const ReleasedGil release;
          return inflate::inflate_from({input.bytes(), bits, before.bytes()}, gzip, skip, size);
        }();
        return std::pair(plain(std::move(inflated.piece)), inflated.needs_input);
      },
      nb::arg("data"), nb::arg("bits"), nb::arg("window"), nb::kw_only(), nb::arg("gzip"), nb::arg("skip"),
      nb::arg("size"),
      nb::sig("def inflate_from(data: typing_extensions.Buffer, bits: int, window: typing_extensions.Buffer, *, gzip: "
              "bool, skip: int, size: int) -> tuple[InflatedPiece | None, bool]"),
      "Inflate from the start of a block: ``skip`` bytes and then ``size``, which are returned; None if the data is "
      "damaged, or, if the second value is True, too short.");
  m.def(
      "used_window",
      [](nb::handle data, unsigned bits, nb::handle window) {
        const BytesView input(data), before(window);
        const std::vector<std::byte> used = [&] {
          const ReleasedGil release;
          return inflate::used_window({input.bytes(), bits, before.bytes()});
        }();
        return nb::bytes(reinterpret_cast<const char*>(used.data()), used.size());
      },
      nb::arg("data"), nb::arg("bits"), nb::arg("window"),
      "Return a window with zeros for the bytes that the data after it does not refer to, without those at its start.");

  m.def(
      "inflate_member",
      [](nb::handle body, std::size_t most) {
        const BytesView view(body);
        std::optional<Piece> piece = [&] {
          const ReleasedGil release;
          return inflate::inflate_member(view.bytes(), most);
        }();
        return plain(std::move(piece));
      },
      nb::arg("body"), nb::kw_only(), nb::arg("max_bytes"),
      "Inflate what follows the header of a gzip member; None if it is damaged or claims more than ``max_bytes`` "
      "bytes.");
}

}  // namespace penstock::bindings
