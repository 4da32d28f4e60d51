// A regular file while its content is taken: where it has data, and whether it has changed
// meanwhile.
//
//   I4  a file is stored as it was at one time, or not at all: size, modification and change time
//       are the same before its first byte is read and behind its last
//
// A change shows in size, modification time or change time. What does not show: writes through a
// mapping of the file into memory, to pages that were changed through it before and are not written
// back yet; and writes on file systems whose times have steps of a second. A snapshot of the file
// system has neither.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "core/api/types.h"
#include "tools/cli/file.h"

namespace hexad::tools {

// Whether two looks at an open file find the same state of its content and attributes.
bool is_same_state(const struct stat& before, const struct stat& after);

class SourceFile {
 public:
  // `directory`: a descriptor, or AT_FDCWD. Symbolic links are not followed. `subject` names the
  // file in errors. A file that was changed in this very moment is looked at when its next change
  // will have another time: 20 ms later at most. Errors: those of system_error().
  static Result<SourceFile> open(int directory, const std::string& leaf, std::string subject);
  // The same for a file that is open already.
  static Result<SourceFile> adopt(Fd file, std::string subject);

  int fd() const { return file_.get(); }
  // As it was when it was opened. It need not be a regular file any more.
  const struct stat& info() const { return info_; }
  std::uint64_t size() const { return static_cast<std::uint64_t>(info_.st_size); }

  // The next bytes of the file, from its start on: where they belong, and how many are in `into`;
  // 0: that was the last of them. What lies between two pieces is a hole; where the file system
  // knows no holes there are none. Reads to the end, which need not be where the size says: files
  // that the kernel makes up as they are read have a size of 0, or of a page. Gives up with
  // interrupted_error() when a signal asks for it. Errors: kIo.
  struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  Result<Piece> next(MutByteView into);
  // Behind the last piece: where the file ends.
  std::uint64_t end() const { return position_; }
  // Whether what was read since the opening is one state of the file.
  Result<bool> is_unchanged() const;

 private:
  SourceFile(Fd file, std::string subject, const struct stat& info)
      : file_(std::move(file)), subject_(std::move(subject)), info_(info) {}

  // The first range of data that ends behind position_, cut to begin there; nothing: there is a
  // hole up to the size.
  std::optional<ByteRange> next_data() const;
  // Fewer bytes only at the end.
  Result<std::uint64_t> read(MutByteView into, std::uint64_t offset) const;

  Fd file_;
  std::string subject_;
  struct stat info_;
  std::uint64_t position_ = 0;
  std::uint64_t data_end_ = 0;  // from position_ up to here is data, as far as is known
};

// What to say of a file that did not stay the same, however often it was read.
Error changing_file_error(const std::string& subject, int times);

}  // namespace hexad::tools
