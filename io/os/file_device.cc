#include "io/os/file_device.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "base/units.h"
#include "io/device_path.h"
#include "io/os/file_geometry.h"
#include "io/os/flush_domain.h"
#include "io/os/preallocate.h"
#include "io/os/reservation.h"
#include "io/os_error.h"
#include "io/request_subject.h"

namespace hexad::io {

namespace {

// O_NONBLOCK so that opening a FIFO by mistake does not hang; it is taken back after the check.
// Symbolic links are followed: the names of disks that stay the same (/dev/disk/by-id) are links.
constexpr int kOpenFlags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

template <typename Call>
auto retry(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

Error open_error(const std::string& path, int number) {
  return os_error(number, "cannot open " + path);
}

// What the system knows the device as.
Result<std::string> path_of(const std::string& name) {
  const std::string path(disk_of(name));
  if (!is_reserved_path(name) || path.starts_with('/')) return path;
  return Error{ErrorCode::kInvalidArgument, name + ": the path of the disk does not begin with /",
               "Name it from the root: reserved:/dev/disk/by-id/..."};
}

// A disk, and the lock that says that no process of this machine has it for writing.
Result<Fd> open_locked(const std::string& name) {
  HEXAD_TRY_ASSIGN(const std::string path, path_of(name));
  Fd fd(retry([&] { return ::open(path.c_str(), O_RDWR | kOpenFlags); }));
  if (!fd.valid()) return open_error(path, errno);
  if (retry([&] { return flock(fd.get(), LOCK_EX | LOCK_NB); }) == 0) return fd;
  return Error{ErrorCode::kBusy, path + locked_by(lock_holder(fd.get())),
               "Close the store there first."};
}

// A new name is durable only when its directory is.
Status sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const Fd fd(retry([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd.valid()) return os_error(errno, "cannot open directory " + directory);
  if (retry([&] { return fsync(fd.get()); }) != 0) {
    return os_error(errno, "cannot sync directory " + directory);
  }
  return {};
}

}  // namespace

Nanos FileQueue::steady_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

Result<std::unique_ptr<FileDevice>> FileDevice::open(const std::string& path, OpenMode mode,
                                                     FileQueue& queue, Caching caching) {
  HEXAD_TRY_ASSIGN(const std::string file, path_of(path));
  const int access = mode == OpenMode::kReadWrite ? O_RDWR : O_RDONLY;
  Fd fd(retry([&] { return ::open(file.c_str(), access | kOpenFlags); }));
  if (!fd.valid()) return open_error(path, errno);
  return adopt(path, std::move(fd), mode, queue, caching);
}

Result<std::unique_ptr<FileDevice>> FileDevice::create(const std::string& path, std::uint64_t size,
                                                       FileQueue& queue, Caching caching) {
  if (size == 0 || !is_multiple(size, 4096) || size > std::uint64_t{LLONG_MAX}) {
    return Error{ErrorCode::kInvalidArgument,
                 path + ": a device of " + std::to_string(size) + " bytes cannot be made",
                 "Choose a positive multiple of 4 KiB."};
  }
  // A disk is there, or is not.
  const bool reserved = is_reserved_path(path);
  Fd fd(reserved ? -1 : retry([&] {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kOpenFlags, 0600);
  }));
  if (!fd.valid()) {
    if (!reserved && errno != EEXIST) return open_error(path, errno);
    HEXAD_TRY_ASSIGN(std::unique_ptr<FileDevice> device,
                     open(path, OpenMode::kReadWrite, queue, caching));
    if (!device->block_device_ && device->geometry_.size < size) {
      HEXAD_TRY(device->grow(size));
      HEXAD_TRY(device->flush());
    }
    return device;
  }
  const auto build = [&]() -> Result<std::unique_ptr<FileDevice>> {
    HEXAD_TRY(preallocate(fd.get(), path, 0, size));
    HEXAD_TRY_ASSIGN(std::unique_ptr<FileDevice> device,
                     adopt(path, std::move(fd), OpenMode::kReadWrite, queue, caching));
    if (retry([&] { return fsync(device->fd()); }) != 0) return os_error(errno, path + ": sync");
    HEXAD_TRY(sync_directory_of(path));
    return device;
  };
  Result<std::unique_ptr<FileDevice>> built = build();
  // Who has it locked has found it here, and uses it.
  if (!built.ok() && built.error().code != ErrorCode::kBusy) unlink(path.c_str());
  return built;
}

Result<std::unique_ptr<FileDevice>> FileDevice::adopt(const std::string& path, Fd fd, OpenMode mode,
                                                      FileQueue& queue, Caching caching) {
  std::unique_ptr<FileDevice> device(new FileDevice(path, mode, queue));
  device->fd_ = std::move(fd);
  struct stat status {};
  if (fstat(device->fd(), &status) != 0) return os_error(errno, path);
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)) {
    return Error{ErrorCode::kInvalidArgument,
                 path + " is neither a regular file nor a block device",
                 "Name a regular file or a block device."};
  }
  device->block_device_ = S_ISBLK(status.st_mode);
  HEXAD_TRY(device->lock());
  if (device->block_device_ && mode == OpenMode::kReadWrite) HEXAD_TRY(device->claim());
  if (is_reserved_path(path)) HEXAD_TRY(device->reserve());

