// hexad perf dump: every counter, over the life of the store and of this opening. Always JSON.
#include <nlohmann/json.hpp>

#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class PerfDump final : public Verb {
 public:
  void declare(Arguments&) override {}

  Result<int> run(Session& session) override {
    return session.with_store(Access::kReadOnly, [&](Store& store) -> Result<int> {
      Json result{{"counters", Json::object()}, {"since_open", Json::object()}};
      for (const Counter& counter : store.counters()) {
        result["counters"][counter.name] = counter.total;
        result["since_open"][counter.name] = counter.since_open;
      }
      session.out().object(result, !session.out().json());
      return kExitOk;
    });
  }
};

}  // namespace

std::unique_ptr<Verb> make_perf_dump() { return std::make_unique<PerfDump>(); }

}  // namespace hexad::tools
