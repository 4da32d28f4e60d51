#include "tools/cli/verb.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/units.h"
#include "io/device_path.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/cli/wait_watch.h"

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
    HEXAD_TRY_ASSIGN(PoolDescription pool, read_pool(directory));
    return expand_group(std::move(pool));
  }
  return expand_group(PoolDescription{devices, fast_directories});
}

std::string PoolArguments::word() const {
  return directory.empty() ? "POOL" : shell_word(directory);
}

Session::Session(CommonOptions common, PoolArguments pool)
    : common_(std::move(common)),
      pool_(std::move(pool)),
      out_(common_.json ? Style::kJson : Style::kText,
           common_.quiet ? Verbosity::kQuiet : Verbosity::kNormal),
      executor_(io::make_thread_executor(1)) {
  if (!pool_.directory.empty()) out_.name_pool(pool_.word());
  out_.name_bucket(shell_word(common_.collection));
}

Result<Store> Session::open(Access access, RuntimeOptions options) {
  return open(access, options, nullptr);
}

Result<Store> Session::open_replacing(const Replacement& replacement, RuntimeOptions options) {
  return open(Access::kReadWrite, options, &replacement);
}

void Session::catch_up_briefly(Store& store) {
  constexpr std::uint64_t kLittle = 64 << 20;
  constexpr io::Nanos kPatience = 2'000'000'000;
  std::uint64_t missing = 0;
  bool behind = false;
  for (const DeviceStatus& device : store.status().devices) {
    missing += device.missing_bytes;
    behind = behind || device.state == "behind" || device.state == "filling";
  }
  if (!behind || missing > kLittle) return;
  const io::Nanos end = clock().now() + kPatience;
  CatchUpOptions options;
  options.progress = [&](const CatchUpReport&) { return clock().now() < end; };
  // What it could not do the store says itself.
  store.catch_up(options).status().ignore();
}

Result<Store> Session::open(Access access, RuntimeOptions options, const Replacement* replacement) {
  HEXAD_TRY_ASSIGN(const PoolDescription description, pool_.describe());
  options.access = access;
  if (pool_.lose_unwritable) options.unwritable_devices = Unwritable::kLose;
  if (common_.risk_split) options.split_risk = SplitRisk::kTake;
  writing_ = access == Access::kReadWrite;
  Result<Store> store = open_when_free(description, options, replacement);
  if (!store.ok()) return store;
  // Some verbs last for hours; meanwhile other verbs can ask this one. Where there cannot be a
  // socket they are told who has the pool.
  if (access == Access::kReadWrite) store->serve_control().ignore();
  const bool by_itself = options.catch_up == CatchUp::kInBackground;
  if (access == Access::kReadWrite && by_itself) catch_up_briefly(*store);
  const StoreStatus status = store->status();
  for (const DeviceStatus& device : status.devices) {
    const bool silent = device.detail.find("has not answered for") != std::string::npos;
    if (silent && device.state != "ok") out_.warn("gone on without a device: " + device.detail);
  }
  if (access == Access::kReadWrite) {
    for (const std::string& warning : status.warnings) out_.alarm(warning);
    out_.keep_warnings(status.warnings);
    if (const Missing missing = missing_devices(status); missing.devices > 0) {
      out_.keep_warnings({missing.text});
    }
  }
  return store;
}

Result<Store> Session::open_when_free(const PoolDescription& description,
                                      const RuntimeOptions& options,
                                      const Replacement* replacement) {
  std::optional<Store> store;
  // While a device is copied the opening waits for nothing else.
  std::atomic<bool> copying = false;
  HEXAD_TRY(when_free(pool_.wait_seconds, [&]() -> Status {
    const WaitWatch watch = watch_opening(copying);
    if (replacement == nullptr) {
      HEXAD_TRY_ASSIGN(store, Store::open(description, options));
      return {};
    }
    Replacement watched = *replacement;
    watched.progress = [&](std::uint64_t done, std::uint64_t total) {
      copying = true;
      return !replacement->progress || replacement->progress(done, total);
    };
    HEXAD_TRY_ASSIGN(store, Store::open_replacing(description, watched, options));
    return {};
  }));
  return *std::move(store);
}

