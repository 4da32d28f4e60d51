#include "core/api/pool.h"

#include <algorithm>
#include <string_view>

#include "base/bytes.h"
#include "io/device_path.h"
#include "io/os/text_file.h"

namespace hexad {
namespace {

constexpr std::string_view kFileName = "hexad.pool";
constexpr std::string_view kHeader = "hexad pool 1";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Slashes once, no "." between them, none at the end; ".." stays, since what it means depends on
// links.
std::string tidy_path(std::string_view path) {
  std::string tidy = path.starts_with('/') ? "/" : "";
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (!tidy.empty() && tidy.back() != '/') tidy += '/';
    tidy += part;
  }
  return tidy.empty() ? "." : tidy;
}

bool climbs(std::string_view path) {
  return path == ".." || path.starts_with("../") || path.find("/../") != std::string_view::npos ||
         path.ends_with("/..");
}

// One line holds any path: control bytes, bytes that are not ASCII, the backslash, and a space at
// the end (which editors drop) become \xNN.
std::string escape(std::string_view path) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto byte = static_cast<unsigned char>(path[i]);
    const bool last_space = byte == ' ' && i + 1 == path.size();
    if (byte > 0x7e || byte < 0x20 || byte == '\\' || last_space) {
      text += "\\x";
      text += kHexDigits[byte >> 4];
      text += kHexDigits[byte & 15];
    } else {
      text += path[i];
    }
  }
  return text;
}

Result<std::string> unescape(std::string_view text) {
  std::string path;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    if (byte < 0x20 || byte == 0x7f) {
      return Error{ErrorCode::kInvalidArgument, "a control character in the path",
                   "Write it as \\xNN, with its two hexadecimal digits."};
    }
    if (byte != '\\') {
      path += text[0];
      text.remove_prefix(1);
      continue;
    }
    const std::size_t high = text.size() < 4 ? std::string_view::npos : kHexDigits.find(text[2]);
    const std::size_t low = text.size() < 4 ? std::string_view::npos : kHexDigits.find(text[3]);
    if (text.size() < 4 || text[1] != 'x' || high == std::string_view::npos ||
        low == std::string_view::npos || (high == 0 && low == 0)) {
      return Error{ErrorCode::kInvalidArgument,
                   "a backslash that is not followed by x and the two digits of a byte",
                   "Write a backslash as \\x5c."};
    }
    path += static_cast<char>(high << 4 | low);
    text.remove_prefix(4);
  }
  return path;
}

// `directory` is absolute and tidy.
Result<std::string> stored_form(const std::string& directory, const std::string& path) {
  if (path.empty()) return Error{ErrorCode::kInvalidArgument, "pool description: an empty path"};
  if (io::is_address(path)) return path;
  HEXAD_TRY_ASSIGN(const std::string absolute, io::absolute_path(path));
  const std::string tidy = tidy_path(absolute);
  const std::string inside = directory == "/" ? directory : directory + "/";
  if (climbs(tidy) || !tidy.starts_with(inside) || tidy.size() == inside.size()) return tidy;
  std::string name = tidy.substr(inside.size());
  return io::is_address(name) ? tidy : name;
}

Status append_paths(std::string& text, std::string_view keyword, const std::string& directory,
                    const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    HEXAD_TRY_ASSIGN(const std::string stored, stored_form(directory, path));
    text.append(keyword).append(" ").append(escape(stored)).append("\n");
  }
  return ok_status();
}

// Everything behind the header.
Status parse_line(std::string_view line, const std::string& directory, PoolDescription& pool) {
  if (line.empty() || line.starts_with('#')) return ok_status();
  const std::size_t space = line.find(' ');
  const std::string_view keyword = line.substr(0, space);
  if (keyword != "device" && keyword != "fast") {
    return Error{ErrorCode::kInvalidArgument, "\"" + printable(keyword, 32) + "\" is no keyword",
                 "A line is \"device PATH\", \"fast DIRECTORY\" or a comment after #."};
  }
  if (space == std::string_view::npos || space + 1 == line.size()) {
    return Error{ErrorCode::kInvalidArgument, "no path after \"" + std::string(keyword) + "\""};
  }
  HEXAD_TRY_ASSIGN(std::string path, unescape(line.substr(space + 1)));
  if (!io::is_address(path)) {
    path = tidy_path(path);
    if (!path.starts_with('/')) path = tidy_path(directory + "/" + path);
  }
  std::vector<std::string>& paths = keyword == "device" ? pool.devices : pool.fast_directories;
  if (std::find(paths.begin(), paths.end(), path) != paths.end()) {
    return Error{ErrorCode::kInvalidArgument, printable(path) + " is named twice"};
  }
  paths.push_back(std::move(path));
  return ok_status();
}

std::string file_of(const std::string& directory) {
  return tidy_path((directory.empty() ? "." : directory) + "/" + std::string(kFileName));
}

Result<PoolDescription> parse(std::string_view text, const std::string& directory) {
  PoolDescription pool;
  std::uint64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    Status read;
    if (number > 1) {
      read = parse_line(line, directory, pool);
    } else if (line != kHeader) {
      read = Error{ErrorCode::kInvalidArgument,
                   "\"" + printable(line, 32) + "\" instead of \"" + std::string(kHeader) + "\"",
                   "This is no pool description, or one of a newer version."};
    }
    if (!read.ok()) return read.error().with_context("line " + std::to_string(number));
  }
  if (number == 0) return Error{ErrorCode::kInvalidArgument, "line 1: the file is empty"};
  if (pool.devices.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "line " + std::to_string(number) + ": the file ends and names no device"};
  }
  return pool;
}

}  // namespace

Status write_pool(const std::string& directory, const PoolDescription& pool) {
  HEXAD_TRY_ASSIGN(std::string absolute,
                   io::absolute_path(directory.empty() ? std::string(".") : directory));
  absolute = tidy_path(absolute);
  std::string text = std::string(kHeader) + "\n";
  HEXAD_TRY(append_paths(text, "device", absolute, pool.devices));
  HEXAD_TRY(append_paths(text, "fast", absolute, pool.fast_directories));
  return io::write_text_file(file_of(absolute), text);
}

Result<PoolDescription> read_pool(const std::string& directory) {
  const std::string path = file_of(directory);
  Result<std::string> text = io::read_text_file(path);
  if (!text.ok()) {
    Error error = text.error();
    if (error.code == ErrorCode::kNotFound) {
      error.hint = "If only the description is lost, name every device with --device PATH.";
    }
    return error;
  }
  Result<PoolDescription> pool = parse(*text, directory.empty() ? "." : directory);
  if (!pool.ok()) return pool.error().with_context(printable(path));
  return pool;
}

}  // namespace hexad
