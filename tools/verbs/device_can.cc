// hexad device can: whether devices may be taken away, for a while or for good. Nothing is changed.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/api/device_questions.h"
#include "tools/cli/names.h"
#include "tools/verbs/look.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

struct Seen {
  StoreStatus status;
  StoreUse use = StoreUse::kNobody;
  std::string in_use;  // who has it and does not answer; empty: the status is that of now
};

// Of a pool that opens, or whose process answers, or else as far as its last root tells. What
// cannot be opened for another reason than that somebody has it, of that nothing can be said.
Result<Seen> look(Session& session) {
  Seen seen;
  Result<OpenView> pool = session.open_view();
  if (pool.ok()) {
    HEXAD_TRY_ASSIGN(seen.status, pool->view->status());
    if (pool->client != nullptr) seen.use = StoreUse::kWriter;
    HEXAD_TRY(pool->close());
    return seen;
  }
  if (pool.error().code != ErrorCode::kBusy) return pool.error();
  HEXAD_TRY_ASSIGN(const PoolDescription description, session.pool().describe());
  Result<StoreStatus> inspected = inspect(description);
  if (!inspected.ok()) return pool.error();
  seen.status = std::move(inspected).value();
  seen.use = StoreUse::kWriter;
  tell_ids(seen.status.devices);
  seen.in_use = pool.error().message;
  return seen;
}

class DeviceCan final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("WHAT", what_, "offline: for a while; remove: for good");
    arguments.positionals("ID", words_, "Numbers of devices, as device ls shows them");
  }

  Result<int> run(Session& session) override {
    if (what_ != "offline" && what_ != "remove") {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + printable(what_) + "' is nothing that a device can do",
                   "It is offline or remove."};
    }
    HEXAD_TRY_ASSIGN(const std::vector<DeviceId> ids, parse_ids(session));
    HEXAD_TRY_ASSIGN(const Seen seen, look(session));
    const std::string word = session.pool().word();
    HEXAD_TRY_ASSIGN(const DeviceAnswer answer,
                     what_ == "remove" ? can_remove(seen.status, ids, seen.use, word)
                                       : can_offline(seen.status, ids, seen.use, word));
    show(session.out(), ids, seen.in_use, answer);
    return answer.allowed ? kExitOk : kExitDifference;
  }

 private:
  Result<std::vector<DeviceId>> parse_ids(const Session& session) const {
    std::vector<DeviceId> ids;
    for (const std::string& word : words_) {
      HEXAD_TRY_ASSIGN(const DeviceId id, parse_device(word, session));
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    return ids;
  }

  void show(Output& out, const std::vector<DeviceId>& ids, const std::string& in_use,
            const DeviceAnswer& answer) const {
    if (out.json()) {
      Json object{{"question", what_},           {"devices", ids},
                  {"allowed", answer.allowed},   {"reason", answer.reason},
                  {"hint", answer.hint},         {"readable", answer.readable},
                  {"writable", answer.writable}, {"faults_tolerated", answer.faults_tolerated},
                  {"together", answer.together}};
      if (!in_use.empty()) object["in_use"] = in_use;
      out.object(object);
      return;
    }
    out.write(fmt::format("{}: {}\n", answer.allowed ? "yes" : "no", answer.reason));
    if (!answer.hint.empty()) out.write(fmt::format("     {}\n", answer.hint));
    if (!in_use.empty()) {
      out.write(fmt::format("note {}; this is what the last root that it wrote says\n", in_use));
    }
  }

  std::string what_;
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Verb> make_device_can() { return std::make_unique<DeviceCan>(); }

}  // namespace hexad::tools
