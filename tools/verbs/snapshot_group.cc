// hexad snapshot-group create, ls, rm: snapshots of the images of a pool, all as of one moment.
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "alloc/failure_domains.h"
#include "tools/cli/names.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// The images of the pool, all of them, whether somebody has it or not.
Result<PoolDescription> all_images(Session& session) {
  HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
  HEXAD_TRY_ASSIGN(const StoreStatus status, inspect(pool));
  pool.devices.clear();
  alloc::MostCells missing(status.domain_cells);
  std::string which;
  for (const DeviceStatus& device : status.devices) {
    if (device.role != "data") continue;
    const bool used = device.state == "ok" || device.state == "behind" ||
                      device.state == "filling" || device.state == "draining";
    if (!used || device.path.empty()) {
      missing.add(device.failure_domain);
      which += fmt::format("{}device {}", which.empty() ? "" : ", ", device.id);
      continue;
    }
    pool.devices.push_back(device.path);
  }
  if (missing.count() == 0) return pool;
  if (missing.count() > status.parity_cells) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("{} of the pool is not among the devices that are named and used, and a "
                    "snapshot without would not open",
                    which),
        "Name all of its devices; what is wrong with those that it has: hexad device ls POOL."};
  }
  session.out().warn(which + " of the pool is not used, and will not be in the snapshot");
  return pool;
}

class SnapshotGroupCreate final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("NAME", name_, "Name of the snapshot");
    arguments.option("--group", group_,
                     "RBD group that the images are put into, if they are in none [hexad-UUID]");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const PoolDescription pool, all_images(session));
    if (group_.empty()) {
      HEXAD_TRY_ASSIGN(const StoreStatus status, inspect(pool));
      group_ = "hexad-" + to_string(status.uuid);
    }
    HEXAD_TRY_ASSIGN(const std::string address, take_snapshot(pool, name_, group_));
    if (session.out().json()) {
      session.out().object(Json{{"name", name_}, {"address", address}});
    } else {
      session.out().write(address + "\n");
    }
    return kExitOk;
  }

 private:
  std::string name_;
  std::string group_;
};

class SnapshotGroupLs final : public Verb {
 public:
  void declare(Arguments&) override {}

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const PoolDescription pool, all_images(session));
    HEXAD_TRY_ASSIGN(const std::vector<GroupSnapshot> all, list_snapshots(pool));
    Json list = Json::array();
    for (const GroupSnapshot& one : all) {
      const char* const state = one.complete ? "complete" : "incomplete";
      if (session.out().json()) {
        list.push_back(Json{{"name", one.name}, {"state", state}, {"taken_at", one.taken_at}});
      } else {
        session.out().write(
            fmt::format("{:<10}  {}  {}\n", state, time_text(one.taken_at), one.name));
      }
    }
    if (session.out().json()) session.out().object(Json{{"snapshots", list}});
    return kExitOk;
  }

 private:
  static std::string time_text(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    char text[32] = {};
    if (gmtime_r(&time, &parts) == nullptr) return "-";
    const std::size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text, length};
  }
};

class SnapshotGroupRm final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("NAME", name_, "Name of the snapshot");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const PoolDescription pool, all_images(session));
    HEXAD_TRY(remove_snapshot(pool, name_));
    if (session.out().json()) session.out().object(Json{{"name", name_}});
    session.out().note("removed snapshot " + name_);
    return kExitOk;
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Verb> make_snapshot_group_create() {
  return std::make_unique<SnapshotGroupCreate>();
}
std::unique_ptr<Verb> make_snapshot_group_ls() { return std::make_unique<SnapshotGroupLs>(); }
std::unique_ptr<Verb> make_snapshot_group_rm() { return std::make_unique<SnapshotGroupRm>(); }

}  // namespace hexad::tools