  // The flags can be changed now that the descriptor is known to be a file: direct, and blocking.
  const int flags = fcntl(device->fd(), F_GETFL) & ~O_NONBLOCK;
  device->direct_ =
      caching == Caching::kDirectIfPossible && fcntl(device->fd(), F_SETFL, flags | O_DIRECT) == 0;
  Result<Geometry> geometry = device->block_device_
                                  ? block_device_geometry(device->fd(), path)
                                  : regular_file_geometry(device->fd(), path, device->direct_);
  if (!geometry.ok()) return geometry.error();
  if (!device->direct_ && fcntl(device->fd(), F_SETFL, flags) != 0) return os_error(errno, path);
  device->geometry_ = *geometry;
  device->geometry_.slow_first_write = !device->block_device_;
  if (device->direct_ && device->geometry_.volatile_cache) {
    HEXAD_TRY(device->join_flush_domain(status.st_dev, status.st_rdev));
  }
  device->in_memory_ = !device->block_device_ && is_in_memory(device->fd());
  HEXAD_TRY_ASSIGN(const int index, queue.attach(device->fd()));
  device->queue_index_ = index;
  return device;
}

FileDevice::~FileDevice() { release(); }

void FileDevice::release() {
  // A child has the same ring and the same lock: both are its parent's.
  if (process_.in_child()) return;
  const int index = queue_index_.exchange(-1);
  if (index >= 0) queue_.detach(index);
  // A ring may keep the file open a little longer than we do, and so may children that were forked
  // meanwhile; the lock goes now.
  if (fd_.valid()) flock(fd_.get(), LOCK_UN);
  fd_ = Fd();
  claim_ = Fd();
}

// The kernel takes a ring down some time after its process has been reaped, and holds the files
// that were registered with it, and their locks, until then. Requests of that process may still
// reach the device meanwhile, so waiting is also what safety wants. In a container such a lock has
// no holder that could be named, like one of a live process outside of it: the wait is shorter.
Status FileDevice::lock() {
  constexpr auto kStep = std::chrono::milliseconds(10);
  constexpr auto kPatience = std::chrono::seconds(10);
  constexpr auto kPatienceWithNobody = std::chrono::seconds(2);
  if (mode_ == OpenMode::kLook) return {};
  const int kind = mode_ == OpenMode::kReadOnly ? LOCK_SH : LOCK_EX;
  const auto start = std::chrono::steady_clock::now();
  std::optional<int> holder;
  for (;;) {
    if (retry([&] { return flock(fd(), kind | LOCK_NB); }) == 0) return {};
    if (errno != EWOULDBLOCK) return os_error(errno, name_ + ": cannot lock");
    holder = lock_holder(fd());
    const bool gone = !holder.has_value() || (kill(*holder, 0) != 0 && errno == ESRCH);
    const auto patience = holder.has_value() ? kPatience : kPatienceWithNobody;
    if (!gone || std::chrono::steady_clock::now() - start >= patience) break;
    std::this_thread::sleep_for(kStep);
  }
  return Error{ErrorCode::kBusy, name_ + locked_by(holder), "Close the store there first."};
}

Status FileDevice::claim() {
  const std::string path(disk_of(name_));
  claim_ = Fd(retry([&] { return ::open(path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC); }));
  if (claim_.valid()) {
    // A link may have been given another target in between.
    struct stat claimed = {};
    struct stat opened = {};
    const bool same = fstat(claim_.get(), &claimed) == 0 && fstat(fd(), &opened) == 0 &&
                      claimed.st_rdev == opened.st_rdev && S_ISBLK(claimed.st_mode);
    if (same) return {};
    return Error{ErrorCode::kUnavailable, name_ + " leads to another device than a moment ago",
                 "Try again when the names of devices have settled."};
  }
  if (errno == EBUSY) {
    return Error{ErrorCode::kBusy, name_ + " is in use by the system (mounted, swap or an array)",
                 "Unmount it, or name another device."};
  }
  return os_error(errno, name_ + ": cannot claim");
}

// Who only reads needs none: what another machine has refuses reads, too.
Status FileDevice::reserve() {
  return mode_ == OpenMode::kReadWrite ? reserve_disk(fd(), name_) : find_disk_free(fd(), name_);
}

