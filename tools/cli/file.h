// Local files: the few calls the command line needs, with errors as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace hexad::tools {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// "subject: doing: No such file or directory" with the code that fits `error_number`: kNotFound,
// kNoSpace, kInvalidArgument (a directory, a name too long), kClosed (EPIPE), else kIo.
Error system_error(int error_number, std::string_view subject, std::string_view doing);

// "-" is standard input. Errors: kNotFound, kInvalidArgument (a directory), kIo.
Result<Fd> open_input(const std::string& path);

// Up to into.size() bytes, fewer only at the end; 0 behind it. Gives up with interrupted_error()
// when a signal asks for it. Errors: kIo.
Result<std::uint64_t> read_full(int fd, MutByteView into, std::string_view subject);

// All of it. Errors: those of open_input() and read_full(); kTooBig (over `limit` bytes).
Result<std::string> read_whole_file(const std::string& path, std::uint64_t limit);

// Errors: kNoSpace, kClosed (the reader of a pipe has gone), kIo.
Status write_all(int fd, ByteView bytes, std::string_view subject);

// Moves to an offset, as lseek(), and leaves a hole there. Errors: kIo (the file system holds no
// file that long).
Status leave_hole(int fd, std::uint64_t offset, int whence, std::string_view subject);

// A file that appears whole or not at all: written beside its place under another name
// (part_file.h), synced, then renamed over it. "-" is standard output; what is not a regular file
// (a pipe, /dev/null) is written in place. An existing file keeps its mode; a symbolic link is
// followed.
class OutputFile {
 public:
  // Errors: kNotFound (no such directory), kInvalidArgument (a directory), kIo.
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  // Removes what was not committed.
  ~OutputFile();

  Status write(ByteView bytes);
  // As many zeros: a hole where it can be one, else written.
  Status skip(std::uint64_t length);
  // Makes the file appear, durably. Once.
  Status commit();

 private:
  OutputFile() = default;

  std::string shown_path() const { return path_ == "-" ? "standard output" : path_; }

  std::string path_;       // where it will be
  std::string temporary_;  // its name meanwhile; empty: written in place, or committed
  Fd directory_;           // that both are in
  Fd owned_;
  int fd_ = -1;  // owned_, or standard output
};

}  // namespace hexad::tools
