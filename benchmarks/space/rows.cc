#include "benchmarks/space/rows.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "base/units.h"
#include "benchmarks/commit_path/cost.h"
#include "benchmarks/commit_path/load.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/pool.h"
#include "benchmarks/commit_path/process_io.h"
#include "benchmarks/peers/peer.h"
#include "io/rng.h"
#include "tools/bench/zipf.h"

namespace hexad::bench {

namespace {

// How large the objects are: one after another, again and again.
struct Sizes {
  std::string id;
  std::string what;
  std::vector<std::uint64_t> bytes;
};

std::vector<std::uint64_t> mixed() {
  std::vector<std::uint64_t> bytes;
  for (const auto& [count, size] :
       {std::pair{16, 1_KiB}, std::pair{16, 4_KiB}, std::pair{8, 16_KiB}, std::pair{4, 64_KiB},
        std::pair{1, 256_KiB}}) {
    bytes.insert(bytes.end(), static_cast<std::size_t>(count), size);
  }
  return bytes;
}

const std::vector<Sizes>& all_sizes() {
  static const std::vector<Sizes> all = {{"4k", "4 KiB", {4_KiB}},
                                         {"16k", "16 KiB", {16_KiB}},
                                         {"64k", "64 KiB", {64_KiB}},
                                         {"mixed", "1 to 256 KiB", mixed()}};
  return all;
}

// Which of `count` objects is put next.
using Draw = std::function<std::uint64_t(io::Rng&)>;
struct PutLoad {
  std::string id;
  std::string what;
  std::function<Draw(std::uint64_t count)> draw;
};

Draw zipf(std::uint64_t count, double theta) {
  return [law = tools::Zipf(count, theta), scatter = tools::Scatter(count)](io::Rng& rng) {
    return scatter(law.next(rng));
  };
}

Draw ninety_to_ten(std::uint64_t count) {
  const std::uint64_t often = std::max<std::uint64_t>(1, count / 10);
  return [count, often, scatter = tools::Scatter(count)](io::Rng& rng) {
    const bool is_often = often == count || rng.below(10) < 9;
    return scatter(is_often ? rng.below(often) : often + rng.below(count - often));
  };
}

const std::vector<PutLoad>& all_loads() {
  static const std::vector<PutLoad> all = {
      {"uniform", "uniform",
       [](std::uint64_t count) -> Draw {
         return [count](io::Rng& rng) { return rng.below(count); };
       }},
      {"90:10", "90 % to a tenth", ninety_to_ten},
      {"zipf0.8", "zipf 0.8", [](std::uint64_t count) { return zipf(count, 0.8); }},
      {"zipf0.99", "zipf 0.99", [](std::uint64_t count) { return zipf(count, 0.99); }},
      {"zipf1.2", "zipf 1.2", [](std::uint64_t count) { return zipf(count, 1.2); }},
  };
  return all;
}

template <typename Kind>
std::vector<std::string> ids_of(const std::vector<Kind>& all) {
  std::vector<std::string> ids;
  for (const Kind& kind : all) ids.push_back(kind.id);
  return ids;
}

template <typename Kind>
const Kind& with_id(const std::vector<Kind>& all, const std::string& id) {
  for (const Kind& kind : all) {
    if (kind.id == id) return kind;
  }
  die("there is no '" + id + "'");
}

// Objects of some sizes, by number.
class Objects {
 public:
  explicit Objects(const Sizes& sizes)
      : sizes_(sizes),
        noise_(noise(2 * *std::max_element(sizes.bytes.begin(), sizes.bytes.end()))) {}

  std::uint64_t size(std::uint64_t index) const {
    return sizes_.bytes[index % sizes_.bytes.size()];
  }
  // Other bytes each time, more or less.
  ByteView data(std::uint64_t index, io::Rng& rng) const {
    const std::uint64_t bytes = size(index);
    return ByteView(noise_).subspan(rng.below(noise_.size() - bytes), bytes);
  }
  static std::string name(std::uint64_t index) { return object_name("o", index); }
  std::uint64_t bytes(std::uint64_t count) const {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) sum += size(i);
    return sum;
  }

