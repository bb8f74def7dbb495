// Everything that has threads, all at once, under ThreadSanitizer: usage  threads ROUNDS
//
// A file is written on a thread, read on several, decoded by a queue while other threads share its decoder, decoded
// directly from the file, and fetched by location; gzip members are inflated. The result does not depend on the order
// in which threads run.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "core/crc32/crc32.h"
#include "core/frame_buffer.h"
#include "core/stats/record_stats.h"
#include "io/decode_queue.h"
#include "io/file_batches.h"
#include "io/file_records.h"
#include "io/file_writer.h"
#include "io/header_walk.h"
#include "io/member_queue.h"
#include "io/record_fetcher.h"
#include "io/workers.h"
#include "tests/columns.h"
#include "tests/odd_messages.h"

namespace penstock::tests {
namespace {

constexpr std::size_t kRecords = 400;
constexpr std::chrono::milliseconds kTimeout{10000};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct TemporaryFile {
  std::string path = "/tmp/penstock-threads-XXXXXX";
  int descriptor = mkstemp(path.data());
  TemporaryFile() { require(descriptor >= 0, "no temporary file"); }
  ~TemporaryFile() {
    close(descriptor);
    unlink(path.c_str());
  }
};

bool same(const DecodePlan& plan, const DecodedBatch& batch, const DecodedBatch& expected) {
  if (batch.fault.fault != ExampleFault::kNone || expected.fault.fault != ExampleFault::kNone)
    return batch.fault.fault == expected.fault.fault && batch.fault.row == expected.fault.row;
  std::string difference;
  return same_batch(plan, batch, expected, difference);
}

void write_file(Random& random, const TemporaryFile& file) {
  FileWriter writer(file.descriptor);
  FrameBuffer frames;
  for (std::size_t i = 0; i < kRecords; ++i) {
    const std::string record = odd_message(random, false);
    frames.append(std::as_bytes(std::span(record)));
    if (i % 50 != 49) continue;
    require(writer.submit(frames.release(), kTimeout), "the writer does not take frames");
  }
  require(writer.drain(kTimeout), "the writer does not write");
}

std::vector<Chunk> read_file(const TemporaryFile& file, std::size_t most) {
  BlockReaderOptions options;
  options.threads = 4;
  options.block_bytes = 4096;
  FileRecords records(file.path, options);
  std::vector<Chunk> chunks;
  while (chunks.size() < most) {
    const NextEvent event = records.next(kTimeout);
    if (std::holds_alternative<EndOfRecords>(event)) break;
    require(std::holds_alternative<Chunk>(event), "the file is damaged, or reading takes forever");
    chunks.push_back(std::get<Chunk>(event));
  }
  return chunks;
}

// Records that the reading threads also decode: valid chunks are counted, others are returned.
void check_checked(const TemporaryFile& file, const std::shared_ptr<BatchDecoder>& decoder) {
  BlockReaderOptions options;
  options.threads = 3;
  options.block_bytes = 4096;
  const auto decodes = [&](const Chunk& chunk) {
    return decoder->decode({chunk}, {}, 1, run_here).fault.fault == ExampleFault::kNone;
  };
  FileRecords records(file.path, options, decodes);
  std::uint64_t valid = 0, others = 0;
  for (;;) {
    const NextEvent event = records.next(kTimeout);
    if (std::holds_alternative<EndOfRecords>(event)) break;
    if (const auto* counted = std::get_if<ValidRecords>(&event)) {
      valid += counted->records;
      continue;
    }
    const auto* chunk = std::get_if<Chunk>(&event);
    require(chunk != nullptr, "the file is damaged, or checking takes forever");
    require(decoder->decode({*chunk}, {}, 1, run_here).fault.fault != ExampleFault::kNone, "a valid chunk is returned");
    others += chunk->size();
  }
  require(valid + others == kRecords, "records are not checked");
}

// Batches directly from files, compared with the records decoded together; and a consumer that leaves early.
void check_batches(Random& random, const TemporaryFile& file, const std::vector<Chunk>& chunks,
                   const std::shared_ptr<BatchDecoder>& decoder) {
  BlockReaderOptions options;
  options.threads = 2 + random.below(7);
  options.block_bytes = random.one_in(2) ? 512 : 4096;
  const std::size_t rows = random.one_in(3) ? 1 + random.below(9) : random.one_in(2) ? 30 : 1000;
  const std::vector<std::filesystem::path> paths{file.path, file.path};
  FileBatches(paths, decoder, rows, options).next(kTimeout);  // others are in progress when it is destroyed

  std::vector<Chunk> both(chunks);
  both.insert(both.end(), chunks.begin(), chunks.end());
  FileBatches batches(paths, decoder, rows, options);
  for (std::size_t first = 0; first < 2 * kRecords; first += rows) {
    std::vector<Chunk> part;
    std::size_t row = 0;
    for (const Chunk& chunk : both) {
      const std::size_t from = std::max(first, row), to = std::min(first + rows, row + chunk.size());
      if (from < to) part.push_back(chunk.slice(from - row, to - row));
      row += chunk.size();
    }
    const DecodedBatch expected = decoder->decode(part, {}, 1, run_here);
    const NextBatch next = batches.next(kTimeout);
    require(std::holds_alternative<DecodedBatch>(next), "a batch is missing, or takes forever");
    require(same(decoder->plan(), std::get<DecodedBatch>(next), expected), "batches from files differ");
  }
  require(std::holds_alternative<EndOfRecords>(batches.next(kTimeout)), "batches do not end");
}

// Several small batches of each block: of dense rows, which share memory, read by many threads and a slow consumer.
void check_small_batches(Random& random, const TemporaryFile& file) {
  DecodePlan plan;
  plan.features.resize(3);
  for (std::size_t f = 0; f < plan.features.size(); ++f) {
    plan.features[f].key = std::string(1, static_cast<char>('a' + f));
    plan.features[f].missing = Missing::kInvalid;
  }
  const auto decoder = std::make_shared<BatchDecoder>(plan);
  BlockReaderOptions options;
  options.threads = 8;
  options.block_bytes = random.one_in(2) ? 1024 : 8192;
  const std::size_t rows = 1 + random.below(20);
  FileBatches batches(std::vector<std::filesystem::path>(4, file.path), decoder, rows, options);
  std::vector<DecodedBatch> kept;
  std::size_t total = 0;
  for (;;) {
    NextBatch next = batches.next(kTimeout);
    if (!std::holds_alternative<DecodedBatch>(next)) break;
    total += std::get<DecodedBatch>(next).rows;
    if (std::get<DecodedBatch>(next).fault.fault != ExampleFault::kNone) return;
    if (random.one_in(4)) kept.push_back(std::get<DecodedBatch>(std::move(next)));
    if (random.one_in(8)) std::this_thread::yield();
  }
  require(total == 4 * kRecords, "small batches miss rows");
  for (const DecodedBatch& batch : kept)
    for (const DecodedColumn& column : batch.columns)
      require(column.valid->data()[batch.rows - 1] <= std::byte{1}, "kept batches change");
}

// Statistics to which several threads add equal those of one thread.
void check_stats(const std::vector<Chunk>& chunks, const std::shared_ptr<BatchDecoder>& decoder) {
  const std::vector<FeatureStats> features(decoder->plan().features.size(), FeatureStats(Scalar::kUint8, true));
  RecordStats expected(decoder, decoder, features);
  for (const Chunk& chunk : chunks)
    for (std::size_t i = 0; i < chunk.size(); ++i) static_cast<void>(expected.add(chunk.slice(i, i + 1), 0));
  RecordStats found(decoder, decoder, features);
  std::vector<std::thread> others;
  for (std::size_t t = 0; t < 3; ++t) {
    others.emplace_back([&, t] {
      const std::shared_ptr<RecordStats> own = found.fresh();
      for (const Chunk& chunk : chunks)
        for (std::size_t i = t; i < chunk.size(); i += 3)
          static_cast<void>((t == 0 ? found : *own).add(chunk.slice(i, i + 1), 0));
      found.merge(*own);
    });
  }
  for (std::thread& other : others) other.join();
  const StatsResult one = expected.result(), sum = found.result();
  require(one.sizes.count == sum.sizes.count && one.sizes.high == sum.sizes.high, "statistics of threads differ");
  for (std::size_t f = 0; f < features.size(); ++f)
    require(one.features[f].integers.count == sum.features[f].integers.count &&
                one.features[f].values.distinct() == sum.features[f].values.distinct(),
            "statistics of features differ");
}

// A consumer that is late repeatedly and finds nothing: a thread takes over its reads.
void check_late_consumer(const TemporaryFile& file, const std::shared_ptr<BatchDecoder>& decoder) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kFiles = 5, kRows = 200;
  BlockReaderOptions options;
  options.threads = 2;
  options.block_bytes = 4096;
  FileBatches batches(std::vector<std::filesystem::path>(kFiles, file.path), decoder, kRows, options);
  for (std::size_t row = 0; row < kFiles * kRecords; row += kRows) {
    const NextBatch next = batches.next(kTimeout);
    require(std::holds_alternative<DecodedBatch>(next), "a batch is missing, or takes forever");
    for (const Clock::time_point back = Clock::now() + std::chrono::microseconds(200); Clock::now() < back;) {
    }
  }
  require(std::holds_alternative<EndOfRecords>(batches.next(kTimeout)), "batches do not end");
}

// Records by number, shuffled, decoded by threads that share a decoder and a few open files.
void check_fetcher(Random& random, const TemporaryFile& file, const std::vector<Chunk>& chunks,
                   const std::shared_ptr<BatchDecoder>& decoder) {
  constexpr std::size_t kFiles = 3;
  std::vector<Chunk> records;
  std::vector<std::uint64_t> starts, lengths;
  for (const Chunk& chunk : chunks) {
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      records.push_back(chunk.slice(i, i + 1));
      starts.push_back(chunk.frame_offset(i));
      lengths.push_back(chunk.span(i).length);
    }
  }
  const ShardLocations one_file{records.size(), 0, starts.data(), lengths.data()};
  const RecordLocations locations(std::vector(kFiles, one_file));
  RecordFetcher fetcher(std::vector<std::filesystem::path>(kFiles, file.path), locations, 3, true, 2);
  std::vector<FetchJob> jobs(8);
  std::vector<std::vector<Chunk>> expected(jobs.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::size_t j = random.below(jobs.size());
    jobs[j].rows.push_back(i + records.size() * random.below(kFiles));
    expected[j].push_back(records[i]);
  }
  const auto check_job = [&](const FetchJob& job, std::size_t j) {
    require(job.faults.empty() && job.decoded, "records are not fetched");
    require(same(decoder->plan(), *job.decoded, decoder->decode(expected[j], {}, 1, run_here)), "fetched ones differ");
  };
  for (FetchJob& job : jobs) {
    job.decoder = decoder;
    fetcher.submit(job);
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    FetchJob here = jobs[j];
    fetcher.run(here);  // shared with other threads, while jobs are in progress
    check_job(here, j);
    const std::optional<FetchJob> job = fetcher.next(kTimeout);
    require(job.has_value(), "a job is lost, or takes forever");
    check_job(*job, j);
  }
  std::vector<std::vector<std::uint64_t>> rows;
  for (const FetchJob& job : jobs) rows.push_back(job.rows);
  fetcher.coalesce(rows, random.one_in(2) ? decoder : nullptr);
  for (const FetchJob& job : jobs) fetcher.submit(job);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::optional<FetchJob> job = fetcher.next(kTimeout);
    require(job.has_value(), "a coalesced job is lost, or takes forever");
    check_job(*job, j);
  }
  if (random.one_in(2)) fetcher.coalesce(rows, decoder);
  for (FetchJob& job : jobs) fetcher.submit(std::move(job));  // which are never taken
}

