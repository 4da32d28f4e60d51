// The fast devices of a store that is open: one more, and another one for one that goes. What is on
// them are copies: of the log, which is copied there at once, and of the index, which an opening
// makes. AD8 and AD9 of doc/invariants.md#devices-more-and-less; one less is
// Engine::remove_device().
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/opening/new_device.h"
#include "core/opening/pool_options.h"

namespace hexad::core {

namespace {

// Without slashes at its end, so that what is in it has one name.
std::string tidy_directory(std::string directory) {
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  return directory;
}

}  // namespace

// The next opening would take its place for that of our own, and could not use it.
Status Engine::check_no_foreign_index(const std::string& directory, Openings::Turn turn) {
  const std::string place = fast_index_path(directory);
  if (place == parts_.index_directory) return {};
  const Openings::Call call(openings_, directory, turn);
  const Result<std::unique_ptr<kv::Index>> index =
      parts_.indexes->open(place, shape().uuid, io::OpenMode::kReadOnly);
  if (index.ok() || index.error().code == ErrorCode::kNotFound) return {};
  return Error{
      ErrorCode::kAlreadyExists,
      place + " is there, and no index that this store could use: " + index.error().message,
      "Choose another directory, or remove that one if nobody needs it."};
}

// What was made of the directory is gone again where nothing of the store comes to be in it.
Result<DeviceId> Engine::in_directory(
    const std::string& directory, Openings::Turn turn,
    const std::function<Result<DeviceId>(const std::string& log)>& add) {
  const auto make = [&] {
    const Openings::Call call(openings_, directory, turn);
    return parts_.system->make_directory(directory);
  };
  HEXAD_TRY_ASSIGN(const std::vector<std::string> made, make());
  Result<DeviceId> added = add(fast_log_path(directory));
  if (added.ok()) return added;
  for (auto at = made.rbegin(); at != made.rend(); ++at) {
    parts_.system->remove_directory(*at).ignore();
  }
  return added;
}

Result<DeviceId> Engine::add_fast_device(
    const std::string& given,
    const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress) {
  HEXAD_TRY(writable());
  const std::string directory = tidy_directory(given);
  if (directory.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no directory is given",
                 "Name a directory on the fast device."};
  }
  HEXAD_TRY(check_no_foreign_index(directory, Openings::Turn::kFree));
  AddedTo to;
  to.role = alloc::DeviceRole::kLog;
  to.progress = progress;
  return in_directory(directory, Openings::Turn::kFree,
                      [&](const std::string& log) { return add_at(log, to); });
}

// The log is copied to the new place, from others that have it; what holds its copy meanwhile is
// chosen as in any change of membership.
Result<DeviceId> Engine::replace_fast(const Replacement& replacement) {
  const DeviceId id = replacement.device;
  const Members& members = *parts_.members;
  const std::string directory = tidy_directory(replacement.path);
  const std::string path = fast_log_path(directory);
  if (members.usable(id) && members.find(id)->path == path) return id;
  HEXAD_TRY(check_no_foreign_index(directory, Openings::Turn::kHeld));
  return in_directory(directory, Openings::Turn::kHeld,
                      [&](const std::string& log) { return take_place(replacement, log); });
}

// Metadata that are in the index alone, as the first checkpoint of a version without runs left
// them, are in runs before the directory may go.
Status Engine::remove_fast_device(DeviceId id) {
  return remove_row(id, parts_.runs->set()->lsn() == 0 ? Settle::kFirst : Settle::kNeedless);
}

}  // namespace hexad::core
