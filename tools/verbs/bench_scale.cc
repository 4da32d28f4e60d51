// hexad bench scale: what becomes of puts, looks and openings while a pool grows to very many
// objects, on devices that store no zeros.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/rng.h"
#include "tools/bench/cpu_time.h"
#include "tools/bench/scale_figures.h"
#include "tools/bench/scale_pool.h"
#include "tools/bench/sparse_system.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/cli/progress.h"
#include "tools/cli/wait_watch.h"
#include "tools/import_export/batch_committer.h"
#include "tools/verbs/pool_paths.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

struct ScaleOptions {
  std::uint64_t objects = 1'000'000;
  std::uint64_t window = 0;        // objects; 0: a tenth of them
  std::uint64_t samples = 5000;    // gets, and as many stats, of each window
  std::uint64_t reopen_every = 0;  // windows; 0: at the end alone
  std::uint64_t cache_size = 64_MiB;
};

double seconds(io::Nanos duration) { return static_cast<double>(duration) / 1e9; }

double thread_cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// One run over one pool.
class ScaleRun {
 public:
  ScaleRun(Session& session, SparseSystem& system, const ScalePool& pool,
           const ScaleOptions& options)
      : session_(session),
        system_(system),
        pool_(pool),
        options_(options),
        rng_(pool.shape().seed),
        read_(ScaleShape::kObjectBytes) {}

  Status run() {
    HEXAD_TRY(open());
    HEXAD_TRY(find_count());
    warn_of_room();
    if (count_ > 0) {
      session_.out().note(
          fmt::format("going on with the {} objects that are there; what was "
                      "measured before is in {}",
                      count_, display_name(pool_.notes())));
    }
    if (!session_.out().json()) session_.out().write(scale_heading());
    bool last = false;
    for (std::uint64_t number = 1; !last; ++number) {
      const std::uint64_t end =
          std::min(options_.objects, (count_ / options_.window + 1) * options_.window);
      HEXAD_TRY_ASSIGN(ScaleWindow window, measure(end));
      last = count_ >= options_.objects;
      const bool due = options_.reopen_every > 0 && number % options_.reopen_every == 0;
      if (!interrupted() && (last || due)) {
        HEXAD_TRY_ASSIGN(window.reopening, reopen());
      }
      HEXAD_TRY(report(window));
      if (interrupted()) break;
    }
    HEXAD_TRY(close());
    return interrupted() ? Status(interrupted_error()) : Status();
  }

 private:
  // What is said of waits is of the store that is open.
  struct Opened {
    Opened(Store store_of, Session& session)
        : store(std::move(store_of)),
          watch(
              session.executor(), [this] { return store.status().warnings; },
              [&session](const std::string& what) { session.out().warn(what); }) {}
    Store store;
    WaitWatch watch;
  };

  Status open() {
    RuntimeOptions options;
    options.cache_size = options_.cache_size;
    HEXAD_TRY_ASSIGN(Store store, Store::open(pool_.description(), options, &system_));
    opened_ = std::make_unique<Opened>(std::move(store), session_);
    return {};
  }

  Status close() {
    Status closed = store().close();
    opened_.reset();
    return closed;
  }

  Store& store() { return opened_->store; }

  Result<bool> is_there(std::uint64_t index) {
    return store().exists(kDefaultCollection, scale_object_name(pool_.shape().seed, index));
  }

  // Objects are put in the order of their numbers, so those that are there are the first ones.
  Status find_count() {
    std::uint64_t there = 0;   // at least
    std::uint64_t beyond = 1;  // at most, but for what is not looked at yet
    for (;;) {
      HEXAD_TRY_ASSIGN(const bool found, is_there(beyond - 1));
      if (!found) break;
      there = beyond;
      beyond *= 2;
    }
    --beyond;
    while (there < beyond) {
      const std::uint64_t middle = there + (beyond - there + 1) / 2;
      HEXAD_TRY_ASSIGN(const bool found, is_there(middle - 1));
      found ? there = middle : beyond = middle - 1;
    }
    count_ = there;
    return {};
  }

