// hexad device add, add-fast, remove: one device more, and one less.
//
// The description of the pool names a device for as long as it is one of the pool, and somewhat
// longer on both sides: whatever ends a verb in between, no opening misses a device.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/verbs/look.h"
#include "tools/verbs/pool_paths.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class DeviceAdd final : public Verb {
 public:
  // What is added: a data device, or a directory on a fast one.
  enum class What : std::uint8_t { kData, kFast };
  explicit DeviceAdd(What what) : fast_(what == What::kFast) {}

  void declare(Arguments& arguments) override {
    if (fast_) {
      arguments.positional("DIRECTORY", path_,
                           "On the fast device; is made where it does not exist");
    } else {
      arguments.positional("PATH", path_, "The new device; what does not exist becomes a file");
      arguments.option("--failure-domain", domain_,
                       "What it shares with others and fails with, as mkfs names it");
    }
  }

  Result<int> run(Session& session) override {
    path_ = absolute_path(path_);
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) {
      return add(
          session,
          [&] {
            return fast_ ? holder->add_fast_device(path_) : holder->add_device(path_, domain_);
          },
          [&] { return holder->status(); });
    }
    if (interrupted()) return interrupted_error();
    return session.with_store(Access::kReadWrite, [&](Store& store) {
      return add(
          session,
          [&] {
            const auto go_on = [](std::uint64_t, std::uint64_t) { return !interrupted(); };
            return fast_ ? store.add_fast_device(path_, go_on)
                         : store.add_device(path_, go_on, domain_);
          },
          [&] { return Result<StoreStatus>(store.status()); });
    });
  }

 private:
  using Look = std::function<Result<StoreStatus>()>;

  Result<int> add(Session& session, const std::function<Result<DeviceId>()>& work,
                  const Look& look) {
    HEXAD_TRY_ASSIGN(const bool named, name(session, look));
    const Result<DeviceId> id = work();
    if (!id.ok()) {
      if (named) take_back_path(session, look(), path_, fast_ ? PathOf::kFast : PathOf::kData);
      return id.error();
    }
    // It is a device of the pool, whether or not that can be looked at.
    const Result<StoreStatus> status = look();
    DeviceStatus added;
    if (status.ok()) added = find_device(*status, *id).value_or(added);
    if (session.out().json()) {
      session.out().object(Json{{"id", *id},
                                {"path", path_},
                                {"state", added.state},
                                {"size", added.size},
                                {"slabs", added.slabs}});
    } else if (fast_) {
      session.out().note(
          fmt::format("{} has a copy of the log now, and is device {} of the pool{}", path_, *id,
                      session.pool().directory.empty() ? "; name it with --fast from now on" : ""));
    } else {
      session.out().note(fmt::format(
          "{} is device {} of the pool now; what is full moves to it while a process has the pool "
          "open, or at once by hexad device move {}",
          path_, *id, session.pool().word()));
    }
    return kExitOk;
  }

  Result<bool> name(Session& session, const Look& look) const {
    if (!fast_) return add_path(session, path_);
    HEXAD_TRY_ASSIGN(const StoreStatus status, look());
    return add_fast_path(session, status, path_);
  }

  const bool fast_;
  std::string path_;
  std::string domain_;
};

class DeviceRemove final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("ID", id_,
                         "Number of a device that has been drained, or of a fast one; or a fast "
                         "directory where none is any more");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const bool directory, is_fast_directory(session));
    if (directory) return forget_directory(session);
    HEXAD_TRY_ASSIGN(const DeviceId id, parse_device(id_, session));
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) {
      HEXAD_TRY_ASSIGN(const StoreStatus before, holder->status());
      HEXAD_TRY(holder->remove_device(id));
      return done(session, before, id, "when the process that has the pool has closed it");
    }
    if (interrupted()) return interrupted_error();
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      const StoreStatus before = store.status();
      HEXAD_TRY(store.remove_device(id));
      return done(session, before, id, "now");
    });
  }

 private:
  // That the description names.
  Result<bool> is_fast_directory(const Session& session) const {
    const bool number = id_.find_first_not_of("0123456789") == std::string::npos;
    if (number || session.pool().directory.empty()) return false;
    HEXAD_TRY_ASSIGN(const PoolDescription pool, session.pool().describe());
    const std::vector<std::string>& all = pool.fast_directories;
    return std::find(all.begin(), all.end(), absolute_path(id_)) != all.end();
  }

  // What a removal does last, which was ended before.
  Result<int> forget_directory(Session& session) const {
    const std::string directory = absolute_path(id_);
    HEXAD_TRY_ASSIGN(const StoreStatus status, look_at_devices(session));
    HEXAD_TRY_ASSIGN(const PoolDescription pool, session.pool().describe());
    const std::vector<std::string> left = without_device(pool, status);
    if (std::find(left.begin(), left.end(), directory) == left.end()) {
      return Error{ErrorCode::kInvalidArgument,
                   printable(directory) + " has a device of the pool, or may have",
                   fmt::format("Name the device by its number: hexad device ls {} shows it.",
                               session.pool().word())};
    }
    HEXAD_TRY(remove_fast_path(session, status, directory));
    if (session.out().json()) {
      session.out().object(Json{{"id", nullptr}, {"path", directory}});
    } else {
      session.out().note(fmt::format(
          "{} is not named by the pool's description any more, and holds nothing that the pool "
          "needs; it may be removed when no process has the pool open that had it before",
          directory));
    }
    return kExitOk;
  }

  // `then`: when nobody needs the directory of a fast device any more.
  static Result<int> done(Session& session, const StoreStatus& before, DeviceId id,
                          std::string_view then) {
    const DeviceStatus device = find_device(before, id).value_or(DeviceStatus{});
    const std::optional<std::string> fast = fast_directory_of(before, id);
    Status removed;
    if (fast.has_value()) {
      removed = remove_fast_path(session, before, *fast);
    } else if (is_its_path(before, device)) {
      removed = remove_path(session, device.path);
    }
    if (!removed.ok()) {
      session.out().warn(
          fmt::format("the pool's description still names {}, which does no harm: {}",
                      fast.value_or(device.path), removed.error().to_string()));
    }
    if (session.out().json()) {
      session.out().object(Json{{"id", id}, {"path", device.path}});
    } else {
      session.out().note(fmt::format(
          "device {}{} is no device of the pool any more{}", id,
          device.path.empty() ? "" : " (" + device.path + ")",
          fast.value_or("").empty()
              ? ""
              : fmt::format("; {} holds nothing that the pool needs, and may be removed {}", *fast,
                            then)));
    }
    return kExitOk;
  }

  std::string id_;
};

}  // namespace

std::unique_ptr<Verb> make_device_add() {
  return std::make_unique<DeviceAdd>(DeviceAdd::What::kData);
}
std::unique_ptr<Verb> make_device_add_fast() {
  return std::make_unique<DeviceAdd>(DeviceAdd::What::kFast);
}
std::unique_ptr<Verb> make_device_remove() { return std::make_unique<DeviceRemove>(); }

}  // namespace hexad::tools
