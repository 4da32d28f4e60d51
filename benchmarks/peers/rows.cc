#include "benchmarks/peers/rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <utility>

#include "base/units.h"
#include "benchmarks/commit_path/cost.h"
#include "benchmarks/commit_path/fio.h"
#include "benchmarks/commit_path/load.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/process_io.h"
#include "benchmarks/peers/peer.h"
#include "tools/bench/zipf.h"

namespace hexad::bench {

namespace {

constexpr unsigned kReaders = 16;
constexpr unsigned kWriters = 64;
constexpr const char* kDropCaches = "/proc/sys/vm/drop_caches";

struct Workload {
  std::string id;
  std::string what;
  std::uint64_t size = 0;  // bytes of each object
  unsigned threads = 1;
};

void drop_caches() {
  sync();
  std::ofstream file(kDropCaches);
  file << "3\n";
  if (!file.flush()) die(std::string("cannot write ") + kDropCaches);
}

bool is_peer(const std::string& id) {
  const std::vector<PeerKind> all = all_peers();
  return std::any_of(all.begin(), all.end(), [&](const PeerKind& kind) { return kind.id == id; });
}

// Who takes part, and what they have shown.
class Contest {
 public:
  explicit Contest(const PeersPlan& plan)
      : plan_(plan), fio_file_((plan.directory / "fio").string()) {
    if (plan.fio) write_file(fio_file_, plan.device_size);
    for (const PeerKind& kind : all_peers()) {
      if (kind.make == nullptr || !wants_peer(kind.id)) continue;
      std::fprintf(stderr, "opens %s\n", kind.what.c_str());
      peers_.push_back(
          {kind.id, kind.what, kind.make({plan.directory / kind.id, plan.device_size})});
    }
  }

  std::vector<Row> take_rows() { return std::move(rows_); }

  // One run of each, all by turns.
  void puts(const Workload& workload, const std::vector<std::string>& names) {
    if (!wants(workload.id)) return;
    const Bytes data = noise(workload.size);
    for (Entry& entry : peers_) {
      add(workload, entry.id, entry.what, call(workload, [&](std::uint64_t index) {
            entry.peer->put(names[index % names.size()], data);
          }));
      if (entry.peer->store() != nullptr && workload.threads > 1) {
        add(workload, entry.id + "_callbacks", entry.what + ", callbacks",
            submit(workload, *entry.peer->store(), names, data));
      }
    }
    if (!plan_.fio) return;
    add_fio(workload, "dsync writes",
            {"ioengine=psync", "sync=dsync", "rw=randwrite", "group_reporting",
             fmt::format("numjobs={}", workload.threads)});
  }

  // Each object once at most, in an order that has nothing to do with that of the puts.
  void gets(const Workload& workload, const std::vector<std::string>& names) {
    if (!wants(workload.id)) return;
    const tools::Scatter scatter(names.size());
    for (Entry& entry : peers_) {
      entry.peer->reopen();
      if (plan_.drop_caches) drop_caches();
      const auto get = [&](std::uint64_t index) {
        const std::string& name = names[scatter(index)];
        if (entry.peer->get(name).size() != workload.size) die(name + " has another size");
      };
      add(workload, entry.id, entry.what, call(workload, get, names.size()));
    }
    if (!plan_.fio) return;
    add_fio(workload, "random reads",
            {"ioengine=io_uring", "rw=randread", "readonly",
             fmt::format("iodepth={}", workload.threads)});
  }

  // All of them, which nobody has put yet.
  void removes(const Workload& workload, const std::vector<std::string>& names) {
    if (!wants(workload.id)) return;
    const Bytes data = noise(workload.size);
    for (Entry& entry : peers_) {
      entry.peer->fill(names, data);
      const auto remove = [&](std::uint64_t index) { entry.peer->remove(names[index]); };
      add(workload, entry.id, entry.what, call(workload, remove, names.size()));
    }
  }

  void fill(const Workload& workload, const std::vector<std::string>& names) {
    if (!wants(workload.id)) return;
    const Bytes data = noise(workload.size);
    for (Entry& entry : peers_) entry.peer->fill(names, data);
  }

  // Whether the workload is to be measured.
  bool wants(const std::string& id) const {
    return plan_.only.empty() || plan_.only == id || is_peer(plan_.only);
  }

 private:
  struct Entry {
    std::string id;
    std::string what;
    std::unique_ptr<Peer> peer;
  };
  struct Took {
    Measured measured;
    std::uint64_t written = 0;  // bytes, to disks
  };

  bool wants_peer(const std::string& id) const { return !is_peer(plan_.only) || plan_.only == id; }

  template <typename Operation>
  Took call(const Workload& workload, const Operation& operation,
            std::uint64_t limit = ~std::uint64_t{0}) {
    const std::uint64_t before = process_bytes_written();
    Took took;
    took.measured = call_for(Load{plan_.seconds, workload.threads, workload.threads, limit},
                             [&](unsigned, std::uint64_t index) { operation(index); });
    took.written = process_bytes_written() - before;
    return took;
  }

