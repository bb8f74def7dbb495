#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/decoder.h"
#include "io/record_fetcher.h"

namespace penstock::bindings {
namespace {

template <typename T>
using Numbers = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

const char* name_of(FetchFaultKind kind) {
  switch (kind) {
    case FetchFaultKind::kNone:
      return "none";
    case FetchFaultKind::kLengthChecksum:
      return "length-crc";
    case FetchFaultKind::kDataChecksum:
      return "data-crc";
    case FetchFaultKind::kTruncatedRecord:
      return "truncated-record";
    case FetchFaultKind::kMoved:
      return "moved";
  }
  return "none";
}

class Fetcher {
 public:
  Fetcher(std::vector<std::filesystem::path> paths, std::size_t threads, bool verify, std::size_t max_open_files)
      : fetcher_(std::make_shared<RecordFetcher>(std::move(paths), threads, verify, max_open_files)) {}
  ~Fetcher() { close(); }

  void submit(Numbers<std::int32_t> shards, Numbers<std::uint64_t> offsets, Numbers<std::uint64_t> lengths,
              nb::object decoder, nb::list outputs) {
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    fetcher->submit(job_of(*fetcher, shards, offsets, lengths, decoder, outputs));
    under_way_.push_back({std::move(decoder), std::move(outputs)});
  }

  nb::tuple fetch(Numbers<std::int32_t> shards, Numbers<std::uint64_t> offsets, Numbers<std::uint64_t> lengths,
                  nb::object decoder, nb::list outputs) {
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    FetchJob job = job_of(*fetcher, shards, offsets, lengths, decoder, outputs);
    {
      const nb::gil_scoped_release release;
      fetcher->run(job);
    }
    return answer_of(job, {std::move(decoder), std::move(outputs)});
  }

  nb::tuple next() {
    std::optional<FetchJob> job;
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    try {
      wait_for([&](auto patience) {
        job = fetcher->next(patience);
        return job.has_value();
      });
    } catch (...) {
      if (fetcher->pending() < under_way_.size()) under_way_.pop_front();  // it was the job that failed
      throw;
    }
    const UnderWay kept = std::move(under_way_.front());
    under_way_.pop_front();
    return answer_of(*job, kept);
  }

  nb::object read_one(std::int64_t shard, std::uint64_t offset, std::uint64_t length) {
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    const std::size_t checked = checked_shard(*fetcher, shard);
    thread_local std::vector<std::byte> frame;
    FetchFaultKind kind;
    {
      const nb::gil_scoped_release release;
      kind = fetcher->read_one(checked, offset, length, frame);
    }
    nb::object answer = kind == FetchFaultKind::kNone
                            ? nb::object(nb::bytes(frame.data() + kHeaderBytes, static_cast<std::size_t>(length)))
                            : nb::cast(FetchFault{0, kind});
    if (frame.capacity() > kMostKept) frame = {};
    return answer;
  }

  std::size_t pending() const { return fetcher_.get()->pending(); }

  void close() {
    fetcher_.close();
    under_way_.clear();
  }

 private:
  // What a job uses and Python owns.
  struct UnderWay {
    nb::object decoder;
    nb::list outputs;
  };

  // Of the memory that reading one record takes, what is kept for the next.
  static constexpr std::size_t kMostKept = std::size_t{1} << 20;

  static FetchJob job_of(const RecordFetcher& fetcher, const Numbers<std::int32_t>& shards,
                         const Numbers<std::uint64_t>& offsets, const Numbers<std::uint64_t>& lengths,
                         const nb::object& decoder, const nb::list& outputs) {
    const std::size_t rows = shards.size();
    if (offsets.size() != rows || lengths.size() != rows)
      throw nb::value_error("shards, offsets and lengths must be of one size");
    FetchJob job;
    for (std::size_t i = 0; i < rows; ++i) job.shards.push_back(checked_shard(fetcher, shards.data()[i]));
    job.offsets.assign(offsets.data(), offsets.data() + rows);
    job.lengths.assign(lengths.data(), lengths.data() + rows);
    if (!decoder.is_none()) {
      const auto& bound = nb::cast<const Decoder&>(decoder);
      job.decoder = bound.native();
      job.outputs = bound.pointers_of(rows, outputs);
    }
    return job;
  }

