// hexad bench run: operations per second on this pool, with latencies, CPU time and device traffic.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/bench/cpu_time.h"
#include "tools/bench/figures.h"
#include "tools/bench/job.h"
#include "tools/bench/load.h"
#include "tools/bench/payload.h"
#include "tools/cli/file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/import_export/batch_committer.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr io::Nanos kTick = 50'000'000;
constexpr std::uint64_t kMaxJobFile = 1_MiB;

double seconds(io::Nanos duration) { return static_cast<double>(duration) / 1e9; }

// One job on one store.
class JobRun {
 public:
  JobRun(Session& session, Store& store, const Job& job, LoadOptions options)
      : session_(session), store_(store), job_(job), options_(std::move(options)) {}

  Result<Measured> run() {
    HEXAD_TRY(prepare());
    return measure();
  }

 private:
  // The collection, enough space, and the objects.
  Status prepare() {
    HEXAD_TRY_ASSIGN(const std::vector<CollectionInfo> collections, store_.collections());
    bool exists = false;
    for (const CollectionInfo& info : collections) exists |= info.name == options_.collection;
    if (!exists) {
      Transaction transaction;
      transaction.create_collection(options_.collection);
      HEXAD_TRY(store_.commit(std::move(transaction)).status());
    }
    HEXAD_TRY_ASSIGN(const SpaceUsage space, store_.space());
    if (options_.objects > space.capacity / options_.object_size) {
      return Error{ErrorCode::kNoSpace,
                   fmt::format("{} objects of {} do not fit into {}", options_.objects,
                               format_size(options_.object_size), format_size(space.capacity)),
                   "Lower --objects, --size or --bs."};
    }
    return needs_objects(options_.workload) ? fill() : ok_status();
  }

  // Puts the objects that are missing or have another size.
  Status fill() {
    Progress progress(session_.out(), session_.clock(), "fill",
                      options_.objects * options_.object_size);
    PayloadGenerator payload(options_.seed, options_.compressible_percent);
    BatchCommitter committer(store_, session_.executor());
    for (std::uint64_t i = 0; i < options_.objects; ++i) {
      if (interrupted()) return interrupted_error();
      const std::string name = bench_object_name(i);
      const Result<ObjectStat> found = store_.stat(options_.collection, name);
      if (!found.ok() && found.error().code != ErrorCode::kNotFound) return found.error();
      if (!found.ok() || found->size != options_.object_size) {
        Bytes data(options_.object_size);
        payload.fill(data);
        const std::uint64_t size = data.size();
        committer.transaction().put_borrowed(options_.collection, name,
                                             committer.keep(std::move(data)));
        HEXAD_TRY(committer.added({1, size, 0}));
      }
      progress.advance(options_.object_size);
    }
    return committer.finish();
  }

  Result<Measured> measure() {
    const Traffic traffic_before = Traffic::of(store_);
    const double cpu_before = cpu_us();
    const io::Nanos started = session_.clock().now();
    LoadShared shared(store_, session_.executor(), options_, started + job_.runtime());
    LoadThreads threads = start_load(shared);
    watch(shared);
    Measured measured;
    measured.cpu_us = cpu_us() - cpu_before;
    io::Nanos ended = session_.clock().now();
    for (const std::unique_ptr<io::Thread>& thread : threads) thread->join();
    // When there was nothing left to do, the last of it counts.
    if (shared.used_up()) {
      ended = session_.clock().now();
      measured.cpu_us = cpu_us() - cpu_before;
    }
    measured.seconds = seconds(std::min(job_.runtime(), ended - started));
    measured.traffic = Traffic::of(store_).since(traffic_before);
    HEXAD_TRY_ASSIGN(measured.load, shared.result());
    if (interrupted()) return interrupted_error();
    return measured;
  }

  void watch(LoadShared& shared) {
    Progress progress(session_.out(), session_.clock(), job_.workload, 0);
    const std::uint64_t bytes = moves_bytes(options_.workload) ? options_.block : 0;
    std::uint64_t shown = 0;
    while (!shared.stopped()) {
      session_.executor().sleep_for(
          std::clamp<io::Nanos>(shared.deadline() - shared.now(), 1, kTick));
      if (interrupted()) shared.stop();
      const std::uint64_t done = shared.operations();
      progress.advance((done - shown) * bytes, done - shown);
      shown = done;
    }
  }

  Session& session_;
  Store& store_;
  const Job& job_;
  const LoadOptions options_;
};

class BenchRun final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    job_.declare(arguments);
    arguments.option("--jobs", job_file_,
                     "File of jobs, run one after the other; options hold where it says nothing");
    arguments.option("--log-durability", opened_.log_durability,
                     "When a durable change is answered: full, fast or data-first [full]");
    arguments.option("--hedged-reads", opened_.hedged_reads,
                     "Other devices are asked for what is late: off, budgeted or always [off]");
    opened_.cache_size = RuntimeOptions().cache_size;
    arguments.size("--cache-size", opened_.cache_size, "Memory for what was read [256MiB]");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const std::vector<Job> jobs, read_jobs());
    const std::string collection =
        session.collection() == kDefaultCollection ? "bench" : session.collection();
    std::vector<LoadOptions> loads;
    for (const Job& job : jobs) {
      HEXAD_TRY_ASSIGN(LoadOptions load, job.load(collection));
      loads.push_back(std::move(load));
    }
    RuntimeOptions options;
    HEXAD_TRY_ASSIGN(options.log_durability, parse_log_durability(opened_.log_durability));
    HEXAD_TRY_ASSIGN(options.hedged_reads, parse_hedged_reads(opened_.hedged_reads));
    options.cache_size = opened_.cache_size;
    return session.with_store(
        Access::kReadWrite,
        [&](Store& store) -> Result<int> {
          for (std::size_t i = 0; i < jobs.size(); ++i) {
            HEXAD_TRY_ASSIGN(const Measured measured,
                             JobRun(session, store, jobs[i], loads[i]).run());
            report(session.out(), jobs[i], loads[i], measured, i == 0);
          }
          return kExitOk;
        },
        options);
  }

 private:
  Result<std::vector<Job>> read_jobs() const {
    if (job_file_.empty()) return std::vector<Job>{job_};
    HEXAD_TRY_ASSIGN(const std::string text, read_whole_file(job_file_, kMaxJobFile));
    return parse_jobs(text, job_);
  }

  void report(Output& out, const Job& job, const LoadOptions& load, const Measured& measured,
              bool first) const {
    if (out.json()) {
      out.object(figures_json(job, load, opened_, measured));
    } else if (job_file_.empty()) {
      out.write(figures_text(job, load, opened_, measured));
    } else {
      if (first) out.write(table_heading());
      out.write(table_line(job, load, measured));
    }
  }

  Job job_;
  Opened opened_{.log_durability = "full"};
  std::string job_file_;
};

}  // namespace

std::unique_ptr<Verb> make_bench_run() { return std::make_unique<BenchRun>(); }

}  // namespace hexad::tools
