// hexad wait: until what goes on in a pool is over. The process that has the pool is asked; what
// nobody has, nothing goes on in.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr io::Nanos kStep = 200'000'000;  // between two looks
constexpr double kSecond = 1e9;

class Wait final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.option("--for", for_, "rebuild, scrub, or both with a comma between [both]");
    arguments.number("--timeout", timeout_, "Seconds to wait at most [no limit]");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY(parse());
    const io::Nanos began = session.clock().now();
    OpenView pool;
    for (;;) {
      HEXAD_TRY_ASSIGN(const StoreStatus status, look(session, pool));
      const double waited = static_cast<double>(session.clock().now() - began) / kSecond;
      const std::string left = what_is_left(status);
      if (left.empty()) return done(session, waited);
      if (pool.store != nullptr) {
        return Error{ErrorCode::kUnavailable,
                     left + ", and nobody has the pool open who would go on with it",
                     fmt::format("hexad device catch-up {} does it.", session.pool().word())};
      }
      if (timeout_ >= 0 && waited >= timeout_) {
        return Error{ErrorCode::kBusy, fmt::format("{}, after {:.1f} s of waiting", left, waited),
                     "It goes on; wait again, or for longer."};
      }
      session.executor().sleep_for(kStep);
      if (interrupted()) return interrupted_error();
    }
  }

 private:
  Status parse() {
    rebuild_ = for_.empty();
    scrub_ = for_.empty();
    for (std::string_view left = for_; !left.empty();) {
      const std::size_t comma = std::min(left.find(','), left.size());
      const std::string_view word = left.substr(0, comma);
      if (word != "rebuild" && word != "scrub") {
        return Error{ErrorCode::kInvalidArgument,
                     "--for: '" + printable(word) + "' is nothing that can be waited for",
                     "It is rebuild, scrub, or both with a comma between."};
      }
      (word == "rebuild" ? rebuild_ : scrub_) = true;
      left.remove_prefix(std::min(comma + 1, left.size()));
    }
    return {};
  }

  // Again of whoever has the pool by now, when the one that was asked has closed it.
  static Result<StoreStatus> look(Session& session, OpenView& pool) {
    if (pool.client != nullptr) {
      Result<StoreStatus> status = pool.view->status();
      if (status.ok() || status.error().code != ErrorCode::kBusy) return status;
    }
    HEXAD_TRY_ASSIGN(pool, session.open_view());
    return pool.view->status();
  }

  std::string what_is_left(const StoreStatus& status) const {
    std::string left;
    std::uint64_t missing = 0;
    bool behind = false;
    for (const DeviceStatus& device : status.devices) {
      behind = behind || device.state == "behind";
      missing += device.missing_bytes;
    }
    if (rebuild_ && behind) left = "devices still lack " + format_size(missing);
    for (const JobStatus& job : status.jobs) {
      if (!scrub_ || job.name != "scrub" || !job.running) continue;
      left += fmt::format("{}a scrub is at {} of about {}", left.empty() ? "" : ", and ",
                          format_size(job.done), format_size(job.total));
    }
    return left;
  }

  static Result<int> done(Session& session, double waited) {
    if (session.out().json()) {
      session.out().object(Json{{"done", true}, {"waited_seconds", waited}});
    }
    session.out().note(fmt::format("nothing is left to wait for, after {:.1f} s", waited));
    return kExitOk;
  }

  std::string for_;
  double timeout_ = -1;
  bool rebuild_ = false;
  bool scrub_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_wait() { return std::make_unique<Wait>(); }

}  // namespace hexad::tools
