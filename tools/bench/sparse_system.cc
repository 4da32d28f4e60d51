#include "tools/bench/sparse_system.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <span>
#include <utility>

#include "base/units.h"
#include "io/device_path.h"
#include "io/os/file_geometry.h"
#include "io/os_error.h"
#include "io/request_subject.h"
#include "io/starter.h"
#include "tools/cli/file.h"

namespace hexad::tools {

namespace {

constexpr std::uint32_t kBlock = 4096;  // bytes
constexpr int kOpenFlags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

template <typename Call>
auto retry(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// With O_DIRECT where the file system allows it.
Fd open_file(const std::string& path, int access, bool& direct) {
  direct = true;
  Fd fd(retry([&] { return ::open(path.c_str(), access | kOpenFlags | O_DIRECT); }));
  if (fd.valid() || errno != EINVAL) return fd;
  direct = false;
  return Fd(retry([&] { return ::open(path.c_str(), access | kOpenFlags); }));
}

class SparseFile final : public io::Device, private io::Starter {
 public:
  static Result<std::unique_ptr<io::Device>> adopt(const std::string& path, Fd fd, bool direct,
                                                   io::OpenMode mode, io::System& system,
                                                   SparseTraffic& traffic) {
    std::unique_ptr<SparseFile> device(new SparseFile(path, direct, mode, system, traffic));
    device->fd_ = std::move(fd);
    HEXAD_TRY(device->begin(system.executor()));
    return std::unique_ptr<io::Device>(std::move(device));
  }

  ~SparseFile() override {
    {
      const io::Lock lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    if (thread_ != nullptr) thread_->join();
  }

  const io::Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  io::IoQueue& queue() override { return queue_; }
  bool direct() const override { return direct_; }
  bool read_only() const override { return mode_ != io::OpenMode::kReadWrite; }
  io::Starter* starter() override { return this; }
  // That a file may come to lack space is what it is for.
  Result<Room> reserve_room(std::uint64_t, std::uint64_t) override { return Room::kSure; }

  Status grow(std::uint64_t new_size) override {
    if (read_only()) return Error{ErrorCode::kReadOnly, name_ + " is open for reading only", ""};
    if (new_size < geometry_.size || !is_multiple(new_size, kBlock) ||
        new_size > std::uint64_t{LLONG_MAX}) {
      return Error{ErrorCode::kInvalidArgument,
                   name_ + ": cannot grow from " + std::to_string(geometry_.size) + " to " +
                       std::to_string(new_size) + " bytes",
                   "Sizes only grow, in whole blocks of " + format_size(kBlock)};
    }
    const Call call(*this);
    HEXAD_TRY(call.may_begin());
    if (retry([&] { return ftruncate(fd_.get(), static_cast<off_t>(new_size)); }) != 0) {
      return io::os_error(errno, name_ + ": cannot grow to " + format_size(new_size));
    }
    geometry_.size = new_size;
    return {};
  }

 private:
  struct Started {
    io::IoRequest request;
    Answer answer;
  };

  SparseFile(std::string name, bool direct, io::OpenMode mode, io::System& system,
             SparseTraffic& traffic)
      : name_(std::move(name)),
        direct_(direct),
        mode_(mode),
        queue_(system.queue()),
        traffic_(traffic),
        mutex_(system.executor()),
        changed_(system.executor()) {}

  Status begin(io::Executor& executor) {
    struct stat status = {};
    if (fstat(fd_.get(), &status) != 0) return io::os_error(errno, name_);
    if (!S_ISREG(status.st_mode)) {
      return Error{ErrorCode::kInvalidArgument, name_ + " is not a regular file",
                   "Name a regular file."};
    }
    HEXAD_TRY(lock());
    geometry_.size = round_down(static_cast<std::uint64_t>(status.st_size), kBlock);
    geometry_.logical_block = kBlock;
    geometry_.physical_block = kBlock;
    HEXAD_TRY_ASSIGN(thread_, executor.try_start("sparse", [this] { serve(); }));
    return {};
  }

  Status lock() {
    if (mode_ == io::OpenMode::kLook) return {};
    const int kind = mode_ == io::OpenMode::kReadOnly ? LOCK_SH : LOCK_EX;
    if (retry([&] { return flock(fd_.get(), kind | LOCK_NB); }) == 0) return {};
    if (errno != EWOULDBLOCK) return io::os_error(errno, name_ + ": cannot lock");
    return Error{ErrorCode::kBusy, name_ + io::locked_by(io::lock_holder(fd_.get())),
                 "Close the store there first."};
  }

  // Nothing is under way. The lock goes with the file.
  void release() override { fd_ = Fd(); }

  void start(std::span<const io::IoRequest> row, Answer answer) override {
    const io::IoRequest& request = row.front();  // longest_row() is 0: the only one
    if (request.op == io::IoOp::kRead) {
      answer(read(request));
      return;
    }
    const io::Lock lock(mutex_);
    started_.push_back({request, std::move(answer)});
    changed_.notify_one();
  }

  void serve() {
    io::Lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return over_ || !started_.empty(); });
      if (started_.empty()) return;
      Started next = std::move(started_.front());
      started_.pop_front();
      lock.unlock();
      next.answer(execute(next.request));
      lock.lock();
    }
  }

