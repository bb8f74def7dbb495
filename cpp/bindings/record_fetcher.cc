#include "io/record_fetcher.h"

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
#include "bindings/row_decoder.h"
#include "io/record_locations.h"

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
    case FetchFaultKind::kUnread:
      return "unread";
  }
  return "none";
}

// Record locations in arrays that Python owns.
class BoundLocations {
 public:
  explicit BoundLocations(nb::tuple shards) : native_(locations_of(shards)), arrays_(std::move(shards)) {}

  const RecordLocations& native() const { return native_; }

 private:
  static RecordLocations locations_of(const nb::tuple& shards) {
    std::vector<ShardLocations> locations;
    for (nb::handle shard : shards) {
      const auto pair = nb::cast<nb::tuple>(shard);
      if (pair.size() != 2) throw nb::value_error("a file is a count and a length, or starts and lengths");
      locations.push_back(nb::isinstance<nb::int_>(pair[0])
                              ? ShardLocations{.count = nb::cast<std::uint64_t>(pair[0]),
                                               .equal_length = nb::cast<std::uint64_t>(pair[1])}
                              : listed(pair));
    }
    return RecordLocations(std::move(locations));
  }

  static ShardLocations listed(const nb::tuple& pair) {
    // Never converted: a copy would be released before it is used.
    const auto starts = nb::cast<Numbers<std::uint64_t>>(pair[0], false);
    if (pair[1].is_none()) {
      if (starts.size() == 0) throw nb::value_error("starts without lengths end with the end of the last record");
      return {.count = starts.size() - 1, .starts = starts.data()};
    }
    const auto lengths = nb::cast<Numbers<std::uint64_t>>(pair[1], false);
    if (lengths.size() != starts.size()) throw nb::value_error("starts and lengths must be of one size");
    return {.count = starts.size(), .starts = starts.data(), .lengths = lengths.data()};
  }

  RecordLocations native_;
  nb::tuple arrays_;
};

class Fetcher {
 public:
  Fetcher(std::vector<std::filesystem::path> paths, const BoundLocations& locations, std::size_t threads, bool verify,
          std::size_t max_open_files)
      : fetcher_(
            std::make_shared<RecordFetcher>(std::move(paths), locations.native(), threads, verify, max_open_files)) {}
  ~Fetcher() { close(); }

  void coalesce(const std::vector<Numbers<std::int64_t>>& jobs, const Decoder* decoder) {
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    std::vector<std::vector<std::uint64_t>> rows;
    for (const Numbers<std::int64_t>& job : jobs) rows.push_back(rows_of(*fetcher, job));
    const ReleasedGil release;
    fetcher->coalesce(rows, decoder == nullptr ? nullptr : decoder->native());
  }

  void submit(Numbers<std::int64_t> rows, nb::object decoder, nb::list outputs) {
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    JobInProgress in_progress{std::move(decoder), std::move(outputs)};
    fetcher->submit(job_of(*fetcher, rows, in_progress));
    in_progress_.push_back(std::move(in_progress));
  }

  nb::tuple next() {
    std::optional<FetchJob> job;
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    try {
      wait_for([&](auto timeout) {
        job = fetcher->next(timeout);
        return job.has_value();
      });
    } catch (...) {
      if (fetcher->pending() < in_progress_.size()) in_progress_.pop_front();  // the job failed
      throw;
    }
    const JobInProgress in_progress = std::move(in_progress_.front());
    in_progress_.pop_front();
    return result_of(*job, in_progress);
  }

  nb::tuple fetch(Numbers<std::int64_t> rows, nb::object decoder) {
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    const JobInProgress in_progress{std::move(decoder), nb::list()};
    FetchJob job = job_of(*fetcher, rows, in_progress);
    run(*fetcher, job);
    return result_of(job, in_progress);
  }

  nb::tuple records(Numbers<std::int64_t> rows) {
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    FetchJob job = job_of(*fetcher, rows);
    run(*fetcher, job);
    nb::list records;
    for (const Chunk& chunk : job.chunks)
      for (std::size_t i = 0; i < chunk.size(); ++i) records.append(bytes_of(chunk.buffer, chunk.span(i)));
    return nb::make_tuple(std::move(records), std::move(job.faults));
  }