  // By what objects took so far on disk, with room for merges; the log takes its own.
  void warn_of_room() {
    constexpr std::uint64_t kDiskPerObject = 400;
    const std::uint64_t copies = pool_.shape().fast ? 4 : 3;
    const std::uint64_t needed =
        options_.objects * kDiskPerObject + copies * store().status().log_size;
    const std::uint64_t taken = pool_.disk_bytes();
    std::error_code error;
    const std::filesystem::space_info room = std::filesystem::space(pool_.notes(), error);
    if (error || needed <= taken || needed - taken <= room.available) return;
    session_.out().warn(fmt::format("{} objects may take {} more on disk, and {} are free there",
                                    options_.objects, format_size(needed - taken),
                                    format_size(room.available)));
  }

  Result<ScaleWindow> measure(std::uint64_t end) {
    const Traffic traffic_before = Traffic::of(store());
    const std::uint64_t zeros_before = system_.traffic().skipped + system_.traffic().punched;
    const double cpu_before = cpu_us();
    ScaleWindow window;
    HEXAD_TRY(put_until(end, window));
    const double look_cpu_before = thread_cpu_us();
    HEXAD_TRY(look(window));
    const double look_cpu = thread_cpu_us() - look_cpu_before;
    window.put_cpu_us = cpu_us() - cpu_before - look_cpu;
    window.traffic = Traffic::of(store()).since(traffic_before);
    window.not_stored = system_.traffic().skipped + system_.traffic().punched - zeros_before;
    window.objects = count_;
    HEXAD_TRY_ASSIGN(window.memory, anonymous_memory());
    window.disk = pool_.disk_bytes();
    return window;
  }

  // Ends early, between two transactions, when it is interrupted.
  Status put_until(std::uint64_t end, ScaleWindow& window) {
    const Bytes zeros(ScaleShape::kObjectBytes);
    const std::uint64_t begin = count_;
    Progress progress(session_.out(), session_.clock(), "put",
                      (end - begin) * ScaleShape::kObjectBytes);
    const io::Nanos started = session_.clock().now();
    BatchCommitter committer(store(), session_.executor());
    Status status;
    for (std::uint64_t next = begin; next < end && status.ok() && !interrupted();) {
      const std::uint64_t together = std::min(ScaleShape::kTogether, end - next);
      for (std::uint64_t i = 0; i < together && status.ok(); ++i, ++next) {
        committer.transaction().put_borrowed(kDefaultCollection,
                                             scale_object_name(pool_.shape().seed, next), zeros,
                                             Hint::kIncompressible);
        status = committer.added({1, zeros.size(), 0});
      }
      if (status.ok()) status = committer.submit();
      progress.advance(together * zeros.size(), together);
    }
    Status finished = committer.finish();
    window.put_s = seconds(session_.clock().now() - started);
    window.puts = committer.acknowledged().objects;
    count_ = begin + window.puts;
    HEXAD_TRY(status);
    return finished;
  }

  Status look(ScaleWindow& window) {
    for (std::uint64_t i = 0; i < options_.samples && count_ > 0 && !interrupted(); ++i) {
      const std::string got = scale_object_name(pool_.shape().seed, rng_.below(count_));
      const io::Nanos get_began = session_.clock().now();
      HEXAD_TRY_ASSIGN(const std::uint64_t bytes,
                       store().read(kDefaultCollection, got, 0, read_.bytes()));
      window.get.add(static_cast<std::uint64_t>(session_.clock().now() - get_began));
      if (bytes != read_.size() || !is_zero(read_)) {
        return Error{ErrorCode::kConflict, got + " has other bytes than were put",
                     "Another program changes the objects of this measurement."};
      }
      const std::string asked = scale_object_name(pool_.shape().seed, rng_.below(count_));
      const io::Nanos stat_began = session_.clock().now();
      HEXAD_TRY(store().stat(kDefaultCollection, asked).status());
      window.stat.add(static_cast<std::uint64_t>(session_.clock().now() - stat_began));
    }
    return {};
  }

