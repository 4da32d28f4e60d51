// hexad bench run: durable puts or gets per second on this pool, with latencies and CPU time.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/bench/load.h"
#include "tools/bench/payload.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/cli/progress.h"
#include "tools/import_export/batch_committer.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr io::Nanos kSecond = 1'000'000'000;
constexpr io::Nanos kTick = kSecond / 20;
constexpr std::uint64_t kMaxInFlight = 4096;

enum class Workload : std::uint8_t { kPut, kGet };

Result<Workload> parse_workload(const std::string& text) {
  if (text == "put") return Workload::kPut;
  if (text == "get") return Workload::kGet;
  return Error{ErrorCode::kInvalidArgument, "--rw: \"" + display_name(text) + "\" is no workload",
               "One of: put, get"};
}

// Of the whole process, microseconds.
double cpu_time_us() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// Of each device, since the opening.
struct DeviceTraffic {
  std::vector<DeviceStatus> devices;

  static DeviceTraffic of(Store& store) { return {store.status().devices}; }
  DeviceTraffic since(const DeviceTraffic& before) const {
    DeviceTraffic result = *this;
    for (std::size_t i = 0; i < devices.size() && i < before.devices.size(); ++i) {
      result.devices[i].bytes_written -= before.devices[i].bytes_written;
      for (auto& [cause, bytes] : result.devices[i].written_for) {
        const auto& earlier = before.devices[i].written_for;
        if (const auto at = earlier.find(cause); at != earlier.end()) bytes -= at->second;
      }
      result.devices[i].bytes_read -= before.devices[i].bytes_read;
      result.devices[i].flushes -= before.devices[i].flushes;
    }
    return result;
  }
};

struct Measured {
  LoadResult load;
  double seconds = 0;
  double cpu_us = 0;
  DeviceTraffic traffic;  // of all operations, those in flight at the end included
};

