#include "core/devices/fast_directories.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/opening/pool_options.h"

namespace hexad::core {

FastDirectories::FastDirectories(const DeviceParts& parts, Openings& openings,
                                 kv::IndexHome& indexes, std::string own)
    : parts_(parts), openings_(openings), indexes_(indexes), own_(std::move(own)) {}

std::string FastDirectories::tidy(std::string directory) {
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  return directory;
}

// The next opening would take its place for that of our own, and could not use it.
Status FastDirectories::check_no_foreign_index(const std::string& directory, Openings::Turn turn) {
  const std::string place = fast_index_path(directory);
  if (place == own_) return {};
  const Openings::Call call(openings_, directory, turn);
  const Result<std::unique_ptr<kv::Index>> index =
      indexes_.open(place, parts_.shape.uuid, io::OpenMode::kReadOnly);
  if (index.ok() || index.error().code == ErrorCode::kNotFound) return {};
  return Error{
      ErrorCode::kAlreadyExists,
      place + " is there, and no index that this store could use: " + index.error().message,
      "Choose another directory, or remove that one if nobody needs it."};
}

// What was made of the directory is gone again where nothing of the store comes to be in it.
Result<DeviceId> FastDirectories::in(
    const std::string& directory, Openings::Turn turn,
    const std::function<Result<DeviceId>(const std::string& log)>& add) {
  const auto make = [&] {
    const Openings::Call call(openings_, directory, turn);
    return parts_.system.make_directory(directory);
  };
  HEXAD_TRY_ASSIGN(const std::vector<std::string> made, make());
  Result<DeviceId> added = add(fast_log_path(directory));
  if (added.ok()) return added;
  for (auto at = made.rbegin(); at != made.rend(); ++at) {
    parts_.system.remove_directory(*at).ignore();
  }
  return added;
}

}  // namespace hexad::core
