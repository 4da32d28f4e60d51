#include "io/rbd/rbd_lockers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/bytes.h"
#include "io/lines/process_info.h"
#include "io/rbd/rbd_error.h"

namespace hexad::io {

namespace {

constexpr std::size_t kFirstSize = 256;
constexpr std::size_t kLargestSize = 1 << 20;

// Texts that each end with a 0.
std::vector<std::string> split(const std::vector<char>& texts, std::size_t count) {
  std::vector<std::string> all;
  const char* at = texts.data();
  for (std::size_t i = 0; i < count; ++i) {
    all.emplace_back(at);
    at += all.back().size() + 1;
  }
  return all;
}

// The tag that librbd gives its locks.
constexpr const char* kOwnTag = "internal";

// Of the image's metadata: the client's number, a blank, and the process that it is of.
constexpr const char* kHolderKey = "hexad.holder";
constexpr std::size_t kMostOfHolder = 4096;
constexpr std::size_t kShownOfCommand = 200;

// Of one of these clients. Nothing: it has left nothing, or another one did.
std::string find_process(const RbdLibrary& library, RbdLibrary::Handle image,
                         const std::vector<std::string>& clients) {
  std::vector<char> value(kMostOfHolder);
  std::size_t size = value.size();
  if (library.rbd_metadata_get(image, kHolderKey, value.data(), &size) < 0) return "";
  const std::string text(value.data(), ::strnlen(value.data(), value.size()));
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return "";
  const auto its = std::find(clients.begin(), clients.end(), "client." + text.substr(0, blank));
  return its == clients.end() ? "" : printable(text.substr(blank + 1), kMostOfHolder);
}

Status find_owners(const RbdLibrary& library, RbdLibrary::Handle image, const std::string& subject,
                   RbdLockers& found) {
  for (std::size_t size = kFirstSize;; size *= 2) {
    std::vector<char> tag(size);
    std::vector<char> clients(size);
    std::vector<char> cookies(size);
    std::vector<char> addresses(size);
    std::size_t sizes[] = {size, size, size, size};
    int exclusive = 0;
    const ssize_t rc =
        library.rbd_list_lockers(image, &exclusive, tag.data(), &sizes[0], clients.data(),
                                 &sizes[1], cookies.data(), &sizes[2], addresses.data(), &sizes[3]);
    if (rc == -ERANGE && size < kLargestSize) continue;
    if (rc < 0) return rbd_error(static_cast<int>(-rc), subject + ": who has its lock");
    const auto count = static_cast<std::size_t>(rc);
    found.owners = split(addresses, count);
    if (count > 0) found.process = find_process(library, image, split(clients, count));
    found.own = found.owners.empty() || std::strcmp(tag.data(), kOwnTag) == 0;
    return {};
  }
}

Result<std::vector<std::string>> find_watchers(const RbdLibrary& library, RbdLibrary::Handle image,
                                               std::uint64_t self, const std::string& subject) {
  std::vector<RbdWatcher> found(16);
  for (;;) {
    std::size_t count = found.size();
    const int rc = library.rbd_watchers_list(image, found.data(), &count);
    if (rc == -ERANGE && count > found.size()) {
      found.resize(count);
      continue;
    }
    if (rc < 0) return rbd_error(-rc, subject + ": who has it open");
    std::vector<std::string> others;
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<std::uint64_t>(found[i].client) != self)
        others.emplace_back(found[i].address);
    }
    library.rbd_watchers_list_cleanup(found.data(), count);
    return others;
  }
}

std::string join(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text;
}

}  // namespace

bool RbdLockers::is_alive(const std::string& owner) const {
  return std::find(watchers.begin(), watchers.end(), owner) != watchers.end();
}

std::string RbdLockers::to_string() const {
  std::string text = owners.empty() ? "another client" : join(owners);
  std::string more = process;
  if (!watchers.empty()) more += (more.empty() ? "" : "; ") + ("watched by " + join(watchers));
  return more.empty() ? text : text + " (" + more + ")";
}

void leave_locker(const RbdLibrary& library, RbdLibrary::Handle image, std::uint64_t self) {
  char host[256] = "";
  static_cast<void>(::gethostname(host, sizeof(host) - 1));
  const ProcessInfo process = own_process();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string text =
      std::to_string(self) + " host " + host + ", process " + std::to_string(process.pid) +
      (process.command.empty() ? "" : ", " + printable(process.command, kShownOfCommand)) +
      ", since " + format_utc(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  static_cast<void>(library.rbd_metadata_set(image, kHolderKey, text.c_str()));
}

Result<RbdLockers> find_lockers(const RbdLibrary& library, RbdLibrary::Handle image,
                                std::uint64_t self, const std::string& subject) {
  RbdLockers found;
  HEXAD_TRY(find_owners(library, image, subject, found));
  HEXAD_TRY_ASSIGN(found.watchers, find_watchers(library, image, self, subject));
  return found;
}

}  // namespace hexad::io
