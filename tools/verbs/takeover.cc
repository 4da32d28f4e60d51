// hexad takeover: whoever has the pool is shut out of its devices, and it is recovered here.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tools/cli/interrupt.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// Whether the user says yes to it, at the terminal.
Result<bool> agrees(const std::string& question) {
  constexpr int kStep = 200;  // milliseconds between two looks whether it was interrupted
  const std::string text = question + " [y/N] ";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return false;
  for (;;) {
    pollfd terminal{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&terminal, 1, kStep);
    if (interrupted()) return interrupted_error();
    if (ready <= 0) continue;
    std::array<char, 80> line{};
    return ::read(STDIN_FILENO, line.data(), line.size()) > 0 && (line[0] == 'y' || line[0] == 'Y');
  }
}

Json to_json(const std::vector<DeviceHolder>& holders) {
  Json list = Json::array();
  for (const DeviceHolder& holder : holders) {
    list.push_back(Json{
        {"path", holder.path}, {"who", holder.who}, {"can_be_shut_out", holder.can_be_shut_out}});
  }
  return list;
}

class Takeover final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.flag("-y,--yes", yes_, "Shut them out without asking");
    arguments.flag("-n,--dry-run", dry_run_, "Only say who has devices of the pool");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const PoolDescription pool, session.pool().describe());
    HEXAD_TRY_ASSIGN(const std::vector<DeviceHolder> holders, Store::holders(pool));
    if (!session.out().json()) {
      for (const DeviceHolder& holder : holders) {
        session.out().write(fmt::format("{}: {}\n", holder.path, holder.who));
      }
      if (holders.empty()) session.out().note("nobody has a device of the pool open");
    }
    if (dry_run_) {
      if (session.out().json()) session.out().object(Json{{"holders", to_json(holders)}});
      return kExitOk;
    }
    HEXAD_TRY_ASSIGN(const bool go_on, may_go_on(holders));
    if (!go_on) {
      session.out().note("nobody has been shut out");
      return kExitDifference;
    }
    HEXAD_TRY_ASSIGN(const std::vector<DeviceHolder> shut_out, Store::take_over(pool));
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      const StoreStatus status = store.status();
      if (session.out().json()) {
        session.out().object(Json{{"holders", to_json(shut_out)}, {"last_lsn", status.last_lsn}});
      } else {
        session.out().note(fmt::format("{} device{} taken over; all is there up to LSN {}",
                                       shut_out.size(), shut_out.size() == 1 ? " was" : "s were",
                                       status.last_lsn));
      }
      return kExitOk;
    });
  }

 private:
  Result<bool> may_go_on(const std::vector<DeviceHolder>& holders) const {
    if (yes_ || holders.empty()) return true;
    const std::string what =
        fmt::format("{} device{} of the pool {} open for writing elsewhere", holders.size(),
                    holders.size() == 1 ? "" : "s", holders.size() == 1 ? "is" : "are");
    if (isatty(STDIN_FILENO) != 1) {
      return Error{
          ErrorCode::kInvalidArgument, what + "; nobody has been shut out",
          "Give --yes to shut them out: what they have not been told is done may be lost."};
    }
    return agrees(what + ". Shut them out?");
  }

  bool yes_ = false;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_takeover() { return std::make_unique<Takeover>(); }

}  // namespace hexad::tools
