#include "benchmarks/tiers/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "benchmarks/commit_path/load.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/noise.h"
#include "benchmarks/tiers/look_ups.h"
#include "benchmarks/tiers/rocksdb_tiers.h"
#include "benchmarks/tiers/tier_pool.h"
#include "io/rng.h"

namespace hexad::bench {

namespace {

// A get costs at most so much of what hits and misses cost by themselves.
constexpr double kMostOfBound = 1.2;
// Hits: of what a cache of that size has at best when all are asked for equally often.
constexpr double kLeastOfShare = 0.9;
constexpr double kLeastHitsAtQuarter = 0.85;  // zipf 1.2
constexpr double kLeastPutsAtQuarter = 0.7;   // of those with all resident
constexpr double kQuarter = 4;

constexpr std::uint64_t kPutsTogether = 64;
constexpr unsigned kInFlight = 16;

std::uint64_t tier_of(std::uint64_t metadata, double multiple) {
  return static_cast<std::uint64_t>(static_cast<double>(metadata) / multiple);
}

class Tiers {
 public:
  explicit Tiers(const TiersPlan& plan) : plan_(plan) {}

  std::vector<Row> measure() {
    TierPool pool({plan_.slow / "pool", plan_.fast / "pool", plan_.objects, plan_.memory});
    pool.open(TierRoom::none());
    metadata_ = pool.metadata_bytes();
    std::fprintf(stderr, "%.1f MiB of metadata\n", static_cast<double>(metadata_) / 0x1p20);
    if (wants_any("get/") || wants_any("hits/")) measure_gets(pool);
    if (wants_any("puts/")) measure_puts(pool);
    pool.close();
    for (const double multiple : plan_.multiples) measure_rocksdb(multiple);
    return std::move(rows_);
  }

 private:
  bool wants_any(const std::string& family) const {
    return plan_.only.empty() || plan_.only.starts_with(family);
  }
  bool wants(const std::string& id) const { return plan_.only.empty() || plan_.only == id; }
  static std::string name_of(const std::string& what, const Skew& skew, double multiple) {
    return fmt::format("{}, {}, metadata {:g} x the fast tier", what, skew.what, multiple);
  }

  LookUps looked_up(Store& store, const Skew& skew) const {
    return look_up(store, Draw(skew, plan_.objects, 7), plan_.warm, plan_.look_ups);
  }

  void measure_gets(TierPool& pool) {
    // What a miss costs where nothing is resident, and a hit where everything is.
    std::map<std::string, double> hit;
    std::map<std::string, double> miss;
    for (const Skew& skew : tier_skews()) {
      miss[skew.id] = looked_up(pool.open(TierRoom::none()), skew).miss_us;
    }
    for (const Skew& skew : tier_skews()) {
      Store& store = pool.open(TierRoom::blocks_alone(3 * metadata_));
      hit[skew.id] = looked_up(store, skew).hit_us;
    }
    for (const double multiple : plan_.multiples) {
      Store& store = pool.open(TierRoom::of(tier_of(metadata_, multiple)));
      for (const Skew& skew : tier_skews()) {
        const LookUps found = looked_up(store, skew);
        keep_get(skew, multiple, found, hit[skew.id], miss[skew.id], store.status().metadata_on);
        keep_hits(skew, multiple, found);
      }
    }
  }

  void keep_get(const Skew& skew, double multiple, const LookUps& found, double hit, double miss,
                const std::string& on) {
    const double bound = found.hits * hit + (1 - found.hits) * miss;
    Row row{fmt::format("get/{}/{:g}/hexad", skew.id, multiple),
            name_of("get", skew, multiple) + ": hexad, " + on, "us",
            Bar::value_at_most(kMostOfBound * bound)};
    Sample sample;
    sample.value = found.mean_us;
    sample.counted = {{"bound, us", bound},
                      {"of the bound", found.mean_us / bound},
                      {"hits", found.hits},
                      {"hot, us", hit},
                      {"cold, us", miss}};
    keep(std::move(row), {sample});
  }

  void keep_hits(const Skew& skew, double multiple, const LookUps& found) {
    Bar bar = Bar::none();
    if (skew.theta == 0) bar = Bar::value_at_least(kLeastOfShare * std::min(1.0, 1 / multiple));
    if (skew.theta > 1 && multiple == kQuarter) bar = Bar::value_at_least(kLeastHitsAtQuarter);
    Row row{fmt::format("hits/{}/{:g}/hexad", skew.id, multiple), name_of("hits", skew, multiple),
            "of look-ups", bar};
    Sample sample;
    sample.value = found.hits;
    keep(std::move(row), {sample});
  }

  double puts_per_second(TierPool& pool, const TierRoom& room) {
    // What is in flight asks for more blocks at once than little memory has.
    Store& store = pool.open(room, TierPool::Memory::kLeast);
    look_up(store, Draw(tier_skews().front(), plan_.objects, ++seed_), plan_.warm, 0);
    const Bytes data = noise(1 << 20);
    const std::uint64_t seed = ++seed_ << 32;
    const Measured measured =
        submit_for(store, {plan_.seconds, 1, kInFlight}, [&](Transaction& t, std::uint64_t at) {
          io::Rng rng(seed + at);
          for (std::uint64_t i = 0; i < kPutsTogether; ++i) {
            t.put(kDefaultCollection, tier_object_name(rng.below(plan_.objects)),
                  ByteView(data).subspan(rng.below(data.size() - kTierObjectBytes),
                                         kTierObjectBytes));
          }
        });
    return kPutsTogether * measured.per_second();
  }