  nb::object record(std::int64_t row) {
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    const std::uint64_t checked = checked_row(*fetcher, row);
    FetchedRecord record;
    {
      const ReleasedGil release;
      record = fetcher->read_one(checked);
    }
    if (record.fault != FetchFaultKind::kNone) return nb::cast(FetchFault{0, record.fault});
    return bytes_of(record.frame, {kHeaderBytes, record.length});
  }

  nb::object row(std::int64_t row, const RowDecoder& decoder) {
    const std::shared_ptr<RecordFetcher> fetcher = fetcher_.get();
    const std::uint64_t checked = checked_row(*fetcher, row);
    std::optional<DecodedRow> decoded;
    {
      const ReleasedGil release;
      FetchedRecord record = fetcher->read_one(checked);
      if (record.fault == FetchFaultKind::kNone)
        decoded = decoder.decode(std::move(record.frame), static_cast<std::size_t>(record.length));
    }
    return decoded && decoded->is_valid() ? nb::object(decoder.to_python(std::move(*decoded))) : nb::none();
  }

  std::size_t pending() const { return fetcher_.get()->pending(); }

  void close() {
    fetcher_.close();
    in_progress_.clear();
  }

 private:
  // What a job uses and Python owns.
  struct JobInProgress {
    nb::object decoder;
    nb::list outputs;
  };

  static std::vector<std::uint64_t> rows_of(const RecordFetcher& fetcher, const Numbers<std::int64_t>& rows) {
    std::vector<std::uint64_t> checked;
    checked.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) checked.push_back(checked_row(fetcher, rows.data()[i]));
    return checked;
  }

  static FetchJob job_of(const RecordFetcher& fetcher, const Numbers<std::int64_t>& rows) {
    FetchJob job;
    job.rows = rows_of(fetcher, rows);
    return job;
  }

  static FetchJob job_of(const RecordFetcher& fetcher, const Numbers<std::int64_t>& rows,
                         const JobInProgress& in_progress) {
    FetchJob job = job_of(fetcher, rows);
    const auto& decoder = nb::cast<const Decoder&>(in_progress.decoder);
    job.decoder = decoder.native();
    job.outputs = decoder.pointers_of(rows.size(), in_progress.outputs);
    return job;
  }

  static void run(RecordFetcher& fetcher, FetchJob& job) {
    const ReleasedGil release;
    fetcher.run(job);
  }

  static nb::tuple result_of(FetchJob& job, const JobInProgress& in_progress) {
    nb::object decoded = nb::none();
    if (job.decoded) {
      const BoundFeatures& features = nb::cast<const Decoder&>(in_progress.decoder).features();
      decoded = nb::cast(DecodedColumns(features, std::move(*job.decoded), in_progress.outputs));
    }
    return nb::make_tuple(decoded, std::move(job.faults));
  }

  static nb::bytes bytes_of(const SharedBuffer& buffer, Span payload) {
    return nb::bytes(buffer->data() + payload.offset, static_cast<std::size_t>(payload.length));
  }

  static std::uint64_t checked_row(const RecordFetcher& fetcher, std::int64_t row) {
    if (row < 0 || static_cast<std::uint64_t>(row) >= fetcher.locations().rows()) throw nb::index_error("no such row");
    return static_cast<std::uint64_t>(row);
  }

  Closable<RecordFetcher> fetcher_;
  std::deque<JobInProgress> in_progress_;
};

}  // namespace

#define PENSTOCK_FETCHED "tuple[DecodedColumns | None, list[FetchFault]]"

