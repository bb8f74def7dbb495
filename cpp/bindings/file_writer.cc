#include "io/file_writer.h"

#include <cstring>
#include <memory>

#include "bindings/bindings.h"
#include "bindings/frame_buffer.h"

namespace penstock::bindings {
namespace {

using OpenFileWriter = Closable<FileWriter>;

void submit(const std::shared_ptr<FileWriter>& writer, const Frames& frames) {
  wait_for([&](auto timeout) { return writer->submit(frames, timeout); });
}

void drain(OpenFileWriter& self) {
  const auto writer = self.get();
  wait_for([&](auto timeout) { return writer->drain(timeout); });
}

void sync(OpenFileWriter& self) {
  drain(self);
  const auto writer = self.get();
  const ReleasedGil release;
  writer->sync();
}

void close_writer(OpenFileWriter& self) {
  std::shared_ptr<FileWriter> writer = self.take();
  if (!writer) return;
  const bool alone = writer.use_count() == 1;  // otherwise the running call destroys it
  const ReleasedGil release;
  if (alone) writer->close();
  writer.reset();
}

}  // namespace

void bind_file_writer(nb::module_& m) {
  nb::class_<OpenFileWriter>(
      m, "FileWriter", "Writes to a duplicate of a file descriptor, in order, on a native thread. Errors are sticky.")
      .def(
          "__init__",
          [](OpenFileWriter* self, int descriptor) {
            new (self) OpenFileWriter(std::make_shared<FileWriter>(descriptor));
          },
          nb::arg("descriptor"))
      .def(
          "write_frames",
          [](OpenFileWriter& self, GuardedFrames& guarded) {
            FrameBuffer& frames = guarded.get();
            if (frames.size() == 0) return;
            const auto writer = self.get();
            submit(writer, frames.release());
          },
          nb::arg("frames"), "Take over the frames without a copy, and write them.")
      .def(
          "write",
          [](OpenFileWriter& self, nb::handle data) {
            const BytesView view(data);
            const auto bytes = view.bytes();
            if (bytes.empty()) return;
            const auto writer = self.get();
            auto buffer = std::make_shared<Buffer>(bytes.size());
            {
              const ReleasedGil release;
              std::memcpy(buffer->data(), bytes.data(), bytes.size());
            }
            submit(writer, {buffer, bytes.size()});
          },
          nb::arg("data"), "Copy a bytes-like object and write it.")
      .def("drain", &drain, "Wait until everything is with the operating system.")
      .def("sync", &sync, "Wait until everything is on the disk.")
      .def("close", &close_writer,
           "End the thread, or detach it if it is stuck in a write; raise the error of a write or of closing. The "
           "caller's descriptor stays open.");
}

}  // namespace penstock::bindings
