#include "kv/lmdb/lmdb_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/codec.h"
#include "base/units.h"
#include "io/os/file_geometry.h"
#include "io/os/preallocate.h"

namespace hexad::kv {
namespace {

constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPageHeader = 16;  // bytes
constexpr std::uint16_t kMetaFlag = 0x08;
constexpr std::size_t kMetaSize = kPageHeader + 24 + 2 * kLmdbTreeSize + 16;

constexpr std::string_view kDropHint =
    "the index is a copy: drop its directory and let it be built again";

constexpr const char* kRoomHint = "make room in the fast tier's file system, or move the index";

Error corrupt(const std::string& path, std::string what) {
  return Error{ErrorCode::kCorruption, path + ": " + std::move(what), std::string(kDropHint)};
}

// The page size lies in the record of the free-page tree.
Result<LmdbMeta> decode_meta(const std::string& path, ByteView page) {
  Decoder in(page);
  in.raw(10);  // page number, padding
  const std::uint16_t flags = in.le16();
  in.raw(4);
  if (in.le32() != kMagic || (flags & kMetaFlag) == 0) {
    return corrupt(path, "not an LMDB file");
  }
  if (const std::uint32_t version = in.le32(); version != kVersion) {
    return corrupt(path, "LMDB format version " + std::to_string(version) + ", not 1");
  }
  in.raw(16);  // address, map size
  LmdbMeta meta;
  meta.page_size = Decoder(in.rest()).le32();
  for (LmdbTree& tree : meta.trees) tree = decode_lmdb_tree(as_bytes(in.raw(kLmdbTreeSize)));
  meta.last_page = in.le64();
  meta.transaction = in.le64();
  HEXAD_TRY(in.check("LMDB meta page"));
  if (meta.page_size < 512 || meta.page_size > 65536 ||
      (meta.page_size & (meta.page_size - 1)) != 0) {
    return corrupt(path, "a page size of " + std::to_string(meta.page_size) + " B");
  }
  if (meta.last_page < 1 || meta.last_page > (std::uint64_t{1} << 47)) {
    return corrupt(path, "a last page of " + std::to_string(meta.last_page));
  }
  return meta;
}

std::string parent_of(const std::string& dir) {
  const std::size_t slash = dir.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : dir.substr(0, slash);
}

}  // namespace

Error system_error(int number, std::string what) {
  ErrorCode code = ErrorCode::kIo;
  std::string hint;
  switch (number) {
    case ENOENT:
      code = ErrorCode::kNotFound;
      break;
    case ENOSPC:
    case EDQUOT:
      code = ErrorCode::kNoSpace;
      hint = kRoomHint;
      break;
    case EROFS:
    case EACCES:
    case EPERM:
      code = ErrorCode::kReadOnly;
      break;
    case EWOULDBLOCK:
      code = ErrorCode::kBusy;
      break;
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
      code = ErrorCode::kInvalidArgument;
      break;
    default:
      break;
  }
  return Error{code, std::move(what) + ": " + std::strerror(number), std::move(hint)};
}

LmdbTree decode_lmdb_tree(ByteView bytes) {
  Decoder in(bytes);
  LmdbTree tree;
  in.le32();  // page size, or the size of fixed keys
  tree.flags = in.le16();
  tree.depth = in.le16();
  in.raw(24);  // counts of pages
  tree.entries = in.le64();
  tree.root = in.le64();
  return tree;
}

Result<LmdbFile> LmdbFile::open(const std::string& dir, io::OpenMode mode) {
  std::string path = dir + "/data.mdb";
  const bool write = mode == io::OpenMode::kReadWrite;
  // O_NONBLOCK, which means nothing to a file, so that a FIFO in its place does not hang.
  const int fd =
      ::open(path.c_str(), (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return system_error(errno, "cannot open " + path);
  LmdbFile file(std::move(path), fd);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error(errno, "cannot stat " + file.path_);
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kInvalidArgument, file.path_ + ": not a regular file", ""};
  }
  if (::flock(fd, (write ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_error(errno, "cannot lock " + file.path_);
    return Error{ErrorCode::kBusy, file.path_ + io::locked_by(io::lock_holder(fd)),
                 "Close the store there first."};
  }
  return file;
}

LmdbFile::LmdbFile(LmdbFile&& other) noexcept
    : process_(other.process_), path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

LmdbFile& LmdbFile::operator=(LmdbFile&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

LmdbFile::~LmdbFile() {
  if (fd_ < 0) return;
  if (!process_.in_child()) ::flock(fd_, LOCK_UN);
  ::close(fd_);
}

Result<std::uint64_t> LmdbFile::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return system_error(errno, "cannot stat " + path_);
  return static_cast<std::uint64_t>(info.st_size);
}

Status LmdbFile::read(std::uint64_t offset, MutByteView into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "cannot read " + path_);
    if (got == 0) return corrupt(path_, "ends at byte " + std::to_string(offset));
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<LmdbMeta> LmdbFile::read_meta() const {
  std::array<std::byte, kMetaSize> page{};
  HEXAD_TRY(read(0, page));
  HEXAD_TRY_ASSIGN(LmdbMeta meta, decode_meta(path_, page));
  HEXAD_TRY(read(meta.page_size, page));
  HEXAD_TRY_ASSIGN(const LmdbMeta other, decode_meta(path_, page));
  if (other.page_size != meta.page_size) return corrupt(path_, "two page sizes");
  // They take turns, and LMDB finds the page of a transaction by its number. Both begin with 0.
  if (meta.transaction % 2 != 0 || (other.transaction != 0 && other.transaction % 2 == 0)) {
    return corrupt(path_, "a transaction in the other one's meta page");
  }
  if (other.transaction > meta.transaction) meta = other;
  HEXAD_TRY_ASSIGN(const std::uint64_t bytes, size());
  const std::uint64_t needed = (meta.last_page + 1) * meta.page_size;
  if (bytes < needed) {
    return corrupt(path_, "the file has " + std::to_string(bytes) + " bytes of the " +
                              std::to_string(needed) + " that its meta page mentions");
  }
  return meta;
}

Status LmdbFile::check_same(int descriptor) const {
  struct stat mine {};
  struct stat other {};
  if (::fstat(fd_, &mine) != 0 || ::fstat(descriptor, &other) != 0) {
    return system_error(errno, "cannot stat " + path_);
  }
  if (mine.st_dev == other.st_dev && mine.st_ino == other.st_ino) return {};
  return corrupt(path_, "somebody has put another file in its place while it was open");
}

Status LmdbFile::extend(std::uint64_t size) const {
  HEXAD_TRY_ASSIGN(const std::uint64_t now, this->size());
  if (now < size) {
    // Allocated now, so that a full file system shows here and not in the middle of a commit.
    if (const Status grown = io::preallocate(fd_, path_, now, size); !grown.ok()) {
      Error error = grown.error();
      if (error.code == ErrorCode::kNoSpace) error.hint = kRoomHint;
      return error;
    }
  }
  if (::fsync(fd_) != 0) return system_error(errno, "cannot sync " + path_);
  return {};
}

Status sync_lmdb_dir(const std::string& dir) {
  const int fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error(errno, "cannot open " + dir);
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (failed != 0) return system_error(failed, "cannot sync " + dir);
  return {};
}

Status make_lmdb_dir(const std::string& dir) {
  if (::mkdir(dir.c_str(), 0700) == 0) return sync_lmdb_dir(parent_of(dir));
  const int failed = errno;
  struct stat info {};
  if (failed == EEXIST && ::stat(dir.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
  return system_error(failed, "cannot create " + dir);
}

Result<bool> create_lmdb_file(const std::string& dir) {
  const std::string path = dir + "/data.mdb";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 && errno == EEXIST) return false;
  if (fd < 0) return system_error(errno, "cannot create " + path);
  ::close(fd);
  return true;
}

Status create_lmdb_lock(const std::string& dir, std::uint32_t readers) {
  constexpr std::uint64_t kHead = 4096;  // bytes, generously
  constexpr std::uint64_t kReader = 64;
  const std::string path = dir + "/lock.mdb";
  HEXAD_TRY(remove_file(path));
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return system_error(errno, "cannot create " + path);
  const Status made = io::preallocate(fd, path, 0, round_up(kHead + kReader * readers, kHead));
  ::close(fd);
  if (made.ok()) return {};
  remove_file(path).ignore();
  Error error = made.error();
  if (error.code == ErrorCode::kNoSpace) error.hint = kRoomHint;
  return error;
}

Status remove_lmdb_dir(const std::string& dir) {
  if (::rmdir(dir.c_str()) == 0 || errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST) {
    return {};
  }
  return system_error(errno, "cannot delete " + dir);
}

std::optional<std::uint64_t> lmdb_room(const std::string& dir) {
  struct statvfs found {};
  if (::statvfs(dir.c_str(), &found) != 0 && ::statvfs(parent_of(dir).c_str(), &found) != 0) {
    return std::nullopt;
  }
  return std::uint64_t{found.f_bavail} * found.f_frsize;
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_error(errno, "cannot delete " + path);
}

}  // namespace hexad::kv