 private:
  const Sizes& sizes_;
  const Bytes noise_;
};

constexpr std::uint64_t kBatchBytes = 1_MiB;

// As many objects as the store takes.
std::uint64_t fill_to_the_end(Store& store, const Objects& objects) {
  io::Rng rng(1);
  for (std::uint64_t count = 0;;) {
    Transaction t;
    std::uint64_t next = count;
    for (std::uint64_t bytes = 0; bytes < kBatchBytes; bytes += objects.size(next++)) {
      t.put_borrowed(kDefaultCollection, Objects::name(next), objects.data(next, rng),
                     Hint::kIncompressible);
    }
    const Status put = store.commit(std::move(t)).status();
    if (!put.ok() && put.error().code == ErrorCode::kNoSpace) return count;
    must(put);
    count = next;
  }
}

void remove_from(Store& store, std::uint64_t first, std::uint64_t end) {
  while (first < end) {
    Transaction t;
    for (const std::uint64_t stop = std::min(end, first + 256); first < stop; ++first) {
      t.remove(kDefaultCollection, Objects::name(first));
    }
    must(store.commit(std::move(t)).status());
  }
  must(store.checkpoint());
}

// Bytes written to all devices, by cause.
std::map<std::string, std::uint64_t> bytes_by_cause(Store& store) {
  std::map<std::string, std::uint64_t> sums;
  for (const DeviceStatus& device : store.status().devices) {
    for (const auto& [cause, bytes] : device.written_for) sums[cause] += bytes;
  }
  return sums;
}

// Until nothing is written for longer than the store waits before it takes itself to be at rest.
void wait_for_rest(Store& store) {
  must(store.checkpoint());
  constexpr int kMostLooks = 20;
  std::uint64_t before = 0;
  for (int look = 0; look < kMostLooks; ++look) {
    const std::uint64_t now = counts(store).bytes_written;
    if (now == before) return;
    before = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  }
}

double allocated_of_stored(Store& store) {
  const SpaceUsage usage = must(store.space());
  return static_cast<double>(usage.allocated) / static_cast<double>(usage.user_bytes);
}

// What a folder and all below it take of the disk. Files may go meanwhile.
std::uint64_t disk_bytes(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code gone;
  for (auto at = std::filesystem::recursive_directory_iterator(folder, gone);
       at != std::filesystem::recursive_directory_iterator(); at.increment(gone)) {
    struct stat file {};
    if (lstat(at->path().c_str(), &file) == 0) {
      bytes += static_cast<std::uint64_t>(file.st_blocks) * 512;
    }
    if (gone) break;
  }
  return bytes;
}

// Puts object `index`; false: it was refused.
using Put = std::function<bool(std::uint64_t index, ByteView data)>;

struct Lap {
  Measured measured;
  std::uint64_t user_bytes = 0;     // of puts that were taken
  std::uint64_t refused = 0;        // puts
  std::uint64_t process_bytes = 0;  // written to disks
};

class Curve {
 public:
  explicit Curve(const SpacePlan& plan) : plan_(plan) {
    std::sort(plan_.fills.begin(), plan_.fills.end(), std::greater<>());
    const auto most = std::find_if(plan_.fills.begin(), plan_.fills.end(),
                                   [&](unsigned fill) { return fill <= plan_.peers_at; });
    plan_.peers_at = most == plan_.fills.end() ? plan_.fills.back() : *most;
  }

  std::vector<Row> take_rows() { return std::move(rows_); }

  // From full to less: each fill begins with what the one before has left.
  void measure(const Sizes& sizes) {
    if (!wants_some(sizes)) return;
    const Objects objects(sizes);
    std::uint64_t most = 0;
    {
      BenchPool pool(plan_.directory / "hexad", plan_.device_size, Age::kFresh);
      Store& store = pool.store();
      most = fill_to_the_end(store, objects);
      if (most == 0) die("nothing fits; use --device-mib");
      std::fprintf(stderr, "%s: %llu objects fit\n", sizes.what.c_str(),
                   static_cast<unsigned long long>(most));
      std::uint64_t count = most;
      for (const unsigned fill : plan_.fills) {
        const std::uint64_t fewer = objects_at(most, fill);
        remove_from(store, fewer, count);
        count = fewer;
        for (const std::string& load : plan_.loads) hexad(store, sizes, objects, load, fill, count);
      }
    }
    const std::uint64_t count = objects_at(most, plan_.peers_at);
    for (const PeerKind& kind : {rocksdb_peer(), files_peer()}) {
      if (kind.make == nullptr || !wants_peer(sizes, kind.id)) continue;
      const std::filesystem::path folder = plan_.directory / kind.id;
      std::filesystem::create_directories(folder);
      {
        const std::unique_ptr<Peer> peer = kind.make({folder, plan_.device_size});
        fill_peer(*peer, sizes, objects, count);
        for (const std::string& load : plan_.loads) {
          measure_peer(*peer, kind, folder, sizes, objects, load, count);
        }
      }
      std::filesystem::remove_all(folder);
    }
  }