  // Without closing it first: what a process leaves that ends of itself.
  Result<Reopening> reopen() {
    Reopening result;
    opened_.reset();
    io::Nanos began = session_.clock().now();
    HEXAD_TRY(open());
    result.after_leaving_s = seconds(session_.clock().now() - began);
    result.log_bytes = store().status().log_used;
    for (const Counter& counter : store().counters()) {
      if (counter.name == "recovered_transactions") result.transactions = counter.since_open;
    }
    const Traffic before = Traffic::of(store());
    began = session_.clock().now();
    HEXAD_TRY(store().checkpoint());
    result.traffic = Traffic::of(store()).since(before);
    HEXAD_TRY(close());
    result.close_s = seconds(session_.clock().now() - began);
    began = session_.clock().now();
    HEXAD_TRY(open());
    result.after_closing_s = seconds(session_.clock().now() - began);
    began = session_.clock().now();
    HEXAD_TRY_ASSIGN(result.space, store().space(SpaceDetail::kBreakdown));
    result.space_s = seconds(session_.clock().now() - began);
    return result;
  }

  Status report(const ScaleWindow& window) {
    Json json = scale_json(window);
    json["cache_size"] = options_.cache_size;
    if (session_.out().json()) {
      session_.out().object(json);
    } else {
      session_.out().write(scale_line(window));
    }
    HEXAD_TRY(pool_.note(json));
    return session_.out().finish();  // the next line may be hours away
  }

  Session& session_;
  SparseSystem& system_;
  const ScalePool& pool_;
  const ScaleOptions& options_;
  io::Rng rng_;
  AlignedBuffer read_;
  std::uint64_t count_ = 0;  // objects that are there
  std::unique_ptr<Opened> opened_;
};

class BenchScale final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.positional("DIR", folder_, "Folder to make for the pool, or that of an earlier run");
    arguments.number("--objects", options_.objects,
                     "How many objects of 4 KiB there are to be at last [1000000]");
    arguments.number("--window", options_.window,
                     "Objects between two lines of figures [a tenth of all]");
    arguments.number("--room", room_,
                     "Of a new pool: how many objects the devices are large enough for, so that "
                     "later runs can go on [as --objects]");
    arguments.number("--seed", seed_, "Of a new pool: seed of the objects' names [0]");
    arguments.flag("--no-fast", no_fast_,
                   "Of a new pool: no fast directory, so no index; the runs answer");
    arguments.number("--samples", options_.samples,
                     "Random gets, and as many stats, behind each window [5000]");
    arguments.number("--reopen-every", options_.reopen_every,
                     "Windows after which the pool is opened again; it is at the end in any case");
    arguments.size("--cache-size", options_.cache_size, "Memory for what was read [64MiB]");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY(check());
    if (options_.window == 0) options_.window = std::max<std::uint64_t>(1, options_.objects / 10);
    HEXAD_TRY_ASSIGN(const std::unique_ptr<SparseSystem> system, SparseSystem::make());
    ScaleWish wish;
    wish.objects = options_.objects;
    if (arguments_->given("--room")) wish.room = room_;
    if (arguments_->given("--seed")) wish.seed = seed_;
    wish.no_fast = no_fast_;
    HEXAD_TRY_ASSIGN(const ScalePool pool, ScalePool::open(absolute_path(folder_), wish, *system));
    HEXAD_TRY(ScaleRun(session, *system, pool, options_).run());
    return kExitOk;
  }

 private:
  Status check() const {
    const auto wrong = [](const std::string& what) {
      return Error{ErrorCode::kInvalidArgument, what, "See: hexad bench scale --help"};
    };
    if (options_.objects == 0 || options_.objects > ScaleShape::kMaxRoom) {
      return wrong(
          fmt::format("--objects: {} is not from 1 to {}", options_.objects, ScaleShape::kMaxRoom));
    }
    if (arguments_->given("--room") && room_ > ScaleShape::kMaxRoom) {
      return wrong(fmt::format("--room: {} is more than {}", room_, ScaleShape::kMaxRoom));
    }
    if (arguments_->given("--window") && options_.window == 0) return wrong("--window: 0 objects");
    RuntimeOptions runtime;
    runtime.cache_size = options_.cache_size;
    return runtime.validate();
  }

  const Arguments* arguments_ = nullptr;
  std::string folder_;
  ScaleOptions options_;
  std::uint64_t room_ = 0;
  std::uint64_t seed_ = 0;
  bool no_fast_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_bench_scale() { return std::make_unique<BenchScale>(); }

}  // namespace hexad::tools