void check_walk(Random& random, const TemporaryFile& file) {
  HeaderWalkOptions options;
  options.threads = 3;
  options.piece_bytes = random.one_in(2) ? 100 : 1000;
  HeaderWalk walk(file.path, options);
  while (walk.advance(std::size_t{16} << 10)) {
  }
  require(walk.records() == kRecords && walk.position() == walk.file_size(), "the walk misses records");
}

void check_members(Random& random) {
  const std::string plain(1 + random.below(60000), 'x');
  std::string body("\1\0\0\0\0", 5);  // the last block, stored; its size, and the complement
  body.resize(5 + 8 + plain.size());
  auto* const bytes = reinterpret_cast<std::byte*>(body.data());
  const auto size = static_cast<std::uint32_t>(plain.size());
  store_le32(bytes + 1, size | (size ^ 0xFFFF) << 16);
  std::memcpy(bytes + 5, plain.data(), plain.size());
  store_le32(bytes + 5 + plain.size(), crc32(std::as_bytes(std::span(plain))));
  store_le32(bytes + 5 + plain.size() + 4, size);

  MemberQueue queue(3, std::size_t{1} << 20);
  const auto whole = std::as_bytes(std::span(body));
  for (int i = 0; i < 8; ++i) queue.submit(whole, i % 2 != 0 ? whole : whole.first(7));
  for (int i = 0; i < 4; ++i) {  // others are in progress when the queue is destroyed
    const std::optional<MemberQueue::Inflated> found = queue.next(kTimeout);
    require(found && (*found)[0] && (*found)[1].has_value() == (i % 2 != 0), "a member does not inflate");
    require(std::memcmp((*found)[0]->bytes().data(), plain.data(), plain.size()) == 0, "a member differs");
  }
}

