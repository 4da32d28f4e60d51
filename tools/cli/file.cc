#include "tools/cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/cli/part_file.h"

namespace hexad::tools {

namespace {

constexpr int kPollMs = 200;
constexpr std::uint64_t kZerosAtOnce = 1_MiB;

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
      return ErrorCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kNoSpace;
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
      return ErrorCode::kInvalidArgument;
    case EPIPE:
      return ErrorCode::kClosed;
    default:
      return ErrorCode::kIo;
  }
}

// Waits until `fd` can be read, in steps, so that a silent pipe does not outlive Ctrl-C.
Status wait_readable(int fd) {
  for (;;) {
    if (interrupted()) return interrupted_error();
    pollfd entry = {.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = poll(&entry, 1, kPollMs);
    // A signal ends poll() early: ask again, or read() would block.
    if (ready > 0 || (ready < 0 && errno != EINTR)) return {};
  }
}

Status sync_directory(const std::string& path) {
  const Fd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() || fsync(directory.get()) != 0) {
    return system_error(errno, path, "cannot sync the directory");
  }
  return {};
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

Error system_error(int error_number, std::string_view subject, std::string_view doing) {
  char text[128];
  const char* reason = strerror_r(error_number, text, sizeof text);
  Error error{code_of(error_number), display_name(subject), ""};
  if (!doing.empty()) error.message += ": " + std::string(doing);
  error.message += ": " + std::string(reason);
  if (error_number == EACCES || error_number == EPERM) {
    error.hint = "Check the permissions, or run as the owner.";
  }
  return error;
}

Result<Fd> open_input(const std::string& path) {
  Fd file(path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return system_error(errno, path, "cannot open");
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return system_error(errno, path, "cannot look at");
  if (S_ISDIR(info.st_mode)) {
    Error error = system_error(EISDIR, path, "");
    error.hint = "A directory is stored with: hexad import POOL DIR";
    return error;
  }
  return file;
}

Result<std::uint64_t> read_full(int fd, MutByteView into, std::string_view subject) {
  std::uint64_t done = 0;
  while (done < into.size()) {
    HEXAD_TRY(wait_readable(fd));
    const ssize_t count = ::read(fd, into.data() + done, into.size() - done);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return system_error(errno, subject, "cannot read");
    if (count == 0) break;
    done += static_cast<std::uint64_t>(count);
  }
  return done;
}

Result<std::string> read_whole_file(const std::string& path, std::uint64_t limit) {
  HEXAD_TRY_ASSIGN(const Fd file, open_input(path));
  std::string text(limit + 1, '\0');
  const MutByteView into(reinterpret_cast<std::byte*>(text.data()), text.size());
  HEXAD_TRY_ASSIGN(const std::uint64_t size, read_full(file.get(), into, display_name(path)));
  if (size > limit) {
    return Error{ErrorCode::kTooBig, display_name(path) + ": more than " + format_size(limit), ""};
  }
  text.resize(size);
  return text;
}

Status write_all(int fd, ByteView bytes, std::string_view subject) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd entry = {.fd = fd, .events = POLLOUT, .revents = 0};
      poll(&entry, 1, kPollMs);
      continue;
    }
    if (count < 0 && errno == EPIPE) set_reader_gone();
    if (count < 0) return system_error(errno, subject, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status leave_hole(int fd, std::uint64_t offset, int whence, std::string_view subject) {
  if (lseek(fd, static_cast<off_t>(offset), whence) >= 0) return {};
  // So it says that a file would become too long.
  const int error_number = errno == EINVAL ? EFBIG : errno;
  return system_error(error_number, subject, "cannot leave a hole");
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  if (path == "-") {
    file.fd_ = STDOUT_FILENO;
    return file;
  }
  struct stat info = {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    Error error = system_error(EISDIR, path, "");
    error.hint = "Name the file to write, for example " + path + "/NAME";
    return error;
  }
  if (exists && !S_ISREG(info.st_mode)) {
    file.owned_ = Fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    file.fd_ = file.owned_.get();
    if (file.fd_ < 0) return system_error(errno, path, "cannot open");
    return file;
  }
  if (exists) {
    std::error_code ignored;  // an unresolvable path fails at the next call, with its own name
    file.path_ = std::filesystem::canonical(path, ignored).string();
    if (file.path_.empty()) file.path_ = path;
  }
  const std::filesystem::path place(file.path_);
  const std::string parent = place.parent_path().string();
  file.directory_ =
      Fd(open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!file.directory_.valid()) return system_error(errno, path, "cannot create");
  std::string name;
  file.owned_ = Fd(open_part(file.directory_.get(), place.filename().string(), name));
  file.fd_ = file.owned_.get();
  if (file.fd_ < 0) return system_error(errno, path, "cannot create");
  file.temporary_ = name;
  const mode_t mask = umask(0);
  umask(mask);
  const mode_t mode = exists ? (info.st_mode & 0777) : (0666 & ~mask);
  if (fchmod(file.fd_, mode) != 0) return system_error(errno, path, "cannot set the mode");
  return file;
}

OutputFile::~OutputFile() {
  // A moved-from file has an empty name or no descriptor.
  if (owned_.valid() && !temporary_.empty()) unlinkat(directory_.get(), temporary_.c_str(), 0);
}

Status OutputFile::write(ByteView bytes) {
  if (interrupted()) return interrupted_error();
  return write_all(fd_, bytes, shown_path());
}

Status OutputFile::skip(std::uint64_t length) {
  if (!temporary_.empty()) return leave_hole(fd_, length, SEEK_CUR, path_);
  const Bytes zeros(static_cast<std::size_t>(std::min(length, kZerosAtOnce)));
  for (; length > 0; length -= std::min(length, kZerosAtOnce)) {
    HEXAD_TRY(write(ByteView(zeros).first(std::min(length, kZerosAtOnce))));
  }
  return {};
}

Status OutputFile::commit() {
  if (temporary_.empty()) return {};
  const off_t end = lseek(fd_, 0, SEEK_CUR);  // behind the last hole
  if (end < 0 || ftruncate(fd_, end) != 0) return system_error(errno, path_, "cannot set the size");
  if (fsync(fd_) != 0) return system_error(errno, path_, "cannot sync");
  const std::string leaf = std::filesystem::path(path_).filename().string();
  if (renameat(directory_.get(), temporary_.c_str(), directory_.get(), leaf.c_str()) != 0) {
    return system_error(errno, path_, "cannot rename the finished file into place");
  }
  temporary_.clear();
  const std::string parent = std::filesystem::path(path_).parent_path().string();
  return sync_directory(parent.empty() ? "." : parent);
}

}  // namespace hexad::tools