  static nb::tuple answer_of(FetchJob& job, const UnderWay& kept) {
    nb::object decoded = nb::none();
    if (job.decoded) decoded = nb::cast<const Decoder&>(kept.decoder).to_python(*job.decoded, kept.outputs);
    return nb::make_tuple(std::move(job.chunks), decoded, std::move(job.faults));
  }

  static std::uint32_t checked_shard(const RecordFetcher& fetcher, std::int64_t shard) {
    if (shard < 0 || static_cast<std::uint64_t>(shard) >= fetcher.shards()) throw nb::index_error("no such shard");
    return static_cast<std::uint32_t>(shard);
  }

  Closable<RecordFetcher> fetcher_;
  std::deque<UnderWay> under_way_;
};

}  // namespace

void bind_fetching(nb::module_& m) {
  nb::class_<FetchFault>(m, "FetchFault", "Why a record is not where, or what, the index says.")
      .def_ro("row", &FetchFault::row, "Row of the job.")
      .def_prop_ro(
          "kind", [](const FetchFault& fault) { return name_of(fault.kind); },
          "One of length-crc, data-crc, truncated-record, moved (a good record of another length: the index is "
          "stale).");

  nb::class_<Fetcher>(m, "RecordFetcher", "Reads records of local files by their places, on native threads.")
      .def(
          "__init__",
          [](Fetcher* self, std::vector<std::filesystem::path> paths, std::size_t threads, bool verify,
             std::size_t max_open_files) {
            if (threads == 0 || max_open_files == 0)
              throw nb::value_error("threads and max_open_files must be positive");
            new (self) Fetcher(std::move(paths), threads, verify, max_open_files);
          },
          nb::arg("paths"), nb::kw_only(), nb::arg("threads"), nb::arg("verify") = true, nb::arg("max_open_files") = 64,
          nb::sig(
              "def __init__(self, paths: collections.abc.Sequence[str | os.PathLike[str]], *, threads: int, verify: "
              "bool = True, max_open_files: int = 64) -> None"))
      .def(
          "submit", &Fetcher::submit, nb::arg("shards"), nb::arg("offsets"), nb::arg("lengths"),
          nb::arg("decoder") = nb::none(), nb::arg("outputs") = nb::list(),
          nb::sig("def submit(self, shards: NDArray[numpy.int32], offsets: NDArray[numpy.uint64], lengths: "
                  "NDArray[numpy.uint64], decoder: NativeDecoder | None = None, outputs: list[typing.Any] = []) -> "
                  "None"),
          "Start a job: of each row the file, the offset of its frame and the length of its payload. ``outputs`` as in "
          "NativeDecoder.decode.")
      .def("fetch", &Fetcher::fetch, nb::arg("shards"), nb::arg("offsets"), nb::arg("lengths"),
           nb::arg("decoder") = nb::none(), nb::arg("outputs") = nb::list(),
           nb::sig("def fetch(self, shards: NDArray[numpy.int32], offsets: NDArray[numpy.uint64], lengths: "
                   "NDArray[numpy.uint64], decoder: NativeDecoder | None = None, outputs: list[typing.Any] = []) -> "
                   "tuple[list[RecordChunk], " PENSTOCK_DECODED " | None, list[FetchFault]]"),
           "Do one job on the calling thread, and answer as next() does.")
      .def_prop_ro("pending", &Fetcher::pending, "Jobs submitted and not taken.")
      .def("next", &Fetcher::next,
           nb::sig("def next(self) -> tuple[list[RecordChunk], " PENSTOCK_DECODED " | None, list[FetchFault]]"),
           "The oldest job: its records (without a decoder) or what they decode to, or else all that is wrong.")
      .def("read_one", &Fetcher::read_one, nb::arg("shard"), nb::arg("offset"), nb::arg("length"),
           nb::sig("def read_one(self, shard: int, offset: int, length: int) -> bytes | FetchFault"),
           "Read one record on the calling thread.")
      .def("close", &Fetcher::close, "End the threads and close the files.");
}

}  // namespace penstock::bindings