void bind_record_fetcher(nb::module_& m) {
  nb::class_<FetchFault>(m, "FetchFault", "Why a record is not as the index describes it.")
      .def_ro("row", &FetchFault::row, "Row of the job.")
      .def_prop_ro(
          "kind", [](const FetchFault& fault) { return name_of(fault.kind); },
          "One of length-crc, data-crc, truncated-record, moved (a valid record of another length: the index is "
          "stale), unread (with others; reading it alone shows why).");

  nb::class_<BoundLocations>(m, "RecordLocations", "The locations of records; rows are numbered across all files.")
      .def(nb::init<nb::tuple>(), nb::arg("files"),
           nb::sig("def __init__(self, files: tuple[tuple[int, int] | tuple[NDArray[numpy.uint64], "
                   "NDArray[numpy.uint64] | None], ...]) -> None"),
           "For each file, the number of records and their common length, or the starts of their frames and the "
           "lengths of their payloads; without lengths, the end of the last frame follows the starts.")
      .def_prop_ro(
          "nbytes", [](const BoundLocations& locations) { return locations.native().bytes(); },
          "Bytes of the frames, approximately.");

  nb::class_<RowDecoder>(m, "NativeRowDecoder", "Decodes one record at a time.")
      .def(nb::init<const Decoder&, std::vector<std::vector<std::size_t>>>(), nb::arg("decoder"), nb::arg("scalars"),
           nb::keep_alive<1, 2>(), "``scalars`` are groups of features without shape; each comes as one array.");

  nb::class_<Fetcher>(m, "RecordFetcher", "Reads records of local files by number, on native threads.")
      .def(
          "__init__",
          [](Fetcher* self, std::vector<std::filesystem::path> paths, const BoundLocations& locations,
             std::size_t threads, bool verify, std::size_t max_open_files) {
            if (threads == 0 || max_open_files == 0)
              throw nb::value_error("threads and max_open_files must be positive");
            if (locations.native().shards() != paths.size())
              throw nb::value_error("locations need an entry for each file");
            new (self) Fetcher(std::move(paths), locations, threads, verify, max_open_files);
          },
          nb::arg("paths"), nb::arg("locations"), nb::kw_only(), nb::arg("threads"), nb::arg("verify") = true,
          nb::arg("max_open_files") = 64, nb::keep_alive<1, 3>(),
          nb::sig(
              "def __init__(self, paths: collections.abc.Sequence[str | os.PathLike[str]], locations: RecordLocations, "
              "*, threads: int, verify: bool = True, max_open_files: int = 64) -> None"))
      .def(
          "coalesce", &Fetcher::coalesce, nb::arg("jobs"), nb::arg("decoder") = nb::none(),
          nb::sig("def coalesce(self, jobs: list[NDArray[numpy.int64]], decoder: NativeDecoder | None = None) -> None"),
          "Announce the rows of the next jobs, so that they are read together: for rows that are a good part of "
          "the range that they span. With the decoder that they will be submitted with, and no outputs, they may "
          "also be decoded on the way.")
      .def("submit", &Fetcher::submit, nb::arg("rows"), nb::arg("decoder"), nb::arg("outputs") = nb::list(),
           nb::sig("def submit(self, rows: NDArray[numpy.int64], decoder: NativeDecoder, outputs: list[typing.Any] = "
                   "[]) -> None"),
           "Start reading and decoding rows. ``outputs`` as in NativeDecoder.decode.")
      .def_prop_ro("pending", &Fetcher::pending, "Jobs submitted and not taken.")
      .def("next", &Fetcher::next, nb::sig("def next(self) -> " PENSTOCK_FETCHED),
           "Return the oldest job: its decoded rows, or all of its faults.")
      .def("fetch", &Fetcher::fetch, nb::arg("rows"), nb::arg("decoder"),
           nb::sig("def fetch(self, rows: NDArray[numpy.int64], decoder: NativeDecoder) -> " PENSTOCK_FETCHED),
           "Read and decode rows now, on the calling thread and others; return as next() does.")
      .def("records", &Fetcher::records, nb::arg("rows"),
           nb::sig("def records(self, rows: NDArray[numpy.int64]) -> tuple[list[bytes], list[FetchFault]]"),
           "Read rows as stored, now; return them, or all of their faults.")
      .def("record", &Fetcher::record, nb::arg("row"), nb::sig("def record(self, row: int) -> bytes | FetchFault"),
           "Read one row as stored, on the calling thread.")
      .def("row", &Fetcher::row, nb::arg("row"), nb::arg("decoder"),
           nb::sig("def row(self, row: int, decoder: NativeRowDecoder) -> tuple[list[NDArray[typing.Any]], "
                   "list[typing.Any], list[NDArray[numpy.uint8]]] | None"),
           "Read and decode one row, on the calling thread: the groups of scalars, the columns of the other features "
           "(None for those in groups), and the buffers of views. None on any fault.")
      .def("close", &Fetcher::close, "End the threads and close the files.");
}

}  // namespace penstock::bindings
