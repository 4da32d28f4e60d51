#include "tools/cli/verb.h"

#include "tools/cli/names.h"

namespace hexad::tools {

void CommonOptions::declare(Arguments& arguments) {
  arguments.option("--collection", collection, "Collection of the objects [default]");
  arguments.flag("--json", json, "One JSON object on standard output");
  arguments.flag("-q,--quiet", quiet,
                 "No progress, notes and warnings, but for devices that are lost");
  arguments.flag("--name-b64", names_in_base64, "Object names are given in base64");
  arguments.flag("--risk-split", risk_split,
                 "Write although nothing tells that the missing devices are not in use elsewhere");
}

Result<PoolDescription> PoolArguments::describe() const {
  if (devices.empty()) {
    if (!fast_directories.empty()) {
      return Error{ErrorCode::kInvalidArgument, "--fast goes with --device",
                   "POOL already says where the fast tier is."};
    }
    return read_pool(directory);
  }
  return PoolDescription{devices, fast_directories};
}

std::string PoolArguments::word() const {
  return directory.empty() ? "POOL" : shell_word(directory);
}

Session::Session(CommonOptions common, PoolArguments pool)
    : common_(std::move(common)),
      pool_(std::move(pool)),
      out_(common_.json ? Style::kJson : Style::kText,
           common_.quiet ? Verbosity::kQuiet : Verbosity::kNormal),
      executor_(io::make_thread_executor(1)) {}

Result<Store> Session::open(Access access, RuntimeOptions options) {
  HEXAD_TRY_ASSIGN(const PoolDescription description, pool_.describe());
  options.access = access;
  if (pool_.lose_unwritable) options.unwritable_devices = Unwritable::kLose;
  if (common_.risk_split) options.split_risk = SplitRisk::kTake;
  HEXAD_TRY_ASSIGN(Store store, Store::open(description, options));
  if (access == Access::kReadWrite) {
    for (const std::string& warning : store.status().warnings) out_.alarm(warning);
  }
  return store;
}

Result<int> Session::with_store(Access access, const std::function<Result<int>(Store&)>& work,
                                const RuntimeOptions& options) {
  HEXAD_TRY_ASSIGN(Store store, open(access, options));
  Result<int> result = work(store);
  const Status closed = store.close();
  if (result.ok() && !closed.ok()) return closed.error();
  return result;
}

Result<std::string> Session::name(const std::string& typed) const {
  if (!common_.names_in_base64) return typed;
  return base64_decode(typed);
}

}  // namespace hexad::tools