  Took submit(const Workload& workload, Store& store, const std::vector<std::string>& names,
              ByteView data) {
    const std::uint64_t before = process_bytes_written();
    Took took;
    took.measured = submit_for(store, {plan_.seconds, 2, workload.threads},
                               [&](Transaction& transaction, std::uint64_t index) {
                                 transaction.put_borrowed(kDefaultCollection,
                                                          names[index % names.size()], data);
                               });
    took.written = process_bytes_written() - before;
    return took;
  }

  void add(const Workload& workload, const std::string& id, const std::string& what,
           const Took& took) {
    const auto operations = static_cast<double>(took.measured.transactions);
    Sample sample = cost_of(took.measured, operations);
    sample.value = took.measured.per_second() / 1000;
    sample.counted.emplace_back("bytes written/op", static_cast<double>(took.written) / operations);
    keep(workload, id, what, std::move(sample));
  }

  void add_fio(const Workload& workload, const std::string& what,
               std::vector<std::string> arguments) {
    arguments.push_back(fmt::format("bs={}", workload.size));
    const FioResult result = run_fio({fio_file_}, plan_.seconds, arguments);
    Sample sample;
    sample.value = result.operations_per_second / 1000;
    sample.p50_us = result.p50_us;
    sample.p95_us = result.p95_us;
    sample.p99_us = result.p99_us;
    keep(workload, "fio", "fio, " + what + " of one file: the ceiling", std::move(sample));
  }

  void keep(const Workload& workload, const std::string& peer, const std::string& what,
            Sample sample) {
    const std::string id = workload.id + "/" + peer;
    std::fprintf(stderr, "%-32s %.4g k/s\n", id.c_str(), sample.value);
    auto row =
        std::find_if(rows_.begin(), rows_.end(), [&](const Row& known) { return known.id == id; });
    if (row == rows_.end()) {
      row = rows_.insert(row, {id, workload.what + ": " + what, "k/s", Bar::none()});
    }
    row->samples.push_back(std::move(sample));
  }

  const PeersPlan& plan_;
  const std::string fio_file_;
  std::vector<Entry> peers_;
  std::vector<Row> rows_;
};

std::vector<std::string> names_of(const std::string& family, std::uint64_t count) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i) names.push_back(object_name(family, i));
  return names;
}

// What is asked of objects of one size.
struct Workloads {
  Workload put_alone;
  Workload put_together;
  Workload get;
  Workload remove;
  std::vector<std::string> put_names;
  std::vector<std::string> get_names;
  std::vector<std::string> remove_names;  // of one round

  bool has(const std::string& id) const {
    return id == put_alone.id || id == put_together.id || id == get.id || id == remove.id;
  }
};

Workloads workloads_of(std::uint64_t size, std::uint64_t count, const PeersPlan& plan) {
  const std::string word = fmt::format("{}k", size / 1_KiB);
  const std::string kib = fmt::format("{} KiB", size / 1_KiB);
  const char* cold = plan.drop_caches ? "cold" : "from whatever cache";
  Workloads all;
  all.put_alone = {"put_" + word + "_1", "durable " + kib + " put, one at a time", size, 1};
  all.put_together = {"put_" + word + "_64", "durable " + kib + " put, 64 callers", size, kWriters};
  all.get = {"get_" + word, fmt::format("{} get, {}, 16 callers", kib, cold), size, kReaders};
  all.remove = {"delete_" + word, "durable delete of " + kib + ", 64 callers", size, kWriters};
  all.put_names = names_of(all.put_alone.id, count);
  all.get_names = names_of(all.get.id, count);
  all.remove_names = names_of(all.remove.id, count / plan.repetitions);
  return all;
}

void measure_once(Contest& contest, const Workloads& of) {
  contest.puts(of.put_alone, of.put_names);
  contest.puts(of.put_together, of.put_names);
  contest.gets(of.get, of.get_names);
  contest.removes(of.remove, of.remove_names);
}

}  // namespace

Settings peer_settings() {
  Settings settings;
  for (const PeerKind& kind : all_peers()) settings.emplace_back(kind.what, kind.settings);
  return settings;
}

bool may_drop_caches() { return access(kDropCaches, W_OK) == 0; }

std::vector<Row> measure_peers(const PeersPlan& plan) {
  const Workloads small = workloads_of(4_KiB, plan.small_objects, plan);
  const Workloads large = workloads_of(64_KiB, plan.large_objects, plan);
  const std::string& only = plan.only;
  if (!only.empty() && !is_peer(only) && !small.has(only) && !large.has(only)) return {};
  Contest contest(plan);
  for (const Workloads* of : {&small, &large}) contest.fill(of->get, of->get_names);
  // Rounds of everything: what one minute of the machine differs by from another is then within
  // the spread of each row, and not between rows or between two reports.
  for (unsigned round = 0; round < plan.repetitions; ++round) {
    for (const Workloads* of : {&small, &large}) measure_once(contest, *of);
  }
  return contest.take_rows();
}

}  // namespace hexad::bench