Status Session::when_free(double wait_seconds, const std::function<Status()>& attempt) {
  constexpr io::Nanos kStep = 100'000'000;
  constexpr double kSecond = 1e9;
  const io::Nanos began = clock().now();
  for (bool said = false;;) {
    Status status = attempt();
    if (status.ok() || status.error().code != ErrorCode::kBusy) return status;
    const auto waited = static_cast<double>(clock().now() - began) / kSecond;
    if (waited >= wait_seconds) {
      if (wait_seconds > 0) return status;
      Error error = status.error();
      error.hint += std::string(error.hint.empty() ? "" : " ") + "Or wait for it: --wait SECONDS";
      return error;
    }
    if (!said) out_.warn("waiting: " + status.error().message);
    said = true;
    executor_->sleep_for(kStep);
    if (interrupted()) return interrupted_error();
  }
}

// Which device keeps it is known when the opening ends, and said by it.
WaitWatch Session::watch_opening(const std::atomic<bool>& quiet) {
  constexpr io::Nanos kSecond = 1'000'000'000;
  const io::Nanos began = clock().now();
  return {*executor_,
          [this, began, &quiet]() -> std::vector<std::string> {
            const io::Nanos seconds = (clock().now() - began) / kSecond;
            if (seconds < 5 || quiet) return {};
            return {"the pool has been opening for " + std::to_string(seconds) +
                    " s; a device that does not answer is waited for for " +
                    std::to_string(io::kReadPatience / kSecond) + " s"};
          },
          [this](const std::string& what) { out_.warn(what); }};
}

Missing missing_devices(const StoreStatus& status) {
  Missing missing;
  std::size_t data = 0;
  std::size_t behind = 0;
  bool filling = false;
  for (const DeviceStatus& device : status.devices) {
    if (device.role != "data" || device.state == "foreign" || device.state == "duplicate") continue;
    ++data;
    filling |= device.state == "filling";
    const bool whole = device.state == "ok" || device.state == "draining";
    if (!whole && device.state != "filling") ++missing.devices;
    if (device.state == "behind") ++behind;
  }
  if (missing.devices == 0 && filling) {
    missing.devices = 1;
    missing.text =
        "redundancy is below the profile: what a lost device held is being built again "
        "on others, " +
        std::to_string(status.faults_tolerated) + " more data devices may be lost";
    return missing;
  }
  if (missing.devices == 0) return missing;
  missing.text = "redundancy is below the profile: " + std::to_string(missing.devices) + " of " +
                 std::to_string(data) + " data devices are missing" +
                 (behind > 0 ? " or behind, " : ", ") + std::to_string(status.faults_tolerated) +
                 " more may be lost";
  return missing;
}

namespace {

// The engine speaks of what it allocates; people have bytes.
Error with_room(Store& store, Error error) {
  const Result<SpaceUsage> space = store.space();
  if (!space.ok()) return error;
  error.message += "; the pool has room for " + format_size(space->available) + " of " +
                   format_size(space->capacity);
  return error;
}

}  // namespace

Result<int> Session::with_store(Access access, const std::function<Result<int>(Store&)>& work,
                                const RuntimeOptions& options) {
  Result<int> result = [&]() -> Result<int> {
    HEXAD_TRY_ASSIGN(Store store, open(access, options));
    return work_with(store, access, work);
  }();
  mend_wrong_reads();
  return result;
}

// A device that is not there now would be left behind by an opening for writing, and the index of a
// fast tier that is not. A snapshot is not opened for writing.
void Session::note_wrong_reads(Store& store) {
  to_mend_ = wrong_reads_.take(store);
  may_mend_ = {};
  if (to_mend_.empty()) return;
  for (const DeviceStatus& device : store.status().devices) {
    if (io::is_snapshot_path(device.path)) {
      may_mend_ =
          Error{ErrorCode::kReadOnly, "the pool is a snapshot",
                "A scrub of the pool that it was taken of repairs what is wrong there, too"};
      return;
    }
    if (device.state == "ok" || device.state == "draining") continue;
    may_mend_ = Error{
        ErrorCode::kUnavailable,
        "device " + std::to_string(device.id) + " (" + device.path + ") is " + device.state, ""};
  }
}

// The verb has its outcome, which this changes nothing about.
void Session::mend_wrong_reads() {
  const WrongReads::Places places = std::exchange(to_mend_, {});
  if (places.empty() || !mends_) return;
  if (interrupted()) {
    // What can repair nothing has nothing left to do.
    mending_cut_ = may_mend_.ok() || may_mend_.error().code != ErrorCode::kReadOnly;
    return;
  }
  out_.finish().ignore();  // it keeps the failure
  const Result<Mended> mended = mend_now(places);
  mending_cut_ = mended.ok() && mended->cut;
  out_.warn(out_.typed(mended.ok() ? describe(places, *mended) : describe(places, mended.error())));
}

