#include "tools/import_export/export_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "base/checksum.h"

namespace hexad::tools {

namespace {

constexpr const char* kFirstLine = "hexad export record 1";

std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c == '\\' ? "\\\\" : std::string(1, c);
    }
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      name += text[i] == 'n' ? '\n' : text[i];
    } else {
      name += text[i];
    }
  }
  return name;
}

// Without its line end. The name, which may have spaces, begins behind the seventh one.
constexpr int kNumbers = 7;
std::string line_of(const std::string& name, const ObjectStat& object, const struct stat& file) {
  return fmt::format("{} {} {} {} {}.{:09} {}.{:09} {}", object.version, object.mtime, object.size,
                     file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec, file.st_ctim.tv_sec,
                     file.st_ctim.tv_nsec, file.st_ino) +
         " " + escaped(name);
}

// Another run of the system may find other bytes in files that were not synced.
std::string this_boot() {
  char text[64] = {};
  std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == nullptr) return "";
  const std::size_t size = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  std::string boot(text, size);
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  return boot;
}

// False: the file ends before the line does, which was cut off then.
bool read_line(std::FILE* file, std::string& line) {
  line.clear();
  for (int c = std::getc(file); c != EOF; c = std::getc(file)) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
  }
  return false;
}

// Directories that nothing was exported to for so long have gone, most of them.
void remove_old(const std::string& directory) {
  constexpr auto kKept = std::chrono::hours(24 * 90);
  std::error_code failure;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
    const auto time = entry.last_write_time(failure);
    if (!failure && now - time > kKept) std::filesystem::remove(entry.path(), failure);
  }
}

}  // namespace

std::string export_record_directory() {
  const char* const cache = getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/hexad/exports";
  const char* const home = getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/hexad/exports";
  return "";
}

ExportRecord::ExportRecord(const std::string& directory, const std::string& key, Use use) {
  if (directory.empty()) return;
  path_ = fmt::format("{}/{:016x}", directory, xxh3_64(as_bytes(key)));
  new_path_ = path_ + ".new";
  const std::string left_path = path_ + ".left";
  const std::string boot = this_boot();
  if (use == Use::kNote) {
    std::error_code failure;
    std::filesystem::create_directories(directory, failure);
    remove_old(directory);
    if (!begin_notes(left_path)) return;
  }
  // The newer one first. Both speak of states that were true of the files when they were noted.
  if (!boot.empty()) add_lines(use == Use::kNote ? left_path : new_path_, boot);
  add_lines(path_, "");
  if (notes_ == nullptr) return;
  std::fputs((std::string(kFirstLine) + "\n" + boot + "\n").c_str(), notes_.get());
}

ExportRecord::~ExportRecord() = default;

// Whoever writes KEY.new has a lock on it. What an export has left there that ended early is put
// aside, to be read.
bool ExportRecord::begin_notes(const std::string& path) {
  const int left = open(new_path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (left >= 0) {
    const bool free = flock(left, LOCK_EX | LOCK_NB) == 0;
    const bool moved = free && rename(new_path_.c_str(), path.c_str()) == 0;
    close(left);
    if (!moved) return false;
  }
  const int fd =
      open(new_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  flock(fd, LOCK_EX | LOCK_NB);
  notes_.reset(fdopen(fd, "w"));
  return notes_ != nullptr;
}

// `boot`: what the second line must say; empty: anything.
void ExportRecord::add_lines(const std::string& path, const std::string& boot) {
  Lines lines;
  lines.file.reset(std::fopen(path.c_str(), "re"));
  std::string line;
  if (lines.file == nullptr || !read_line(lines.file.get(), line) || line != kFirstLine) return;
  if (!read_line(lines.file.get(), line) || (!boot.empty() && line != boot)) return;
  advance(lines);
  before_.push_back(std::move(lines));
}

void ExportRecord::advance(Lines& lines) {
  lines.more = read_line(lines.file.get(), lines.line);
  std::size_t at = 0;
  for (int i = 0; i < kNumbers && lines.more; ++i) {
    at = lines.line.find(' ', at);
    lines.more = at != std::string::npos;  // damaged: it ends here
    if (lines.more) ++at;
  }
  if (lines.more) lines.name = unescaped(std::string_view(lines.line).substr(at));
}

bool ExportRecord::knows(const std::string& name, const ObjectStat& object,
                         const struct stat& file) {
  bool known = false;
  std::string wanted;
  for (Lines& lines : before_) {
    while (lines.more && lines.name < name) advance(lines);
    if (!lines.more || lines.name != name) continue;
    if (wanted.empty()) wanted = line_of(name, object, file);
    known = known || lines.line == wanted;
  }
  return known;
}

void ExportRecord::note(const std::string& name, const ObjectStat& object,
                        const struct stat& file) {
  if (notes_ == nullptr) return;
  const std::string line = line_of(name, object, file) + "\n";
  std::fwrite(line.data(), 1, line.size(), notes_.get());
}

void ExportRecord::finish() {
  if (notes_ == nullptr) return;
  const bool written = std::fflush(notes_.get()) == 0 && std::ferror(notes_.get()) == 0;
  if (written && rename(new_path_.c_str(), path_.c_str()) == 0) {
    std::error_code failure;
    std::filesystem::remove(path_ + ".left", failure);
  }
  notes_.reset();
}

}  // namespace hexad::tools
