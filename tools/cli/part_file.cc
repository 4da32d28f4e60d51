#include "tools/cli/part_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "base/checksum.h"

namespace hexad::tools {

namespace {

constexpr std::string_view kPrefix = ".hexad-part-";
constexpr std::size_t kDigits = 16;
// Names that others hold, before it is given up.
constexpr unsigned kAttempts = 100;

bool all_of(std::string_view text, bool (*fits)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// Whether the name still leads to the open file.
bool is_named(int directory, const std::string& name, int fd) {
  struct stat there = {};
  struct stat mine = {};
  return fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         fstat(fd, &mine) == 0 && there.st_dev == mine.st_dev && there.st_ino == mine.st_ino;
}

// Calls `make` with one name after the other until it takes one. Never a name in use: another
// process would rename what this one has written.
int with_free_name(int directory, std::string_view leaf, std::string& name,
                   const std::function<int(const char*)>& make) {
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    name = part_name(leaf, attempt);
    int made = make(name.c_str());
    if (made >= 0 || errno != EEXIST) return made;
    if (!remove_stale_part(directory, name)) continue;
    made = make(name.c_str());
    if (made >= 0 || errno != EEXIST) return made;
  }
  errno = EEXIST;
  return -1;
}

}  // namespace

std::string part_name(std::string_view leaf, unsigned attempt) {
  char digits[kDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(xxh3_64(as_bytes(leaf))));
  std::string name = std::string(kPrefix) + digits;
  if (attempt > 0) name += "-" + std::to_string(attempt);
  return name;
}

bool is_part_name(std::string_view leaf) {
  if (!leaf.starts_with(kPrefix)) return false;
  leaf.remove_prefix(kPrefix.size());
  if (leaf.size() < kDigits || !all_of(leaf.substr(0, kDigits), is_hex_digit)) return false;
  leaf.remove_prefix(kDigits);
  return leaf.empty() || (leaf.front() == '-' && all_of(leaf.substr(1), is_digit));
}

int open_part(int directory, std::string_view leaf, std::string& name) {
  // O_EXCL: a file that somebody else has put there may be open for reading elsewhere.
  const auto make = [&](const char* free_name) {
    const int fd =
        openat(directory, free_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    // Between the two calls another process may take the new file for a stale one. A file system
    // without locks goes without.
    const bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && is_named(directory, free_name, fd)) return fd;
    close(fd);
    errno = EEXIST;
    return -1;
  };
  return with_free_name(directory, leaf, name, make);
}

int make_part(int directory, std::string_view leaf, std::string& name,
              const std::function<int(const char*)>& make) {
  return with_free_name(directory, leaf, name, make);
}

bool remove_stale_part(int directory, const std::string& name) {
  const int fd = openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return true;
    // A link lives for the time between two calls, unless its process was killed there.
    return errno == ELOOP && (unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT);
  }
  bool gone = false;
  struct stat info = {};
  const bool ours = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (ours && (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)) {
    gone = unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT;
  }
  close(fd);
  return gone;
}

void remove_stale_parts(int directory) {
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = copy >= 0 ? fdopendir(copy) : nullptr;
  if (stream == nullptr) {
    if (copy >= 0) close(copy);
    return;
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream)) {
    if (is_part_name(entry->d_name)) names.emplace_back(entry->d_name);
  }
  closedir(stream);
  for (const std::string& name : names) remove_stale_part(directory, name);
}

}  // namespace hexad::tools
