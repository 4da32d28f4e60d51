// hexad wait: until what goes on in a pool is over. The process that has the pool is asked; what
// nobody has, nothing goes on in.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/units.h"
#include "io/device_path.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/verbs/drain_text.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr io::Nanos kStep = 200'000'000;  // between two looks
// How long a process may take to close the pool. Who opens it then, and does not answer, has it.
constexpr io::Nanos kPatience = 60'000'000'000;
constexpr double kSecond = 1e9;

struct State {
  StoreStatus status;
  // Of the process that has the pool.
  std::optional<core::ControlScrub> scrub;
};

void add(std::string& list, const std::string& one) {
  list += (list.empty() ? "" : ", and ") + one;
}

bool lacks_cells(const DeviceStatus& device) {
  return device.state == "behind" || device.state == "filling";
}

// Damage that is known, and what else is not as it should be and does not become so by itself.
Status judge(const State& state, const std::string& pool) {
  const StoreStatus& status = state.status;
  if (!status.read_only_reason.empty()) {
    return Error{ErrorCode::kUnavailable,
                 "the store has turned read-only: " + status.read_only_reason,
                 "Close it and open it again."};
  }
  for (const DeviceStatus& device : status.devices) {
    const bool member = !device.role.empty();
    const bool well = device.state == "ok" || device.state == "draining" || lacks_cells(device);
    if (!member || well) continue;
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("device {}{} is {}, which no waiting mends", device.id,
                    device.path.empty() ? "" : fmt::format(" ({})", device.path), device.state),
        fmt::format("hexad doctor {} says what does.", pool)};
  }
  for (const DeviceStatus& device : status.devices) {
    if (device.bad_header_slots == 0) continue;
    return Error{
        ErrorCode::kCorruption,
        fmt::format("device {}: {} of its 6 copies of label and root were bad when they "
                    "were looked at last",
                    device.id, device.bad_header_slots),
        io::is_snapshot_path(device.path)
            ? "The pool is a snapshot, in which nothing is put right: see to the pool that "
              "it was taken of."
            : fmt::format("hexad scrub {} writes them again.", pool)};
  }
  if (state.scrub.has_value() && state.scrub->errors > 0) {
    return Error{
        ErrorCode::kCorruption,
        fmt::format("{} findings of the last scrub could not be put right", state.scrub->errors),
        fmt::format("hexad scrub status {} names them.", pool)};
  }
  if (status.damaged_blobs > 0) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("bytes of {} stored pieces of objects are lost", status.damaged_blobs),
                 fmt::format("hexad damage ls {} says which.", pool)};
  }
  return {};
}

