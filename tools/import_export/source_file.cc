#include "tools/import_export/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"

namespace hexad::tools {

namespace {

// The longest step of the clock that kernels stamp files with, and as much again.
constexpr std::int64_t kStampStep = 20'000'000;  // nanoseconds
constexpr std::int64_t kSecond = 1'000'000'000;

bool is_same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// A file that changed in the present step of the clock may change again without another time. Waits
// until that step is over.
void outlast_step(const struct stat& info) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (now.tv_sec < info.st_ctim.tv_sec || now.tv_sec > info.st_ctim.tv_sec + 1) return;
  const std::int64_t age =
      (now.tv_sec - info.st_ctim.tv_sec) * kSecond + (now.tv_nsec - info.st_ctim.tv_nsec);
  if (age < 0 || age >= kStampStep) return;
  timespec rest = {};
  rest.tv_nsec = static_cast<decltype(rest.tv_nsec)>(kStampStep - age);
  nanosleep(&rest, nullptr);  // a signal ends it early: then the work ends as well
}

}  // namespace

bool is_same_state(const struct stat& before, const struct stat& after) {
  return before.st_dev == after.st_dev && before.st_ino == after.st_ino &&
         before.st_size == after.st_size && is_same_time(before.st_mtim, after.st_mtim) &&
         is_same_time(before.st_ctim, after.st_ctim);
}

Result<SourceFile> SourceFile::open(int directory, const std::string& leaf, std::string subject) {
  // Not blocking: the file may have become a pipe since it was looked at.
  Fd file(openat(directory, leaf.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return system_error(errno, subject, "cannot open");
  return adopt(std::move(file), std::move(subject));
}

Result<SourceFile> SourceFile::adopt(Fd file, std::string subject) {
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return system_error(errno, subject, "cannot look at");
  outlast_step(info);
  if (fstat(file.get(), &info) != 0) return system_error(errno, subject, "cannot look at");
  return SourceFile(std::move(file), std::move(subject), info);
}

std::optional<ByteRange> SourceFile::next_data() const {
  const off_t begin = lseek(fd(), static_cast<off_t>(position_), SEEK_DATA);
  if (begin < 0 && errno == ENXIO) return std::nullopt;
  if (begin < 0) return ByteRange{position_, size() - position_};  // no holes are known
  const auto from = static_cast<std::uint64_t>(begin);
  if (from >= size()) return std::nullopt;
  const off_t end = lseek(fd(), begin, SEEK_HOLE);
  const std::uint64_t to = end < 0 ? size() : std::min(size(), static_cast<std::uint64_t>(end));
  return ByteRange{from, to - from};
}

Result<SourceFile::Piece> SourceFile::next(MutByteView into) {
  if (position_ == data_end_ && position_ < size()) {
    const std::optional<ByteRange> data = next_data();
    position_ = data.has_value() ? data->offset : size();
    data_end_ = data.has_value() ? data->offset + data->length : size();
  }
  // Behind the size there should be nothing; it is looked for all the same.
  const std::uint64_t known = data_end_ > position_ ? data_end_ - position_ : into.size();
  Piece piece{position_, 0};
  HEXAD_TRY_ASSIGN(piece.length,
                   read(into.first(std::min<std::size_t>(into.size(), known)), position_));
  position_ += piece.length;
  data_end_ = std::max(data_end_, position_);
  return piece;
}

Result<std::uint64_t> SourceFile::read(MutByteView into, std::uint64_t offset) const {
  std::uint64_t done = 0;
  while (done < into.size()) {
    if (interrupted()) return interrupted_error();
    const ssize_t count =
        pread(fd(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, subject_, "cannot read");
    if (count == 0) break;
    done += static_cast<std::uint64_t>(count);
  }
  return done;
}

Result<bool> SourceFile::is_unchanged() const {
  struct stat now = {};
  if (fstat(fd(), &now) != 0) return system_error(errno, subject_, "cannot look at");
  return is_same_state(info_, now);
}

Error changing_file_error(const std::string& subject, int times) {
  return Error{ErrorCode::kIo,
               display_name(subject) + ": changed while it was read, " + std::to_string(times) +
                   " times; what would be stored never was in it at one time",
               "Take it again when nobody writes it, or from a snapshot of the file system."};
}

}  // namespace hexad::tools
