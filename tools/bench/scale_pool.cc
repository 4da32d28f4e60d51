#include "tools/bench/scale_pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/units.h"
#include "tools/cli/file.h"
#include "tools/cli/names.h"

namespace hexad::tools {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kNotes = "scale.jsonl";
constexpr const char* kVersionKey = "hexad_bench_scale";
constexpr int kVersion = 1;
constexpr std::uint64_t kMaxNotes = 64_MiB;
constexpr int kDevices = 6;

// Bytes of a device for each object of the pool: its share of a stripe of 4+2, a quarter more for
// what is not in it (footers, what cleaning leaves), and runs, of which merges need room for two.
constexpr std::uint64_t kDeviceBytesPerObject = ScaleShape::kObjectBytes / 4 * 5 / 4 + 128;
constexpr std::uint64_t kDeviceBytesBeside = 512_MiB;  // log, headers, zones made ahead

Error foreign(const std::string& folder, const std::string& what) {
  return Error{
      ErrorCode::kAlreadyExists,
      display_name(folder) + " holds something that is not of hexad bench scale: " + what,
      "Name a folder that is empty, that does not exist, or that an earlier run has made."};
}

// What is in the folder, but for "." and "..". Nothing: there is no such folder.
Result<std::optional<std::vector<std::string>>> entries_of(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator at(folder, error);
  if (error == std::errc::no_such_file_or_directory)
    return std::optional<std::vector<std::string>>();
  if (error) return system_error(error.value(), display_name(folder), "looking into it");
  std::vector<std::string> names;
  for (; at != fs::directory_iterator(); at.increment(error)) {
    if (error) return system_error(error.value(), display_name(folder), "looking into it");
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return std::optional(names);
}

Status append(const std::string& path, const Json& line) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return system_error(errno, display_name(path), "opening");
  return write_all(fd.get(), as_bytes(line.dump() + "\n"), display_name(path));
}

// From the first line of the notes.
Result<ScaleShape> shape_of(const std::string& folder) {
  const std::string path = (fs::path(folder) / kNotes).string();
  HEXAD_TRY_ASSIGN(const std::string text, read_whole_file(path, kMaxNotes));
  const Json head = Json::parse(text.substr(0, text.find('\n')), nullptr, false);
  const auto number = [&](const char* key) -> std::optional<std::uint64_t> {
    const auto found = head.find(key);
    if (found == head.end() || !found->is_number_unsigned()) return std::nullopt;
    return found->get<std::uint64_t>();
  };
  if (!head.is_object() || !number(kVersionKey) || !number("room") || !number("seed") ||
      !head.contains("fast") || !head["fast"].is_boolean()) {
    return foreign(folder, std::string(kNotes) + " does not say what the pool was made for");
  }
  if (number(kVersionKey) != kVersion) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{} was made by another version of hexad bench scale", display_name(folder)),
        "Name another folder."};
  }
  return ScaleShape{*number("room"), *number("seed"), head["fast"].get<bool>()};
}

Error not_as_made(const std::string& folder, const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, display_name(folder) + ": " + what,
               "Leave the option out, or name another folder."};
}

}  // namespace

std::string scale_object_name(std::uint64_t seed, std::uint64_t index) {
  // SplitMix64 (Steele, Lea and Flood 2014); each step can be undone.
  std::uint64_t x = (index + 1) * 0x9e3779b97f4a7c15u + seed;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return fmt::format("{:016x}", x ^ (x >> 31));
}

Result<ScalePool> ScalePool::open(const std::string& folder, const ScaleWish& wish,
                                  io::System& system) {
  HEXAD_TRY_ASSIGN(const std::optional<std::vector<std::string>> entries, entries_of(folder));
  if (!entries.has_value() || entries->empty()) {
    ScalePool pool(folder,
                   {wish.room.value_or(wish.objects), wish.seed.value_or(0), !wish.no_fast});
    if (pool.shape_.room < wish.objects) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("--room {} is less than --objects {}", pool.shape_.room, wish.objects),
          "Make room for all of them, or leave --room out."};
    }
    HEXAD_TRY(pool.make(system));
    return pool;
  }
  if (std::find(entries->begin(), entries->end(), kNotes) == entries->end()) {
    return foreign(folder, display_name(entries->front()));
  }
  HEXAD_TRY_ASSIGN(const ScaleShape shape, shape_of(folder));
  if (wish.seed.has_value() && *wish.seed != shape.seed) {
    return not_as_made(folder, fmt::format("it was made with --seed {}", shape.seed));
  }
  if (wish.room.has_value() && *wish.room != shape.room) {
    return not_as_made(folder, fmt::format("it was made with room for {} objects", shape.room));
  }
  if (wish.no_fast && shape.fast) return not_as_made(folder, "it was made with a fast directory");
  if (wish.objects > shape.room) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: {} objects are wanted, and it was made with room for {}",
                    display_name(folder), wish.objects, shape.room),
        "Lower --objects, or begin in another folder, with --room for as many as there may "
        "ever be."};
  }
  ScalePool pool(folder, shape);
  Result<PoolDescription> description = read_pool(folder);
  if (description.ok()) {
    pool.description_ = std::move(description).value();
    return pool;
  }
  if (description.error().code != ErrorCode::kNotFound) return description.error();
  HEXAD_TRY(pool.make(system));
  return pool;
}

Status ScalePool::make(io::System& system) {
  HEXAD_TRY(system.make_directory(folder_).status());
  is_new_ = true;
  std::error_code ignored;
  // First of all, so that what is there when this ends early is known to be ours.
  if (!fs::exists(notes(), ignored)) {
    HEXAD_TRY(note({{kVersionKey, kVersion},
                    {"room", shape_.room},
                    {"seed", shape_.seed},
                    {"fast", shape_.fast},
                    {"object_size", ScaleShape::kObjectBytes},
                    {"batch", ScaleShape::kTogether}}));
  }
  FormatOptions options;
  for (int i = 0; i < kDevices; ++i) {
    options.devices.push_back((fs::path(folder_) / fmt::format("device{}", i)).string());
    HEXAD_TRY(system.remove_created(options.devices.back()));  // of a run that ended early
  }
  if (shape_.fast) options.fast_directories = {(fs::path(folder_) / "fast").string()};
  options.device_size = round_up(shape_.room * kDeviceBytesPerObject + kDeviceBytesBeside, 1_MiB);
  options.force = true;
  HEXAD_TRY_ASSIGN(description_, Store::format(options, &system));
  return write_pool(folder_, description_);
}

std::uint64_t ScalePool::disk_bytes() const {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    struct stat status = {};
    if (lstat(at->path().c_str(), &status) != 0) continue;
    bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

Status ScalePool::note(const Json& figures) const { return append(notes(), figures); }

std::string ScalePool::notes() const { return (fs::path(folder_) / kNotes).string(); }

}  // namespace hexad::tools
