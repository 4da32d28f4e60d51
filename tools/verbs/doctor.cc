// hexad doctor: what is wrong with a pool, the most urgent first, and what to type.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/units.h"
#include "tools/cli/names.h"
#include "tools/verbs/diagnosis.h"
#include "tools/verbs/look.h"
#include "tools/verbs/pool_paths.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// It may be what somebody wants.
void note_without_device(PoolFacts& facts, const PoolDescription& description) {
  for (const std::string& directory : without_device(description, facts.status)) {
    facts.status.notes.push_back(
        fmt::format("the index alone is kept in {}, which the pool's description names and where "
                    "no device of the pool is; where that is left of a device that was removed, "
                    "hexad device remove {} {} takes it out of the description",
                    printable(directory), facts.pool, shell_word(directory)));
  }
}

// Of a pool that opens its space, too.
Result<PoolFacts> find_facts(Session& session) {
  PoolFacts facts;
  facts.pool = session.pool().word();
  HEXAD_TRY_ASSIGN(const PoolDescription description, session.pool().describe());
  Result<OpenView> pool = session.open_view();
  if (!pool.ok()) {
    Result<StoreStatus> inspected = inspect(description);
    if (!inspected.ok()) return pool.error();
    facts.error = pool.error();
    facts.status = std::move(inspected).value();
    tell_ids(facts.status.devices);
    return facts;
  }
  facts.held = pool->client != nullptr;
  HEXAD_TRY_ASSIGN(facts.status, judged_status(*pool->view));
  if (!session.pool().directory.empty()) note_without_device(facts, description);
  Result<SpaceUsage> space = pool->view->space();
  if (space.ok()) {
    facts.space = std::move(space).value();
  } else {
    facts.error = space.error();
  }
  HEXAD_TRY(pool->close());
  return facts;
}

std::size_t data_devices(const StoreStatus& status) {
  return static_cast<std::size_t>(
      std::count_if(status.devices.begin(), status.devices.end(),
                    [](const DeviceStatus& device) { return device.role == "data"; }));
}

Json as_json(const PoolFacts& facts, const std::vector<Advice>& advice) {
  Json object{{"health", health_name(facts.status.health)},
              {"faults_tolerated", facts.status.faults_tolerated},
              {"redundant_devices", facts.status.redundant_devices},
              {"advice", Json::array()},
              {"notes", facts.status.notes}};
  for (const Advice& one : advice) {
    object["advice"].push_back(
        Json{{"urgency", to_string(one.urgency)},
             {"problem", one.problem},
             {"remedy", one.remedy},
             {"command", one.command.empty() ? Json(nullptr) : Json(one.command)}});
  }
  if (facts.error.has_value()) object["error"] = error_json(*facts.error);
  return object;
}

std::string as_text(const PoolFacts& facts, const std::vector<Advice>& advice) {
  std::string text;
  for (const Advice& one : advice) {
    text += fmt::format("{:<6} {}\n", to_string(one.urgency), one.problem);
    if (!one.remedy.empty()) text += fmt::format("       {}\n", one.remedy);
    if (!one.command.empty()) text += fmt::format("           {}\n", one.command);
  }
  if (facts.error.has_value() && facts.error->code == ErrorCode::kBusy) {
    text += facts.error->message + "; this is what the last root that it wrote says\n";
  }
  if (advice.empty()) {
    const std::uint32_t more = facts.status.faults_tolerated;
    text += fmt::format("nothing is wrong with {}: {} data devices, {} more may be lost",
                        facts.pool, data_devices(facts.status), more);
    if (facts.status.redundant_devices) {
      text += facts.status.parity_cells == 0
                  ? " (there is no parity: each is said to be redundant itself)"
                  : " (and each is said to be redundant itself)";
    }
    if (facts.space.has_value()) {
      text += fmt::format(", {} of {} are free", format_size(facts.space->available),
                          format_size(facts.space->capacity));
    }
    text += fmt::format(
        "\nThe bytes themselves were not looked at. To read and check all of them:\n"
        "           hexad fsck {} --deep\n",
        facts.pool);
  }
  for (const std::string& note : facts.status.notes) text += fmt::format("note   {}\n", note);
  return text;
}

class Doctor final : public Verb {
 public:
  void declare(Arguments&) override {}

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const PoolFacts facts, find_facts(session));
    const std::vector<Advice> advice = diagnose(facts);
    if (session.out().json()) {
      session.out().object(as_json(facts, advice));
    } else {
      session.out().write(session.out().typed(as_text(facts, advice)));
    }
    if (facts.error.has_value() && facts.error->code != ErrorCode::kBusy) {
      return exit_code(facts.error->code);
    }
    const bool urgent = std::any_of(advice.begin(), advice.end(), [](const Advice& one) {
      return one.urgency != Urgency::kLater;
    });
    return urgent ? kExitDamaged : kExitOk;
  }
};

}  // namespace

std::unique_ptr<Verb> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace hexad::tools