  Status execute(const io::IoRequest& request) {
    switch (request.op) {
      case io::IoOp::kRead:
        return read(request);
      case io::IoOp::kWrite:
        return write(request);
      case io::IoOp::kFlush:
        return read_only() ? Status() : sync(request);
      case io::IoOp::kDiscard: {
        HEXAD_TRY_ASSIGN(const bool made, make_hole(request, request.offset, request.length));
        static_cast<void>(made);  // D7
        return {};
      }
    }
    return {};
  }

  Status read(const io::IoRequest& request) {
    for (std::uint64_t moved = 0; moved < request.length;) {
      const ssize_t count = retry([&] {
        return pread(fd_.get(), request.data + moved, request.length - moved,
                     static_cast<off_t>(request.offset + moved));
      });
      if (count < 0) return io::os_error(errno, io::subject_of(request));
      if (count == 0) return too_short(request, moved);
      moved += static_cast<std::uint64_t>(count);
    }
    return {};
  }

  // In runs of zeros and of other blocks.
  Status write(const io::IoRequest& request) {
    const ByteView bytes(request.data, request.length);
    for (std::uint64_t at = 0; at < bytes.size();) {
      const bool zeros = is_zero(bytes.subspan(at, kBlock));
      std::uint64_t length = kBlock;
      while (at + length < bytes.size() && is_zero(bytes.subspan(at + length, kBlock)) == zeros) {
        length += kBlock;
      }
      HEXAD_TRY(zeros ? clear(request, at, length) : store(request, at, length));
      at += length;
    }
    return request.mode == io::WriteMode::kCached ? Status() : sync(request);
  }

  // `at` and `length` in the request, here and below.
  Status store(const io::IoRequest& request, std::uint64_t at, std::uint64_t length) {
    for (std::uint64_t moved = 0; moved < length;) {
      const ssize_t count = retry([&] {
        return pwrite(fd_.get(), request.data + at + moved, length - moved,
                      static_cast<off_t>(request.offset + at + moved));
      });
      if (count < 0) return io::os_error(errno, io::subject_of(request));
      if (count == 0) return too_short(request, at + moved);
      moved += static_cast<std::uint64_t>(count);
    }
    traffic_.written += length;
    return {};
  }

  Status clear(const io::IoRequest& request, std::uint64_t at, std::uint64_t length) {
    const std::uint64_t offset = request.offset + at;
    const off_t data = lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
    const bool none =
        data < 0 ? errno == ENXIO : static_cast<std::uint64_t>(data) >= offset + length;
    if (none) {
      traffic_.skipped += length;
      return {};
    }
    HEXAD_TRY_ASSIGN(const bool made, make_hole(request, offset, length));
    if (!made) return store(request, at, length);
    traffic_.punched += length;
    return {};
  }

