#include "io/decode_queue.h"

#include <nanobind/stl/vector.h>

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/decoder.h"

namespace penstock::bindings {
namespace {

class Queue {
 public:
  Queue(const Decoder& decoder, std::size_t threads)
      : decoder_(decoder), queue_(std::make_shared<DecodeQueue>(decoder.native(), threads)) {}
  ~Queue() { close(); }

  void submit(std::vector<Chunk> chunks, nb::list outputs) {
    const std::shared_ptr<DecodeQueue> queue = queue_.get();
    Outputs pointers = decoder_.pointers_of(rows_of(chunks), outputs);
    queue->submit({std::move(chunks), std::move(pointers), {}});
    outputs_.push_back(std::move(outputs));
  }
  std::size_t pending() const { return queue_.get()->pending(); }
  DecodedColumns next() {
    const std::shared_ptr<DecodeQueue> queue = queue_.get();
    std::optional<DecodeJob> job;
    try {
      wait_for([&](auto timeout) {
        job = queue->next(timeout);
        return job.has_value();
      });
    } catch (...) {
      if (queue->pending() < outputs_.size()) outputs_.pop_front();  // the job failed
      throw;
    }
    nb::list outputs = std::move(outputs_.front());
    outputs_.pop_front();
    return {decoder_.features(), std::move(job->batch), std::move(outputs)};
  }
  void close() {
    queue_.close();
    outputs_.clear();
  }

 private:
  const Decoder& decoder_;
  Closable<DecodeQueue> queue_;
  std::deque<nb::list> outputs_;  // of the batches in progress: kept alive until their threads are done
};

}  // namespace

void bind_decode_queue(nb::module_& m) {
  nb::class_<Queue>(m, "DecodeQueue", "Decodes batches ahead, in parallel, and returns them in order.")
      .def(nb::init<const Decoder&, std::size_t>(), nb::arg("decoder"), nb::arg("threads"), nb::keep_alive<1, 2>())
      .def("submit", &Queue::submit, nb::arg("chunks"), nb::arg("outputs"),
           nb::sig("def submit(self, chunks: list[RecordChunk], outputs: list[typing.Any]) -> None"),
           "Start decoding a batch; ``outputs`` as in NativeDecoder.decode.")
      .def_prop_ro("pending", &Queue::pending, "Batches submitted and not taken.")
      .def("next", &Queue::next, "Return the oldest batch.")
      .def("close", &Queue::close, "End the threads.");
}

}  // namespace penstock::bindings