// Waits for nobody, and decides nothing that the user was to decide.
Result<Mended> Session::mend_now(const WrongReads::Places& places) {
  HEXAD_TRY(may_mend_);
  const PoolArguments given = pool_;
  pool_.wait_seconds = 0;
  pool_.lose_unwritable = false;
  const bool risk = std::exchange(common_.risk_split, false);
  RuntimeOptions options;
  options.catch_up = CatchUp::kWhenAsked;
  Result<Store> store = open(Access::kReadWrite, options);
  pool_ = given;
  common_.risk_split = risk;
  if (!store.ok()) return store.error();
  const Mended mended = mend(*store, places);
  HEXAD_TRY(store->close());
  return mended;
}

Result<int> Session::work_with(Store& store, Access access,
                               const std::function<Result<int>(Store&)>& work) {
  if (const Missing missing = missing_devices(store.status()); missing.devices > 0) {
    out_.warn(missing.text);
  }
  // Those of the opening have been said.
  const std::vector<std::string> known = store.status().warnings;
  const WaitWatch watch(
      *executor_,
      [&store, &known] {
        std::vector<std::string> waits = store.status().warnings;
        std::erase_if(waits, [&known](const std::string& one) {
          return std::find(known.begin(), known.end(), one) != known.end();
        });
        return waits;
      },
      [this](const std::string& what) { out_.warn(what); });
  Result<int> result = work(store);
  const bool writes = access == Access::kReadWrite;  // else it is where the verb writes to
  if (writes && !result.ok() && result.error().code == ErrorCode::kNoSpace) {
    result = with_room(store, result.error());
  }
  if (!writes) note_wrong_reads(store);
  const Status closed = store.close();
  if (result.ok() && !closed.ok()) return closed.error();
  return result;
}

Result<core::ControlClient> Session::find_holder() {
  HEXAD_TRY_ASSIGN(const PoolDescription description, pool_.describe());
  HEXAD_TRY_ASSIGN(core::ControlClient client,
                   core::ControlClient::find(description, [] { return !interrupted(); }));
  const core::ControlHolder& holder = client.holder();
  out_.warn("answered by " + hexad::tools::describe(holder));
  out_.keep_note("answered_by", Json{{"pid", holder.process.pid},
                                     {"command", holder.process.command},
                                     {"running_since", holder.process.since},
                                     {"opened", holder.opened}});
  return client;
}

Result<OpenView> Session::open_view() {
  const double patience = std::exchange(pool_.wait_seconds, 0);
  Result<Store> store = open(Access::kReadOnly);
  pool_.wait_seconds = patience;
  OpenView opened;
  if (!store.ok() && store.error().code == ErrorCode::kBusy) {
    Result<core::ControlClient> client = find_holder();
    if (client.ok()) {
      opened.client = std::make_unique<core::ControlClient>(std::move(client).value());
      opened.view = view_of(*opened.client);
      return opened;
    }
    if (interrupted()) return interrupted_error();
    if (patience > 0) {
      store = open(Access::kReadOnly);
    } else {
      Error error = store.error();
      const Error& why = client.error();
      if (why.code != ErrorCode::kNotFound || why.message != "nobody answers") {
        error.message += "; it cannot be asked: " + why.message;
      }
      // What says how to be heard knows better than that it could be.
      error.hint +=
          !why.hint.empty()
              ? " " + why.hint
              : " While it has the pool, it can answer itself if it opens that with a control "
                "socket: in C++ by Store::serve_control(), in Python by control=True.";
      return error;
    }
  }
  if (!store.ok()) return store.error();
  opened.store = std::make_unique<Store>(std::move(store).value());
  opened.view = view_of(*opened.store);
  return opened;
}

Result<int> Session::with_view(const std::function<Result<int>(PoolView&)>& work) {
  HEXAD_TRY_ASSIGN(OpenView opened, open_view());
  if (opened.store == nullptr) return work(*opened.view);
  return work_with(*opened.store, Access::kReadOnly,
                   [&](Store&) -> Result<int> { return work(*opened.view); });
}

std::string Session::collection_option() const {
  const bool said = collection() != kDefaultCollection;
  return said ? " --collection " + shell_word(collection()) : "";
}

Result<std::string> Session::name(const std::string& typed) const {
  if (!common_.names_in_base64) return typed;
  return base64_decode(typed);
}

}  // namespace hexad::tools
