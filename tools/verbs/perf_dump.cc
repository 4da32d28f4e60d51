// hexad perf dump: every counter, over the life of the store and of this opening. Always JSON.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// Pairs of counters once more as BlueStore shows them: in seconds, over the life of the store.
void add_latencies(Json& result) {
  constexpr std::string_view kSum = "_ns";
  Json latencies = Json::object();
  for (const auto& [name, sum] : result["counters"].items()) {
    if (!name.ends_with("_lat_ns")) continue;
    const std::string base = name.substr(0, name.size() - kSum.size());
    const auto count = result["counters"][base + "_count"].get<std::uint64_t>();
    const double seconds = sum.get<double>() / 1e9;
    latencies[base] = {{"avgcount", count},
                       {"sum", seconds},
                       {"avgtime", count == 0 ? 0.0 : seconds / static_cast<double>(count)}};
  }
  result["latencies"] = std::move(latencies);
}

class PerfDump final : public Verb {
 public:
  void declare(Arguments&) override {}

  Result<int> run(Session& session) override {
    return session.with_view([&](PoolView& pool) -> Result<int> {
      HEXAD_TRY_ASSIGN(const std::vector<Counter> counters, pool.counters());
      Json result{{"counters", Json::object()}, {"since_open", Json::object()}};
      for (const Counter& counter : counters) {
        result["counters"][counter.name] = counter.total;
        result["since_open"][counter.name] = counter.since_open;
      }
      add_latencies(result);
      session.out().object(result, !session.out().json());
      return kExitOk;
    });
  }
};

}  // namespace

std::unique_ptr<Verb> make_perf_dump() { return std::make_unique<PerfDump>(); }

}  // namespace hexad::tools
