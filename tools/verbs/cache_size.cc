// hexad cache-size: how much memory the process that has a pool gives to what was read.
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class CacheSize final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("SIZE", size_, "Bytes, such as 1GiB; 0 keeps nothing");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const std::uint64_t bytes, parse_size(size_));
    // It is of an opening, and ends with it: a pool that nobody has has none.
    HEXAD_TRY_ASSIGN(const core::ControlClient holder, session.find_holder());
    HEXAD_TRY(holder.set_cache_size(bytes));
    if (session.out().json()) {
      session.out().object(Json{{"cache_size", bytes}});
    } else {
      session.out().note("the cache has " + format_size(bytes) + " from now on");
    }
    return kExitOk;
  }

 private:
  std::string size_;
};

}  // namespace

std::unique_ptr<Verb> make_cache_size() { return std::make_unique<CacheSize>(); }

}  // namespace hexad::tools