  void measure_puts(TierPool& pool) {
    Row row{fmt::format("puts/{:g}", kQuarter),
            fmt::format("puts, metadata {:g} x the fast tier", kQuarter),
            "of those with all resident", Bar::value_at_least(kLeastPutsAtQuarter)};
    std::vector<Sample> samples;
    for (unsigned i = 0; i < plan_.repetitions; ++i) {
      const double few = puts_per_second(pool, TierRoom::of(tier_of(metadata_, kQuarter)));
      const double all = puts_per_second(pool, TierRoom::without_end());
      Sample sample;
      sample.value = few / all;
      sample.counted = {{"puts/s", few}, {"puts/s, all resident", all}};
      samples.push_back(std::move(sample));
    }
    keep(std::move(row), std::move(samples));
  }

  void measure_rocksdb(double multiple) {
    if (!wants_any("get/") || (!plan_.only.empty() && !plan_.only.ends_with("/rocksdb"))) return;
    const std::string folder = fmt::format("rocksdb{:g}", multiple);
    const auto peer = open_rocksdb_tiers(
        {plan_.slow / folder, plan_.fast / folder, tier_of(metadata_, multiple), plan_.memory});
    if (peer == nullptr) return;
    const Bytes data = noise(1 << 20);
    for (std::uint64_t i = 0; i < plan_.objects; ++i) {
      peer->put(
          tier_object_name(i),
          ByteView(data).subspan(i * 97 % (data.size() - kTierObjectBytes), kTierObjectBytes));
    }
    peer->settle();
    for (const Skew& skew : tier_skews()) {
      Draw draw(skew, plan_.objects, 7);
      const auto get = [&] {
        if (peer->get(tier_object_name(draw())).size() != kTierObjectBytes) die("a lost object");
      };
      // Its cache has nothing to learn where it is on the fast tier: a tenth warms it.
      for (std::uint64_t i = 0; i < plan_.warm / 10; ++i) get();
      const auto began = std::chrono::steady_clock::now();
      for (std::uint64_t i = 0; i < plan_.look_ups; ++i) get();
      const double us =
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began)
              .count();
      Row row{fmt::format("get/{}/{:g}/rocksdb", skew.id, multiple),
              name_of("get", skew, multiple) + ": RocksDB", "us", Bar::none()};
      Sample sample;
      sample.value = us / static_cast<double>(plan_.look_ups);
      const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 0x1p20; };
      sample.counted = {{"tables, MiB", mib(peer->bytes())},
                        {"on the fast tier, MiB", mib(peer->fast_bytes())}};
      keep(std::move(row), {sample});
    }
    std::error_code ignored;
    std::filesystem::remove_all(plan_.slow / folder, ignored);
    std::filesystem::remove_all(plan_.fast / folder, ignored);
  }

  void keep(Row row, std::vector<Sample> samples) {
    if (!wants(row.id)) return;
    row.samples = std::move(samples);
    std::fprintf(stderr, "%-28s %.4g %s\n", row.id.c_str(), row.samples.front().value,
                 row.unit.c_str());
    rows_.push_back(std::move(row));
  }

  const TiersPlan plan_;
  std::uint64_t metadata_ = 0;  // bytes
  std::uint64_t seed_ = 0;
  std::vector<Row> rows_;
};

// The median of what was counted under that name; empty: nothing was.
std::string cell(const Row& row, const std::string& name) {
  std::vector<double> values;
  for (const Sample& sample : row.samples) {
    for (const auto& [counted, value] : sample.counted) {
      if (counted == name) values.push_back(value);
    }
  }
  return values.empty() ? "" : fmt::format("{:.3g}", median(std::move(values)));
}

}  // namespace

std::vector<Row> measure_tiers(const TiersPlan& plan) { return Tiers(plan).measure(); }

std::string tiers_table(const Settings& settings, const std::vector<Row>& rows) {
  std::vector<std::string> columns;
  for (const Row& row : rows) {
    for (const auto& [name, value] : row.samples.front().counted) {
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
    }
  }
  std::string text;
  for (const auto& [name, value] : settings) {
    text += (text.empty() ? "" : "; ") + name + ": " + value;
  }
  text += ".\n\n| | median (least..most) | unit | bar | |";
  std::string rule = "\n|---|---|---|---|---|";
  for (const std::string& column : columns) {
    text += " " + column + " |";
    rule += "---|";
  }
  text += rule + "\n";
  for (const Row& row : rows) {
    std::vector<double> values;
    for (const Sample& sample : row.samples) values.push_back(sample.value);
    const Summary found = summarise(values);
    text += fmt::format("| {} | {:.3g}", row.what, found.median);
    if (values.size() > 1) text += fmt::format(" ({:.3g}..{:.3g})", found.least, found.most);
    const bool most = row.bar.side == Bar::Side::kAtMost;
    const std::string bar = row.bar.of == Bar::Of::kNone
                                ? ""
                                : fmt::format("{} {:.3g}", most ? "<=" : ">=", row.bar.limit);
    text += fmt::format(" | {} | {} | {} |", row.unit, bar, judge(row));
    for (const std::string& column : columns) text += " " + cell(row, column) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace hexad::bench