  // Of the device. False: the file system makes none.
  Result<bool> make_hole(const io::IoRequest& request, std::uint64_t offset, std::uint64_t length) {
    const int rc = retry([&] {
      return fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(offset), static_cast<off_t>(length));
    });
    if (rc == 0) return true;
    if (errno == EOPNOTSUPP) return false;
    return io::os_error(errno, io::subject_of(request));
  }

  Status sync(const io::IoRequest& request) {
    if (retry([&] { return fdatasync(fd_.get()); }) == 0) return {};
    // Whatever it was, bytes may be lost.
    const Error error = io::os_error(errno, io::subject_of(request));
    return Error{ErrorCode::kIo, error.message, error.hint};
  }

  static Status too_short(const io::IoRequest& request, std::uint64_t moved) {
    return Error{ErrorCode::kIo,
                 io::subject_of(request) + ": only " + format_size(moved) + " are there",
                 "The file has become shorter since it was opened."};
  }

  const std::string name_;
  const bool direct_;
  const io::OpenMode mode_;
  io::IoQueue& queue_;
  SparseTraffic& traffic_;
  Fd fd_;
  io::Geometry geometry_;
  io::Mutex mutex_;
  io::CondVar changed_;
  std::deque<Started> started_;  // guarded by mutex_
  bool over_ = false;            // guarded by mutex_
  std::unique_ptr<io::Thread> thread_;
};

}  // namespace

SparseSystem::SparseSystem(std::unique_ptr<io::System> real) : real_(std::move(real)) {}
SparseSystem::~SparseSystem() = default;

Result<std::unique_ptr<SparseSystem>> SparseSystem::make() {
  HEXAD_TRY_ASSIGN(std::unique_ptr<io::System> real, io::make_real_system());
  return std::unique_ptr<SparseSystem>(new SparseSystem(std::move(real)));
}

Result<std::unique_ptr<io::Device>> SparseSystem::open_device(const std::string& path,
                                                              io::OpenMode mode) {
  if (io::is_rbd_path(path)) {
    return Error{ErrorCode::kInvalidArgument, path + " is not a regular file",
                 "Name a regular file."};
  }
  bool direct = false;
  Fd fd = open_file(path, mode == io::OpenMode::kReadWrite ? O_RDWR : O_RDONLY, direct);
  if (!fd.valid()) return io::os_error(errno, "cannot open " + path);
  return SparseFile::adopt(path, std::move(fd), direct, mode, *this, traffic_);
}

Result<std::unique_ptr<io::Device>> SparseSystem::create_device(const std::string& path,
                                                                std::uint64_t size) {
  if (io::is_rbd_path(path) || size == 0 || !is_multiple(size, kBlock) ||
      size > std::uint64_t{LLONG_MAX}) {
    return Error{ErrorCode::kInvalidArgument,
                 path + ": a device of " + std::to_string(size) + " bytes cannot be made",
                 "Name a file, and choose a positive multiple of 4 KiB."};
  }
  const auto grown = [&]() -> Result<std::unique_ptr<io::Device>> {
    HEXAD_TRY_ASSIGN(std::unique_ptr<io::Device> device,
                     open_device(path, io::OpenMode::kReadWrite));
    if (device->geometry().size < size) HEXAD_TRY(device->grow(size));
    HEXAD_TRY(device->flush());
    return device;
  };
  const Fd fd(
      retry([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kOpenFlags, 0600); }));
  if (!fd.valid() && errno != EEXIST) return io::os_error(errno, "cannot open " + path);
  Result<std::unique_ptr<io::Device>> device = grown();
  if (!device.ok() && fd.valid()) unlink(path.c_str());
  return device;
}

}  // namespace hexad::tools