Result<std::optional<Holder>> FileDevice::holder(const std::string& path) {
  const Result<Fd> fd = open_locked(path);
  if (fd.ok()) return reservation_holder(fd->get(), path);
  if (fd.error().code != ErrorCode::kBusy) return fd.error();
  return std::optional<Holder>({fd.error().message, false});
}

Status FileDevice::shut_out(const std::string& path) {
  HEXAD_TRY_ASSIGN(const Fd fd, open_locked(path));
  return preempt_disk(fd.get(), path);
}

Status FileDevice::join_flush_domain(dev_t file_system, dev_t block_device) {
  if (block_device_) {
    geometry_.flush_domain = block_device_flush_domain(block_device);
    return {};
  }
  const std::uint64_t domain = file_flush_domain(file_system);
  if (domain == 0 || read_only()) {
    geometry_.flush_domain = domain;
    return {};
  }
  HEXAD_TRY_ASSIGN(const auto unwritten, find_unwritten(fd(), geometry_.size, name_));
  if (!unwritten.has_value()) return {};
  unwritten_ = std::make_unique<UnwrittenRanges>();
  for (const FileRange& range : *unwritten) unwritten_->add(range);
  geometry_.flush_domain = domain;
  return {};
}

void FileDevice::submitting(IoRequest& request) {
  if (unwritten_ == nullptr) return;
  switch (request.op) {
    case IoOp::kWrite:
      if (request.mode == WriteMode::kShared &&
          unwritten_->touches({request.offset, request.length})) {
        request.mode = WriteMode::kDurable;
      }
      break;
    case IoOp::kFlush:
      request.ticket = unwritten_->begin_flush();
      break;
    case IoOp::kDiscard:
      unwritten_->add({request.offset, request.length});
      break;
    case IoOp::kRead:
      break;
  }
}

void FileDevice::settled(const IoRequest& request) {
  if (unwritten_ == nullptr) return;
  if (request.op == IoOp::kFlush) {
    if (request.status.ok()) {
      unwritten_->complete_flush(request.ticket);
    } else {
      unwritten_->fail_flush();
    }
  } else if (request.op == IoOp::kWrite && request.status.ok()) {
    const FileRange range{request.offset, request.length};
    if (request.mode == WriteMode::kDurable) {
      unwritten_->written(range);
    } else {
      unwritten_->written_in_cache(range);
    }
  }
}

Status FileDevice::grow(std::uint64_t new_size) {
  if (read_only()) return Error{ErrorCode::kReadOnly, name_ + " is open for reading only", ""};
  if (block_device_) {
    return Error{ErrorCode::kUnsupported, name_ + " is a block device and has the size it has", ""};
  }
  if (new_size < geometry_.size || !is_multiple(new_size, geometry_.logical_block) ||
      new_size > std::uint64_t{LLONG_MAX}) {
    return Error{ErrorCode::kInvalidArgument,
                 name_ + ": cannot grow from " + std::to_string(geometry_.size) + " to " +
                     std::to_string(new_size) + " bytes",
                 "Sizes only grow, in whole blocks of " + format_size(geometry_.logical_block)};
  }
  const Call call(*this);
  HEXAD_TRY(call.may_begin());
  HEXAD_TRY(preallocate(fd(), name_, geometry_.size, new_size));
  if (unwritten_ != nullptr) unwritten_->add({geometry_.size, new_size - geometry_.size});
  geometry_.size = new_size;
  return {};
}

Result<Device::Room> FileDevice::reserve_room(std::uint64_t offset, std::uint64_t length) {
  if (block_device_ || read_only()) return Room::kSure;
  const Call call(*this);
  HEXAD_TRY(call.may_begin());
  HEXAD_TRY_ASSIGN(const Reserved reserved, reserve_range(fd(), name_, offset, offset + length));
  return reserved == Reserved::kAll ? Room::kSure : Room::kNotPromised;
}

Error request_error(const IoRequest& request, int number) {
  // A reservation of somebody else's (PR2).
  if (number == EBADE && is_reserved_path(request.device->name())) {
    return fenced_error(subject_of(request));
  }
  return os_error(number, subject_of(request));
}

bool is_refused_discard(int number) { return number == EOPNOTSUPP || number == EBUSY; }

bool flushes_apart(const IoRequest& request) {
  return request.op == IoOp::kWrite && request.mode == WriteMode::kDurable &&
         !request.device->direct();
}

Error own_flush_error(const IoRequest& request, int number) {
  const Error error = request_error(request, number);
  return Error{ErrorCode::kIo, error.message + ", by its flush", error.hint};
}

Error short_request_error(const IoRequest& request, std::uint64_t transferred) {
  return Error{ErrorCode::kIo,
               subject_of(request) + ": only " + format_size(transferred) + " are there",
               "The file or device has become shorter since it was opened."};
}

}  // namespace hexad::io