 private:
  static std::uint64_t objects_at(std::uint64_t most, unsigned fill) {
    return std::max<std::uint64_t>(1, most * fill / 100);
  }
  static std::string id_of(const Sizes& sizes, const std::string& load, unsigned fill,
                           const std::string& who) {
    return fmt::format("{}/{}/{}/{}", sizes.id, load, fill, who);
  }
  bool wants(const std::string& id) const { return plan_.only.empty() || plan_.only == id; }
  bool wants_some(const Sizes& sizes) const {
    return plan_.only.empty() || plan_.only.starts_with(sizes.id + "/");
  }
  bool wants_peer(const Sizes& sizes, const std::string& who) const {
    return std::any_of(plan_.loads.begin(), plan_.loads.end(), [&](const std::string& load) {
      return wants(id_of(sizes, load, plan_.peers_at, who));
    });
  }

  Lap lap(const Objects& objects, const std::string& load, std::uint64_t count, double laps,
          const Put& put) const {
    const Draw draw = with_id(all_loads(), load).draw(count);
    std::vector<io::Rng> rngs;
    for (unsigned i = 0; i < plan_.callers; ++i) rngs.emplace_back(++seed_);
    std::atomic<std::uint64_t> user_bytes{0};
    std::atomic<std::uint64_t> refused{0};
    const auto puts = static_cast<std::uint64_t>(static_cast<double>(count) * laps) + 1;
    Lap result;
    const std::uint64_t before = process_bytes_written();
    result.measured = call_for(Load{plan_.seconds, plan_.callers, plan_.callers, puts},
                               [&](unsigned thread, std::uint64_t) {
                                 const std::uint64_t index = draw(rngs[thread]);
                                 const ByteView data = objects.data(index, rngs[thread]);
                                 if (put(index, data)) {
                                   user_bytes.fetch_add(data.size(), std::memory_order_relaxed);
                                 } else {
                                   ++refused;
                                 }
                               });
    result.process_bytes = process_bytes_written() - before;
    result.user_bytes = user_bytes;
    result.refused = refused;
    return result;
  }

  void hexad(Store& store, const Sizes& sizes, const Objects& objects, const std::string& load,
             unsigned fill, std::uint64_t count) {
    const std::string id = id_of(sizes, load, fill, "hexad");
    if (!wants(id)) return;
    std::atomic_flag told;
    const Put put = [&](std::uint64_t index, ByteView data) {
      Transaction t;
      t.put_borrowed(kDefaultCollection, Objects::name(index), data, Hint::kIncompressible);
      const Status status = store.commit(std::move(t)).status();
      if (!status.ok() && status.error().code == ErrorCode::kNoSpace) {
        if (!told.test_and_set()) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
        return false;
      }
      must(status);
      return true;
    };
    lap(objects, load, count, plan_.warm_laps, put);
    const auto causes_before = bytes_by_cause(store);
    const Counts before = counts(store);
    const Lap measured = lap(objects, load, count, plan_.laps, put);
    const Counts took = counts(store) - before;
    const double loaded = allocated_of_stored(store);
    Sample sample = sample_of(measured);
    const auto user = static_cast<double>(std::max<std::uint64_t>(1, measured.user_bytes));
    for (const auto& [cause, bytes] : bytes_by_cause(store)) {
      sample.counted.emplace_back(cause,
                                  static_cast<double>(bytes - causes_before.at(cause)) / user);
    }
    sample.counted.emplace_back("index", static_cast<double>(took.of("index_bytes")) / user);
    sample.counted.emplace_back("copied",
                                static_cast<double>(took.of("device_clean_bytes")) / user);
    wait_for_rest(store);
    sample.counted.emplace_back("space", loaded);
    sample.counted.emplace_back("space at rest", allocated_of_stored(store));
    keep(id, row_name(sizes, load, fill, "hexad"), std::move(sample));
  }

  static void fill_peer(Peer& peer, const Sizes& sizes, const Objects& objects,
                        std::uint64_t count) {
    std::map<std::uint64_t, std::vector<std::string>> names;
    for (std::uint64_t i = 0; i < count; ++i) names[objects.size(i)].push_back(Objects::name(i));
    for (const auto& [size, some] : names) peer.fill(some, noise(size));
    std::fprintf(stderr, "%s: filled a peer\n", sizes.what.c_str());
  }