class BenchRun final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.option("--rw", workload_text_, "put or get [put]");
    arguments.size("--bs", load_.object_size, "Bytes of each object [4KiB]");
    arguments.number("--objects", load_.objects, "Names to cycle over [1000]");
    arguments.number("--threads", threads_, "Submitting threads [1]");
    arguments.number("--iodepth", depth_, "In flight per thread [1]");
    arguments.number("--runtime", runtime_s_, "Seconds [10]");
    arguments.number("--compressible", compressible_, "Percent of each payload [0]");
    arguments.number("--seed", load_.seed, "Of the random payload [0]");
    arguments.option("--log-durability", log_durability_,
                     "When a put is answered: full, fast or data-first [full]");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(workload_, parse_workload(workload_text_));
    RuntimeOptions options;
    HEXAD_TRY_ASSIGN(options.log_durability, parse_log_durability(log_durability_));
    HEXAD_TRY(check_numbers());
    load_.collection = session.collection() == kDefaultCollection ? "bench" : session.collection();
    return session.with_store(
        Access::kReadWrite,
        [&](Store& store) -> Result<int> {
          HEXAD_TRY(prepare(session, store));
          HEXAD_TRY_ASSIGN(const Measured measured, measure(session, store));
          report(session.out(), measured);
          return kExitOk;
        },
        options);
  }

 private:
  Status check_numbers() {
    const auto wrong = [](const std::string& what) {
      return Error{ErrorCode::kInvalidArgument, what, "See: hexad bench run --help"};
    };
    if (load_.object_size == 0 || load_.object_size > 64_MiB) {
      return wrong("--bs: " + format_size(load_.object_size) + " is not between 1 B and 64 MiB");
    }
    if (load_.objects == 0) return wrong("--objects: 0 names to cycle over");
    if (threads_ == 0 || depth_ == 0 || threads_ > kMaxInFlight || depth_ > kMaxInFlight ||
        threads_ * depth_ > kMaxInFlight) {
      return wrong(fmt::format("--threads x --iodepth: {} x {} is not between 1 and {}", threads_,
                               depth_, kMaxInFlight));
    }
    if (!(runtime_s_ > 0) || runtime_s_ > 1e6) return wrong("--runtime: not a positive time");
    if (compressible_ > 100) return wrong("--compressible: more than 100 percent");
    load_.threads = static_cast<std::uint32_t>(threads_);
    load_.depth = static_cast<std::uint32_t>(depth_);
    load_.compressible_percent = static_cast<std::uint32_t>(compressible_);
    return {};
  }

  // The collection, enough space, and for gets the objects.
  Status prepare(Session& session, Store& store) {
    HEXAD_TRY_ASSIGN(const std::vector<CollectionInfo> collections, store.collections());
    bool exists = false;
    for (const CollectionInfo& info : collections) exists |= info.name == load_.collection;
    if (!exists) {
      Transaction transaction;
      transaction.create_collection(load_.collection);
      HEXAD_TRY(store.commit(std::move(transaction)));
    }
    HEXAD_TRY_ASSIGN(const SpaceUsage space, store.space());
    if (load_.objects > space.capacity / load_.object_size) {
      return Error{ErrorCode::kNoSpace,
                   fmt::format("{} objects of {} do not fit into {}", load_.objects,
                               format_size(load_.object_size), format_size(space.capacity)),
                   "Lower --objects or --bs."};
    }
    return workload_ == Workload::kGet ? fill(session, store) : ok_status();
  }

  // Puts the objects that are missing or have another size.
  Status fill(Session& session, Store& store) {
    Progress progress(session.out(), session.clock(), "fill", load_.objects * load_.object_size);
    PayloadGenerator payload(load_.seed, load_.compressible_percent);
    BatchCommitter committer(store, session.executor());
    for (std::uint64_t i = 0; i < load_.objects; ++i) {
      if (interrupted()) return interrupted_error();
      const std::string name = bench_object_name(i);
      const Result<ObjectStat> found = store.stat(load_.collection, name);
      if (!found.ok() && found.error().code != ErrorCode::kNotFound) return found.error();
      if (!found.ok() || found->size != load_.object_size) {
        Bytes data(load_.object_size);
        payload.fill(data);
        HEXAD_TRY(committer.put({load_.collection, name, {}}, std::move(data)));
      }
      progress.advance(load_.object_size);
    }
    return committer.finish();
  }

  Result<Measured> measure(Session& session, Store& store) {
    Measured measured;
    const auto runtime = static_cast<io::Nanos>(runtime_s_ * static_cast<double>(kSecond));
    const DeviceTraffic traffic_before = DeviceTraffic::of(store);
    const double cpu_before = cpu_time_us();
    const io::Nanos started = session.clock().now();
    LoadShared shared(store, session.executor(), load_, started + runtime);
    LoadThreads threads = workload_ == Workload::kPut ? start_puts(shared) : start_gets(shared);
    {
      Progress progress(session.out(), session.clock(), workload_text_, 0);
      std::uint64_t shown = 0;
      while (!shared.stopped()) {
        session.executor().sleep_for(
            std::clamp<io::Nanos>(shared.deadline() - shared.now(), 1, kTick));
        if (interrupted()) shared.stop();
        const std::uint64_t done = shared.operations();
        progress.advance((done - shown) * load_.object_size, done - shown);
        shown = done;
      }
    }
    measured.seconds = static_cast<double>(std::min(runtime, session.clock().now() - started)) /
                       static_cast<double>(kSecond);
    measured.cpu_us = cpu_time_us() - cpu_before;
    for (const std::unique_ptr<io::Thread>& thread : threads) thread->join();
    measured.traffic = DeviceTraffic::of(store).since(traffic_before);
    HEXAD_TRY_ASSIGN(measured.load, shared.result());
    if (interrupted()) return interrupted_error();
    return measured;
  }

  void report(Output& out, const Measured& measured) {
    const LoadResult& load = measured.load;
    const double operations = static_cast<double>(load.operations);
    const double ops_per_s = operations / measured.seconds;
    const double bytes_per_s = ops_per_s * static_cast<double>(load_.object_size);
    const double cpu_us = load.operations > 0 ? measured.cpu_us / operations : 0;
    const auto us = [&](std::uint64_t per_thousand) {
      return static_cast<double>(load.latency.percentile(per_thousand, 1000)) / 1000;
    };
    if (out.json()) {
      Json object{
          {"rw", workload_text_},
          {"bs", load_.object_size},
          {"objects", load_.objects},
          {"threads", load_.threads},
          {"iodepth", load_.depth},
          {"compressible", load_.compressible_percent},
          {"log_durability", log_durability_},
          {"seconds", measured.seconds},
          {"operations", load.operations},
          {"ops_per_s", ops_per_s},
          {"bytes_per_s", bytes_per_s},
          {"latency_us", {{"p50", us(500)}, {"p95", us(950)}, {"p99", us(990)}, {"p999", us(999)}}},
          {"cpu_us_per_op", cpu_us},
          {"space_waits", load.space_waits},
          {"devices", Json::array()}};
      for (const DeviceStatus& device : measured.traffic.devices) {
        object["devices"].push_back({{"id", device.id},
                                     {"role", device.role},
                                     {"path", device.path},
                                     {"written", device.bytes_written},
                                     {"written_for", device.written_for},
                                     {"read", device.bytes_read},
                                     {"flushes", device.flushes}});
      }
      out.object(object);
      return;
    }
    out.write(fmt::format("{} {} over {} objects, {} x {} in flight, {:.1f} s, log durability {}\n",
                          workload_text_, format_size(load_.object_size), load_.objects,
                          load_.threads, load_.depth, measured.seconds, log_durability_));
    out.write(fmt::format("  {:.0f} per second, {}/s of user data\n", ops_per_s,
                          format_size(static_cast<std::uint64_t>(bytes_per_s))));
    out.write(fmt::format("  latency us  p50 {:.0f}  p95 {:.0f}  p99 {:.0f}  p99.9 {:.0f}\n",
                          us(500), us(950), us(990), us(999)));
    for (const DeviceStatus& device : measured.traffic.devices) {
      out.write(fmt::format("  device {}: {} written, {} read, {} flushes\n", device.id,
                            format_size(device.bytes_written), format_size(device.bytes_read),
                            device.flushes));
    }
    out.write(fmt::format("  CPU {:.1f} us per operation, payload included\n", cpu_us));
  }

  std::string workload_text_ = "put";
  std::string log_durability_ = "full";
  Workload workload_ = Workload::kPut;
  std::uint64_t threads_ = 1;
  std::uint64_t depth_ = 1;
  double runtime_s_ = 10;
  std::uint64_t compressible_ = 0;
  LoadOptions load_;
};

}  // namespace

std::unique_ptr<Verb> make_bench_run() { return std::make_unique<BenchRun>(); }

}  // namespace hexad::tools
