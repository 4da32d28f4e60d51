#include "benchmarks/metadata/rows.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "base/units.h"
#include "benchmarks/commit_path/load.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/pool.h"
#include "benchmarks/metadata/many_objects.h"
#include "io/rng.h"

namespace hexad::bench {

namespace {

double per(std::uint64_t bytes, std::uint64_t count) {
  return static_cast<double>(bytes) / static_cast<double>(count);
}

bool wants(const MetadataPlan& plan, const std::string& id) {
  return plan.only.empty() || plan.only == id;
}

// Bytes that no other index has, so that no checksum comes twice: they are what does not compress.
ByteView piece_of(const Bytes& data, std::uint64_t index, std::uint64_t size) {
  return ByteView(data).subspan(index * 4099 % (data.size() - size), size);
}

// Objects [0, count) with names in order, in transactions of 16; waits for a checkpoint.
void put_different(Store& store, const std::string& family, std::uint64_t count, std::uint64_t size,
                   const Bytes& data) {
  submit_for(store, {3600, 1, 16, count / 16}, [&](Transaction& t, std::uint64_t at) {
    for (std::uint64_t i = 16 * at; i < 16 * at + 16; ++i) {
      t.put_borrowed(kDefaultCollection, object_name(family, i), piece_of(data, i, size),
                     Hint::kIncompressible);
    }
  });
  must(store.checkpoint());
}

// --- what it takes -------------------------------------------------------------------------------

void measure_size(const MetadataPlan& plan, std::vector<Row>& rows) {
  if (!wants(plan, "index_per_object") && !wants(plan, "runs_per_object")) return;
  BenchPool pool(plan.directory / "size", plan.device_size, Age::kFresh);
  const Counts before = counts(pool.store());
  const std::uint64_t index_before = must(pool.store().space()).metadata;
  const Bytes data = noise(32_MiB);
  put_different(pool.store(), "large", plan.large_objects, 64_KiB, data);
  const Counts took = counts(pool.store()) - before;
  const SpaceUsage usage = must(pool.store().space());
  Row index{"index_per_object", "index, 64 KiB objects with four checksums", "B/object",
            Bar::value_at_most(133)};
  Sample in_index;
  in_index.value = per(usage.metadata - index_before, plan.large_objects);
  index.samples.push_back(in_index);
  Row runs{"runs_per_object", "runs, the same objects, parity not counted", "B/object",
           Bar::value_at_most(45)};
  Sample in_runs;
  in_runs.value = per(took.of("device_run_bytes"), plan.large_objects);
  in_runs.counted.emplace_back("checkpoints", static_cast<double>(took.of("checkpoints")));
  in_runs.counted.emplace_back("merged bytes/object",
                               per(took.of("device_merge_bytes"), plan.large_objects));
  runs.samples.push_back(in_runs);
  if (wants(plan, index.id)) rows.push_back(index);
  if (wants(plan, runs.id)) rows.push_back(runs);
}

// --- what keeping it costs -----------------------------------------------------------------------

RuntimeOptions with_memtable(std::uint64_t size) {
  RuntimeOptions options;
  options.memtable_size = size;
  return options;
}

void overwrite(Transaction& t, std::uint64_t index, std::uint64_t objects, const Bytes& data) {
  io::Rng rng(index);
  for (std::uint64_t i = 0; i < 16; ++i) {
    t.put_borrowed(kDefaultCollection, object_name("small", rng.below(objects)),
                   piece_of(data, 16 * index + i, 4_KiB), Hint::kIncompressible);
  }
}

void measure_keeping(const MetadataPlan& plan, std::vector<Row>& rows) {
  const bool update = wants(plan, "runs_per_update") || wants(plan, "index_per_update");
  if (!update && !wants(plan, "rate_with_checkpoints")) return;
  BenchPool pool(plan.directory / "keeping", plan.device_size, Age::kWarm);
  const Bytes data = noise(32_MiB);
  put_different(pool.store(), "small", plan.small_objects, 4_KiB, data);

  Row rate{"rate_with_checkpoints",
           "4 KiB overwrites in batches of 16, 64 in flight, beside "
           "checkpoints and merges",
           "of the rate without", Bar::value_at_least(0.85)};
  Row in_runs{"runs_per_update", "written to runs, merges and parity included", "B/update",
              Bar::value_at_most(170)};
  Row in_index{"index_per_update", "written to the index", "B/update", Bar::value_at_most(2500)};
  for (unsigned i = 0; i < plan.repetitions; ++i) {
    const auto run = [&](std::uint64_t memtable) {
      pool.reopen(with_memtable(memtable));
      return submit_for(pool.store(), {plan.seconds, 1, 64}, [&](Transaction& t, std::uint64_t at) {
        overwrite(t, i * 1'000'000'000ull + at, plan.small_objects, data);
      });
    };
    const Measured without = run(1_GiB);
    const Measured with = run(128_MiB / 8);
    Sample sample;
    sample.value = with.per_second() / without.per_second();
    sample.cpu_us = with.cpu_us / static_cast<double>(16 * with.transactions);
    sample.counted = {
        {"puts/s", 16 * with.per_second()},
        {"puts/s without", 16 * without.per_second()},
        {"checkpoints", static_cast<double>(with.counts.of("checkpoints"))},
        {"checkpoints without", static_cast<double>(without.counts.of("checkpoints"))},
        {"runs merged", static_cast<double>(with.counts.of("runs_merged"))}};
    rate.samples.push_back(sample);
    must(pool.store().checkpoint());
    const std::uint64_t updates = 16 * with.transactions;
    const Counts total = counts(pool.store());
    Sample bytes;
    bytes.value = 1.5 * per(total.of("device_run_bytes") + total.of("device_merge_bytes"), updates);
    bytes.counted = {{"runs", per(total.of("device_run_bytes"), updates)},
                     {"merges", per(total.of("device_merge_bytes"), updates)}};
    in_runs.samples.push_back(bytes);
    Sample index;
    index.value = per(total.of("index_bytes"), updates);
    in_index.samples.push_back(index);
  }
  for (const Row& row : {rate, in_runs, in_index}) {
    if (wants(plan, row.id)) rows.push_back(row);
  }
}

// --- how soon it is back -------------------------------------------------------------------------

struct Child {
  std::string output;
  int status = 0;
};

Child run_self(const MetadataPlan& plan, const std::string& verb, const ManyObjects& what) {
  const std::string command =
      fmt::format("exec '{}' {} '{}' {} {}{}", plan.program.string(), verb, what.directory.string(),
                  what.count, what.device_size, what.index ? "" : " --no-index");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) die("cannot run " + command);
  Child child;
  std::array<char, 4096> piece;
  while (const std::size_t got = fread(piece.data(), 1, piece.size(), pipe)) {
    child.output.append(piece.data(), got);
  }
  child.status = pclose(pipe);
  return child;
}

Sample sample_of(const Reopened& reopened, double value) {
  Sample sample;
  sample.value = value;
  const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1048576.0; };
  sample.counted = {{"objects", static_cast<double>(reopened.objects)},
                    {"log in use, MiB", mib(reopened.replayed_log)},
                    {"open, s", reopened.open_seconds},
                    {"index answers after, s", reopened.index_seconds},
                    {"first get, us", reopened.first_get_us},
                    {"random get p50, us", reopened.get_p50_us},
                    {"random get p99, us", reopened.get_p99_us},
                    {"anonymous memory, MiB", mib(reopened.anonymous_memory)},
                    {"most resident, MiB", mib(reopened.most_resident)},
                    {"index, MiB", mib(reopened.index_bytes)},
                    {"runs, MiB", mib(reopened.run_bytes)}};
  return sample;
}

Filled fill(const MetadataPlan& plan, const ManyObjects& what) {
  const Child child = run_self(plan, "fill", what);
  if (!WIFSIGNALED(child.status) || WTERMSIG(child.status) != SIGKILL) {
    die("the process that fills the pool ended before it was to die");
  }
  return filled_from_json(child.output);
}

Reopened open(const MetadataPlan& plan, const ManyObjects& what) {
  return reopened_from_json(run_self(plan, "open", what).output);
}

Sample sample_of(const Filled& filled, std::uint64_t count) {
  Sample sample;
  sample.value = static_cast<double>(count) / filled.seconds;
  sample.cpu_us = filled.cpu_us / static_cast<double>(count);
  sample.counted = {{"index bytes/put", per(filled.index_bytes, count)},
                    {"run bytes/put", per(filled.run_bytes, count)}};
  return sample;
}

void measure_reopening(const MetadataPlan& plan, std::vector<Row>& rows) {
  const auto add = [&](Row row, const Sample& sample) {
    row.samples.push_back(sample);
    if (wants(plan, row.id)) rows.push_back(std::move(row));
  };
  ManyObjects what{plan.directory / "many", plan.many, plan.device_size};
  if (wants(plan, "reopen") || wants(plan, "rebuild") || wants(plan, "fill")) {
    add({"fill", "puts of small objects in transactions of 64, 16 in flight, names at random",
         "puts/s", Bar::none()},
        sample_of(fill(plan, what), plan.many));
    const Reopened opened = open(plan, what);
    add({"reopen", "opening after SIGKILL", "s", Bar::value_at_most(5)},
        sample_of(opened, opened.open_seconds));
    std::filesystem::remove_all(what.directory / "fast" / "index");
    const Reopened rebuilt = open(plan, what);
    if (!rebuilt.index_made) die("there was an index though it had been removed");
    add({"rebuild", "a new index from the runs, with gets half of the time", "s", Bar::none()},
        sample_of(rebuilt, rebuilt.index_seconds));
    std::filesystem::remove_all(what.directory);
  }
  if (wants(plan, "fill_runs_only") || wants(plan, "reopen_runs_only")) {
    what.index = false;
    add({"fill_runs_only", "the same puts without an index", "puts/s", Bar::none()},
        sample_of(fill(plan, what), plan.many));
    const Reopened opened = open(plan, what);
    add({"reopen_runs_only", "opening after SIGKILL without an index", "s", Bar::value_at_most(5)},
        sample_of(opened, opened.open_seconds));
    std::filesystem::remove_all(what.directory);
  }
}

}  // namespace

std::vector<Row> measure_metadata(const MetadataPlan& plan) {
  std::vector<Row> rows;
  measure_size(plan, rows);
  measure_keeping(plan, rows);
  measure_reopening(plan, rows);
  return rows;
}

}  // namespace hexad::bench