  void measure_peer(Peer& peer, const PeerKind& kind, const std::filesystem::path& folder,
                    const Sizes& sizes, const Objects& objects, const std::string& load,
                    std::uint64_t count) {
    const std::string id = id_of(sizes, load, plan_.peers_at, kind.id);
    if (!wants(id)) return;
    const Put put = [&](std::uint64_t index, ByteView data) {
      peer.put(Objects::name(index), data);
      return true;
    };
    lap(objects, load, count, plan_.warm_laps, put);
    Sample sample = sample_of(lap(objects, load, count, plan_.laps, put));
    sample.counted.emplace_back("space", static_cast<double>(disk_bytes(folder)) /
                                             static_cast<double>(objects.bytes(count)));
    keep(id, row_name(sizes, load, plan_.peers_at, kind.what), std::move(sample));
  }

  static std::string row_name(const Sizes& sizes, const std::string& load, unsigned fill,
                              const std::string& who) {
    return fmt::format("{}, {}, {} %: {}", sizes.what, with_id(all_loads(), load).what, fill, who);
  }

  static Sample sample_of(const Lap& lap) {
    Sample sample = cost_of(lap.measured, static_cast<double>(lap.measured.transactions));
    const std::uint64_t user = std::max<std::uint64_t>(1, lap.user_bytes);
    sample.value = static_cast<double>(lap.process_bytes) / static_cast<double>(user);
    const std::uint64_t taken = lap.measured.transactions - lap.refused;
    sample.counted.emplace_back("puts/s", static_cast<double>(taken) / lap.measured.seconds);
    sample.counted.emplace_back(
        "p99.9, ms", static_cast<double>(lap.measured.latency.percentile(999, 1000)) / 1e6);
    sample.counted.emplace_back("refused", static_cast<double>(lap.refused));
    return sample;
  }

  void keep(const std::string& id, const std::string& what, Sample sample) {
    std::fprintf(stderr, "%-32s %.4g bytes written per byte\n", id.c_str(), sample.value);
    rows_.push_back({id, what, "bytes written per byte", Bar::none()});
    rows_.back().samples.push_back(std::move(sample));
  }

  SpacePlan plan_;
  mutable std::uint64_t seed_ = 0;
  std::vector<Row> rows_;
};

// A cell of the table: the sum of what was counted under these names, where it was.
std::string cell(const Row& row, const std::set<std::string>& names, int digits) {
  double sum = 0;
  bool found = false;
  for (const auto& [name, value] : row.samples.front().counted) {
    if (!names.contains(name)) continue;
    sum += value;
    found = true;
  }
  return found ? fmt::format("{:.{}f}", sum, digits) : "";
}

}  // namespace

std::vector<std::string> space_sizes() { return ids_of(all_sizes()); }
std::vector<std::string> space_loads() { return ids_of(all_loads()); }

std::vector<Row> measure_space_curve(const SpacePlan& plan) {
  Curve curve(plan);
  for (const std::string& sizes : plan.sizes) curve.measure(with_id(all_sizes(), sizes));
  return curve.take_rows();
}

std::string space_curve(const Settings& settings, const std::vector<Row>& rows) {
  struct Column {
    std::string heading;
    std::set<std::string> counted;
    int digits = 2;
  };
  static const std::vector<Column> kColumns = {
      {"user", {"user"}},
      {"parity", {"parity"}},
      {"log", {"log"}},
      {"runs", {"run", "merge"}},
      {"moves", {"clean"}},
      {"rest", {"super", "zero", "heal", "other"}},
      {"index", {"index"}},
      {"moved payload", {"copied"}},
      {"puts/s", {"puts/s"}, 0},
      {"p99.9, ms", {"p99.9, ms"}, 1},
      {"refused", {"refused"}, 0},
      {"space", {"space"}},
      {"at rest", {"space at rest"}},
  };
  std::string text;
  for (const auto& [name, value] : settings) {
    text += (text.empty() ? "" : "; ") + name + ": " + value;
  }
  text += ".\n\n| | written per byte |";
  for (const Column& column : kColumns) text += " " + column.heading + " |";
  text += "\n|---|---|";
  for (std::size_t i = 0; i < kColumns.size(); ++i) text += "---|";
  text += "\n";
  for (const Row& row : rows) {
    text += fmt::format("| {} | {:.2f} |", row.what, row.samples.front().value);
    for (const Column& column : kColumns) {
      text += " " + cell(row, column.counted, column.digits) + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace hexad::bench