void check(Random& random) {
  const TemporaryFile file;
  write_file(random, file);
  check_walk(random, file);
  check_members(random);
  read_file(file, 1);  // other blocks are in progress when the reader is destroyed
  const std::vector<Chunk> chunks = read_file(file, kRecords);
  std::size_t rows = 0;
  for (const Chunk& chunk : chunks) rows += chunk.size();
  require(rows == kRecords, "records are missing");

  DecodePlan plan = random_plan(random);
  plan.sequence_example = false;
  const auto decoder = std::make_shared<BatchDecoder>(plan);
  Workers workers(3);
  const auto decode = [&](const Chunk& chunk, std::size_t parts) {
    return decoder->decode({chunk}, {}, parts, [&](std::size_t n, const auto& task) { workers.run(n, task); });
  };
  std::vector<DecodedBatch> expected;
  for (const Chunk& chunk : chunks) expected.push_back(decode(chunk, 1));
  DecodeQueue queue(decoder, 3);
  std::vector<std::thread> others;
  for (int t = 0; t < 2; ++t)
    others.emplace_back([&] {
      for (std::size_t i = 0; i < chunks.size(); ++i)
        require(same(plan, decode(chunks[i], 3), expected[i]), "threads differ");
    });
  for (const Chunk& chunk : chunks) queue.submit({{chunk}, {}, {}});
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::optional<DecodeJob> job = queue.next(kTimeout);
    require(job.has_value() && same(plan, job->batch, expected[i]), "the queue differs");
  }
  for (std::thread& other : others) other.join();
  for (const Chunk& chunk : chunks) queue.submit({{chunk}, {}, {}});  // which are never taken
  check_checked(file, decoder);
  check_batches(random, file, chunks, decoder);
  check_small_batches(random, file);
  check_stats(chunks, decoder);
  check_late_consumer(file, decoder);
  check_fetcher(random, file, chunks, decoder);
}

}  // namespace
}  // namespace penstock::tests

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 1;
  penstock::tests::Random random(1);
  for (int round = 0; round < rounds; ++round) penstock::tests::check(random);
  std::printf("%d rounds of threads\n", rounds);
  return 0;
}
