#include "io/os/text_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/bytes.h"

namespace hexad::io {
namespace {

Error os_error(std::string_view what, const std::string& path, int number) {
  return Error{
      number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
      std::string(what) + " " + printable(path) + ": " + std::generic_category().message(number)};
}

// Closes at the end of its scope; close() reports what that says.
class OwnedFd {
 public:
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  ~OwnedFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd);
  }

 private:
  int fd_;
};

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os_error("writing", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok_status();
}

// A rename is durable only with its directory.
Status sync_directory_of(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  OwnedFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return os_error("opening directory", directory, errno);
  if (::fsync(fd.get()) != 0) return os_error("syncing directory", directory, errno);
  return ok_status();
}

// Fills the temporary file and puts it in the place of `path`.
Status fill_and_rename(int raw_fd, const std::string& temporary, const std::string& path,
                       std::string_view text) {
  OwnedFd fd(raw_fd);
  HEXAD_TRY(write_all(fd.get(), text, temporary));
  if (::fsync(fd.get()) != 0) return os_error("syncing", temporary, errno);
  if (fd.close() != 0) return os_error("closing", temporary, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return os_error("replacing", path, errno);
  return ok_status();
}

// Of a write, whatever is missing is a failure of the place, not a thing that was asked for.
Error as_io(Error error) {
  error.code = ErrorCode::kIo;
  return error;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  // Not to wait on a FIFO that stands where the file should.
  OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return os_error("opening", path, errno);
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) return os_error("examining", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::kInvalidArgument, printable(path) + " is no regular file"};
  }
  std::string text;
  char chunk[4096];
  for (;;) {
    const ssize_t count = ::read(fd.get(), chunk, sizeof(chunk));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return as_io(os_error("reading", path, errno));
    if (count == 0) return text;
    text.append(chunk, static_cast<std::size_t>(count));
    if (text.size() > kMaxTextFile) {
      return Error{ErrorCode::kTooBig, printable(path) + " has more than " +
                                           std::to_string(kMaxTextFile) +
                                           " bytes, too many for a description"};
    }
  }
}

Status write_text_file(const std::string& path, std::string_view text) {
  if (text.size() > kMaxTextFile) {
    return Error{ErrorCode::kTooBig, printable(path) + " would have " +
                                         std::to_string(text.size()) + " bytes, more than " +
                                         std::to_string(kMaxTextFile)};
  }
  // Mode 0600, a name of its own: two writers cannot mix their bytes.
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return as_io(os_error("creating", temporary, errno));
  if (const Status filled = fill_and_rename(fd, temporary, path, text); !filled.ok()) {
    ::unlink(temporary.c_str());
    return as_io(filled.error());
  }
  if (const Status synced = sync_directory_of(path); !synced.ok()) return as_io(synced.error());
  return ok_status();
}

Result<std::string> absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) {
    return Error{ErrorCode::kIo,
                 "current directory of " + printable(path) + ": " + error.message()};
  }
  return absolute.string();
}

}  // namespace hexad::io