class Wait final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.option(
        "--for", for_,
        "rebuild, scrub, drain, clean, or several with commas between [rebuild,scrub]");
    arguments.number("--timeout", timeout_, "Seconds to wait at most [no limit]");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY(parse());
    began_ = session.clock().now();
    OpenView pool;
    Progress progress(session.out(), session.clock(), "wait", 0);
    Left bytes;
    for (;;) {
      HEXAD_TRY_ASSIGN(const State state, look(session, pool));
      const std::string word = session.pool().word();
      if (clean_) HEXAD_TRY(judge(state, word));
      const double waited = waited_seconds(session);
      const std::string left = what_is_left(state);
      if (left.empty()) return done(session, waited);
      if (pool.store != nullptr) {
        return Error{ErrorCode::kUnavailable,
                     left + ", and nobody has the pool open who would go on with it",
                     is_behind(state.status)
                         ? fmt::format("hexad device catch-up {} does it.", word)
                         : fmt::format("hexad device move {} does it.", word)};
      }
      if (timeout_ >= 0 && waited >= timeout_) {
        return Error{ErrorCode::kBusy, fmt::format("{}, after {:.1f} s of waiting", left, waited),
                     "It goes on; wait again, or for longer."};
      }
      show(bytes_left(state), bytes, progress);
      session.executor().sleep_for(kStep);
      if (interrupted()) return interrupted_error();
    }
  }

 private:
  // How many bytes were left at most, and how many of them are known to be done.
  struct Left {
    std::uint64_t most = 0;
    std::uint64_t told = 0;
  };

  static void show(std::uint64_t left, Left& known, Progress& progress) {
    known.most = std::max(known.most, left);
    progress.set_total(known.most);
    const std::uint64_t done = known.most - left;
    progress.advance(done - std::min(done, known.told));
    known.told = std::max(known.told, done);
  }

  Status parse() {
    rebuild_ = for_.empty();
    scrub_ = for_.empty();
    for (std::string_view left = for_; !left.empty();) {
      const std::size_t comma = std::min(left.find(','), left.size());
      const std::string_view word = left.substr(0, comma);
      if (word == "rebuild") {
        rebuild_ = true;
      } else if (word == "scrub") {
        scrub_ = true;
      } else if (word == "drain") {
        drain_ = true;
      } else if (word == "clean") {
        clean_ = true;
      } else {
        return Error{ErrorCode::kInvalidArgument,
                     "--for: '" + printable(word) + "' is nothing that can be waited for",
                     "It is rebuild, scrub, drain, clean, or several with commas between."};
      }
      left.remove_prefix(std::min(comma + 1, left.size()));
    }
    return {};
  }

  double waited_seconds(Session& session) const {
    return static_cast<double>(session.clock().now() - began_) / kSecond;
  }

  static Result<State> ask(const OpenView& pool) {
    State state;
    HEXAD_TRY_ASSIGN(state.status, pool.view->status());
    if (pool.client != nullptr) {
      HEXAD_TRY_ASSIGN(state.scrub, pool.client->scrub());
    }
    return state;
  }

  // Again of whoever has the pool by now, when the one that was asked has closed it.
  Result<State> look(Session& session, OpenView& pool) const {
    // Of the one asked last, too, that has gone before it said anything.
    bool asked = false;
    const io::Nanos end = session.clock().now() + kPatience;
    for (;;) {
      if (pool.view != nullptr) {
        asked |= pool.client != nullptr;
        Result<State> state = ask(pool);
        if (state.ok() || state.error().code != ErrorCode::kBusy) return state;
        pool = {};
      }
      Result<OpenView> opened = session.open_view();
      if (opened.ok()) {
        pool = std::move(opened).value();
        continue;
      }
      // The one that was asked is closing it still.
      const bool in_time = timeout_ < 0 || waited_seconds(session) < timeout_;
      const bool closing = asked && in_time && session.clock().now() < end;
      if (!closing || opened.error().code != ErrorCode::kBusy) return opened.error();
      session.executor().sleep_for(kStep);
      if (interrupted()) return interrupted_error();
    }
  }

  static bool is_behind(const StoreStatus& status) {
    return std::any_of(status.devices.begin(), status.devices.end(),
                       [](const DeviceStatus& device) { return lacks_cells(device); });
  }

  std::string what_is_left(const State& state) const {
    const StoreStatus& status = state.status;
    std::string left;
    if ((rebuild_ || clean_) && is_behind(status)) {
      std::uint64_t missing = 0;
      for (const DeviceStatus& device : status.devices) missing += device.missing_bytes;
      add(left, "devices still lack " + format_size(missing));
    }
    if (drain_) {
      for (const DeviceStatus& device : status.devices) {
        if (!has_slabs_to_move(device)) continue;
        add(left, fmt::format("device {} {}", device.id, describe_drain(device)));
      }
    }
    if (clean_) add_unclean(left, status);
    if (!scrub_) return left;
    for (const JobStatus& job : status.jobs) {
      if (job.name != "scrub" || !job.running) continue;
      add(left, fmt::format("a scrub is at {} of about {}", format_size(job.done),
                            format_size(job.total)));
    }
    if (state.scrub.has_value() && state.scrub->paused) {
      add(left, fmt::format("a scrub is paused at {} of about {}",
                            format_size(state.scrub->report.bytes_checked),
                            format_size(state.scrub->report.bytes_expected)));
    }
    return left;
  }

  // Of what is waited for, as far as it is known in bytes.
  std::uint64_t bytes_left(const State& state) const {
    std::uint64_t left = 0;
    for (const DeviceStatus& device : state.status.devices) {
      if (rebuild_ || clean_) left += device.missing_bytes;
      if (drain_ && has_slabs_to_move(device) && device.slabs > 0) {
        left += device.slabs_used * (device.size / device.slabs);
      }
    }
    if (!scrub_) return left;
    for (const JobStatus& job : state.status.jobs) {
      if (job.name == "scrub" && job.running) left += job.total - std::min(job.total, job.done);
    }
    if (state.scrub.has_value() && state.scrub->paused) {
      const ScrubReport& report = state.scrub->report;
      left += report.bytes_expected - std::min(report.bytes_expected, report.bytes_checked);
    }
    return left;
  }

  static void add_unclean(std::string& left, const StoreStatus& status) {
    for (const JobStatus& job : status.jobs) {
      const bool mends = job.name == "catch-up" || job.name == "membership";
      if (mends && job.running) add(left, job.purpose + " goes on");
    }
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
  bool drain_ = false;
  bool clean_ = false;
  io::Nanos began_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_wait() { return std::make_unique<Wait>(); }

}  // namespace hexad::tools
