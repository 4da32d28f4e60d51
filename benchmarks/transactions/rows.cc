#include "benchmarks/transactions/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/bytes.h"
#include "base/units.h"
#include "benchmarks/commit_path/load.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/pool.h"
#include "benchmarks/peers/key_value_peer.h"
#include "io/rng.h"

namespace hexad::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTogether = 100;      // operations of a batch
constexpr std::uint64_t kBefore = 100'000;    // objects that get attributes and keys of omaps
constexpr std::uint64_t kPageEntries = 1000;  // of a listing
const std::string kRecord(40, 'r');           // as long as the record of an empty object
constexpr const char* kSmall = "small";
constexpr const char* kMoved = "moved";

bool wants(const TransactionsPlan& plan, const std::string& id) {
  return plan.only.empty() || plan.only == id;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void must_commit(Store& store, const std::function<void(Transaction&)>& build) {
  Transaction t;
  build(t);
  must(store.commit(std::move(t)).status());
}

// --- transactions beside key-value stores --------------------------------------------------------

enum class Kind : std::uint8_t { kCreate, kSetAttr, kOmap };

struct Shape {
  Kind kind = Kind::kCreate;
  std::uint64_t together = 1;  // operations of a transaction
  unsigned threads = 1;        // blocking callers
};

// The key of an object's record in a key-value store.
std::string record_key(const char* family, std::uint64_t index) {
  return "o" + object_name(family, index);
}

std::string value_of(std::uint64_t index) { return fmt::format("{:0100}", index); }

// A new object, an attribute of 100 bytes, or a key of an omap with such a value. Each operation of
// a run is another one.
void add_operation(Transaction& t, Kind kind, std::uint64_t index) {
  const std::string existing = object_name("there", index * 7919 % kBefore);
  switch (kind) {
    case Kind::kCreate:
      return t.create(kDefaultCollection, object_name("new", index));
    case Kind::kSetAttr:
      return t.set_attr(kDefaultCollection, existing, "attribute", value_of(index));
    case Kind::kOmap:
      return t.omap_set(kDefaultCollection, existing, fmt::format("{:016}", index),
                        value_of(index));
  }
}

struct Record {
  std::string key;
  std::string value;
};

// What an object store on top of keys and values has to write for it at the least: the object's
// record, which it has read before where the object is there, and the key.
void add_records(std::vector<Record>& records, Peer& peer, Kind kind, std::uint64_t index) {
  const std::string existing = record_key("there", index * 7919 % kBefore);
  switch (kind) {
    case Kind::kCreate:
      records.push_back({record_key("new", index), kRecord});
      return;
    case Kind::kSetAttr:
      peer.get(existing);
      records.push_back({existing, kRecord + value_of(index)});
      return;
    case Kind::kOmap:
      peer.get(existing);
      records.push_back({existing, kRecord});
      records.push_back({"p" + existing + fmt::format("{:016}", index), value_of(index)});
      return;
  }
}

void commit(KeyValuePeer& peer, const std::vector<Record>& records) {
  std::vector<Change> changes;
  for (const Record& record : records) {
    changes.push_back({&record.key, as_bytes(record.value), false});
  }
  peer.commit(changes);
}

// Operations per second of `threads` callers, each with one transaction at a time.
double rate_of(double seconds, const Shape& shape, const std::function<void(std::uint64_t)>& call) {
  std::atomic<std::uint64_t> next{0};
  const Clock::time_point start = Clock::now();
  std::vector<std::thread> callers;
  for (unsigned i = 0; i < shape.threads; ++i) {
    callers.emplace_back([&] {
      // One at least: on a busy machine the time may be over before a thread has begun.
      do {
        call(next.fetch_add(1));
      } while (seconds_since(start) < seconds);
    });
  }
  for (std::thread& caller : callers) caller.join();
  return static_cast<double>(next.load() * shape.together) / seconds_since(start);
}

class Contest {
 public:
  explicit Contest(const TransactionsPlan& plan)
      : plan_(plan), pool_(plan.directory / "contest", plan.device_size, Age::kWarm) {
    std::vector<std::string> keys;
    for (std::uint64_t at = 0; at < kBefore; at += kTogether) {
      must_commit(pool_.store(), [&](Transaction& t) {
        for (std::uint64_t i = at; i < at + kTogether; ++i) {
          t.create(kDefaultCollection, object_name("there", i));
          keys.push_back(record_key("there", i));
        }
      });
    }
    must(pool_.store().checkpoint());
    peers_.emplace_back("LMDB", open_lmdb({plan.directory / "lmdb", plan.device_size}));
    if (auto rocksdb = open_rocksdb({plan.directory / "rocksdb", plan.device_size})) {
      peers_.emplace_back("RocksDB", std::move(rocksdb));
    }
    for (auto& [name, peer] : peers_) peer->fill(keys, as_bytes(kRecord));
  }
  ~Contest() {
    peers_.clear();
    std::filesystem::remove_all(plan_.directory / "lmdb");
    std::filesystem::remove_all(plan_.directory / "rocksdb");
  }
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  // One after the other, in turn.
  Row measure(const std::string& id, const std::string& what, const Shape& shape) {
    Row row{id, what, "operations/s", Bar::none()};
    for (unsigned i = 0; i < plan_.repetitions; ++i) {
      const std::uint64_t base = (++runs_) * 1'000'000'000;
      Sample sample;
      sample.value = rate_of(plan_.seconds, shape, [&](std::uint64_t index) {
        must_commit(pool_.store(), [&](Transaction& t) {
          for (std::uint64_t j = 0; j < shape.together; ++j) {
            add_operation(t, shape.kind, base + index * shape.together + j);
          }
        });
      });
      for (auto& [name, peer] : peers_) {
        KeyValuePeer& store = *peer;
        const double rate = rate_of(plan_.seconds, shape, [&](std::uint64_t index) {
          std::vector<Record> records;
          for (std::uint64_t j = 0; j < shape.together; ++j) {
            add_records(records, store, shape.kind, base + index * shape.together + j);
          }
          commit(store, records);
        });
        sample.counted.emplace_back(name + " operations/s", rate);
        sample.counted.emplace_back("ratio to " + name, sample.value / rate);
      }
      row.samples.push_back(std::move(sample));
    }
    return row;
  }

 private:
  const TransactionsPlan& plan_;
  BenchPool pool_;
  std::vector<std::pair<std::string, std::unique_ptr<KeyValuePeer>>> peers_;
  std::uint64_t runs_ = 0;
};

void measure_contest(const TransactionsPlan& plan, std::vector<Row>& rows) {
  struct Named {
    Kind kind;
    const char* id;
    const char* what;
  };
  static constexpr Named kKinds[] = {{Kind::kCreate, "create", "new empty objects"},
                                     {Kind::kSetAttr, "setattr", "attributes of 100 bytes"},
                                     {Kind::kOmap, "omap", "omap keys with values of 100 bytes"}};
  std::unique_ptr<Contest> contest;
  for (const Named& named : kKinds) {
    for (const std::uint64_t together : {std::uint64_t{1}, kTogether}) {
      for (const unsigned threads : {1U, 16U}) {
        const std::string id = fmt::format("{}_{}_{}", named.id, together, threads);
        if (!wants(plan, id)) continue;
        if (contest == nullptr) contest = std::make_unique<Contest>(plan);
        const std::string what =
            fmt::format("{}, {} to a transaction, {} callers", named.what, together, threads);
        rows.push_back(contest->measure(id, what, {named.kind, together, threads}));
      }
    }
  }
}

// --- listing, clones, splits ---------------------------------------------------------------------

// A thousand names to a directory.
std::string listed_name(std::uint64_t number) {
  return fmt::format("directory{:06}/{:08}", number / 1000, number);
}

void fill(Store& store, const char* collection, std::uint64_t count) {
  constexpr std::uint64_t kBatch = 64;
  const Bytes data = noise(100);
  submit_for(store, {3600, 1, 16, (count + kBatch - 1) / kBatch},
             [&](Transaction& t, std::uint64_t at) {
               for (std::uint64_t i = kBatch * at; i < std::min(count, kBatch * (at + 1)); ++i) {
                 t.put_borrowed(collection, listed_name(i), data, Hint::kIncompressible);
               }
             });
  must(store.checkpoint());
}

// Microseconds, the median of pages that begin at random.
double page_us(const TransactionsPlan& plan, Store& store, const char* collection,
               std::uint64_t objects) {
  io::Rng rng(1);
  ListOptions options;
  options.limit = kPageEntries;
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  while (times.size() < 10 || seconds_since(start) < plan.seconds) {
    const std::uint64_t at = rng.below(objects - kPageEntries);
    options.start_after = listed_name(at);
    const Clock::time_point began = Clock::now();
    const ListPage page = must(store.list(collection, options));
    times.push_back(seconds_since(began) * 1e6);
    if (page.entries.empty() || page.entries.front().name != listed_name(at + 1)) {
      die("a page of " + std::string(collection) + " begins with another name");
    }
  }
  return median(times);
}

// Names per second, all of the collection once, in pages as long as there are.
double names_per_second(Store& store, std::uint64_t objects) {
  ListOptions options;
  options.limit = kMaxListPage;
  std::uint64_t found = 0;
  const Clock::time_point start = Clock::now();
  for (;;) {
    const ListPage page = must(store.list(kDefaultCollection, options));
    found += page.entries.size();
    if (!page.next.has_value()) break;
    options.start_after = *page.next;
  }
  const double rate = static_cast<double>(found) / seconds_since(start);
  if (found != objects) die(fmt::format("{} names are listed, {} were put", found, objects));
  return rate;
}

void measure_listing(const TransactionsPlan& plan, Store& store, std::vector<Row>& rows) {
  Row page{"page", fmt::format("page of 1000 names of {} objects", plan.objects),
           fmt::format("of one of {}", plan.small), Bar::value_at_most(2)};
  Row names{"list", "names listed, all in memory", "M/s", Bar::value_at_least(10)};
  for (unsigned i = 0; i < plan.repetitions; ++i) {
    const double small = page_us(plan, store, kSmall, plan.small);
    const double large = page_us(plan, store, kDefaultCollection, plan.objects);
    Sample sample;
    sample.value = large / small;
    sample.counted = {{"us", large}, {"us of the small one", small}};
    page.samples.push_back(std::move(sample));
    Sample rate;
    rate.value = names_per_second(store, plan.objects) / 1e6;
    names.samples.push_back(std::move(rate));
  }
  for (const Row& row : {page, names}) {
    if (wants(plan, row.id)) rows.push_back(row);
  }
}

// There and back: the objects whose names begin with "directory0", all up to 10^8 of them.
void measure_splits(const TransactionsPlan& plan, Store& store, std::vector<Row>& rows) {
  Row split{"split", fmt::format("split of {} objects", plan.objects), "ms", Bar::none()};
  Row merge{"merge", "merge of them", "ms", Bar::none()};
  const auto timed = [&](Row& row, const std::function<void(Transaction&)>& build) {
    const Clock::time_point began = Clock::now();
    must_commit(store, build);
    Sample sample;
    sample.value = seconds_since(began) * 1e3;
    row.samples.push_back(std::move(sample));
  };
  for (unsigned i = 0; i < plan.repetitions; ++i) {
    must_commit(store, [](Transaction& t) { t.create_collection(kMoved); });
    timed(split,
          [](Transaction& t) { t.split_collection(kDefaultCollection, "directory0", kMoved); });
    if (must(store.collection(kMoved)).objects != plan.objects) die("a split has lost objects");
    timed(merge, [](Transaction& t) { t.merge_collection(kMoved, kDefaultCollection); });
  }
  for (const Row& row : {split, merge}) {
    if (wants(plan, row.id)) rows.push_back(row);
  }
}

void measure_clone(const TransactionsPlan& plan, Store& store, std::vector<Row>& rows) {
  const auto make = [&](const char* name, std::uint64_t keys) {
    must_commit(store, [&](Transaction& t) { t.create(kSmall, name); });
    for (std::uint64_t at = 0; at < keys; at += 1000) {
      must_commit(store, [&](Transaction& t) {
        for (std::uint64_t i = at; i < std::min(keys, at + 1000); ++i) {
          t.omap_set(kSmall, name, fmt::format("{:016}", i), "a value of some bytes");
        }
      });
    }
  };
  constexpr std::uint64_t kFew = 1000;
  make("few", kFew);
  make("many", plan.keys);
  must(store.checkpoint());
  const auto clone_ms = [&](const char* name, unsigned i) {
    const std::string to = fmt::format("{}/{}", name, i);
    const Clock::time_point began = Clock::now();
    must_commit(store, [&](Transaction& t) { t.clone(kSmall, name, kSmall, to); });
    const double ms = seconds_since(began) * 1e3;
    if (must(store.omap_get(kSmall, to, "0000000000000999")) == std::nullopt) {
      die("a clone does not show a key of its source");
    }
    return ms;
  };
  Row row{"clone_omap", fmt::format("clone of an object with {} keys in its omap", plan.keys), "ms",
          Bar::none()};
  for (unsigned i = 0; i < plan.repetitions; ++i) {
    const double few = clone_ms("few", i);
    Sample sample;
    sample.value = clone_ms("many", i);
    sample.counted.emplace_back("ms with 1000 keys", few);
    row.samples.push_back(std::move(sample));
  }
  rows.push_back(std::move(row));
}

}  // namespace

Settings key_value_settings() {
  Settings settings;
  for (const PeerKind& kind : {lmdb_peer(), rocksdb_peer()}) {
    settings.emplace_back(kind.what, kind.settings);
  }
  return settings;
}

std::vector<Row> measure_transactions(const TransactionsPlan& plan) {
  std::vector<Row> rows;
  measure_contest(plan, rows);
  const bool lists = wants(plan, "page") || wants(plan, "list");
  const bool splits = wants(plan, "split") || wants(plan, "merge");
  if (!lists && !splits && !wants(plan, "clone_omap")) return rows;
  BenchPool pool(plan.directory / "names", plan.device_size, Age::kFresh);
  must_commit(pool.store(), [](Transaction& t) { t.create_collection(kSmall); });
  if (lists || splits) {
    fill(pool.store(), kDefaultCollection, plan.objects);
    fill(pool.store(), kSmall, plan.small);
  }
  if (lists) measure_listing(plan, pool.store(), rows);
  if (splits) measure_splits(plan, pool.store(), rows);
  if (wants(plan, "clone_omap")) measure_clone(plan, pool.store(), rows);
  return rows;
}

}  // namespace hexad::bench
