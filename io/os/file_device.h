// Regular files and raw block devices as io::Device, and what the two queues that serve them
// (io/os/uring_queue.h, io/os/thread_queue.h) have in common.
//
// A file is opened with O_DIRECT where the file system allows it, else through the page cache. It
// is locked with flock(2) while open, alone for writing and shared for reading; the kernel's list
// of locks then names the holder's process. A block device opened for writing is claimed as well
// (O_EXCL), which the kernel refuses while it is mounted or part of an array. One that is named as
// reserved is reserved for this machine then (io/os/reservation.h).
//
// A file in a shared flush domain (io/os/flush_domain.h) knows which of its ranges were never
// written and makes kShared writes to them durable by themselves. Nobody else may change where its
// blocks lie while it is open: by defragmenting it, say, or by a copy that shares them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "io/device.h"
#include "io/fork_mark.h"
#include "io/os/starter_queue.h"
#include "io/os/unwritten_ranges.h"
#include "io/system.h"

namespace hexad::io {

// A queue that serves file descriptors, and starters. The descriptor of a device is announced to it
// for as long as the device is open, so that the kernel may keep a reference ready.
class FileQueue : public StarterQueue {
 protected:
  // That of the executor's clock.
  static Nanos steady_now();

 public:
  // The index by which requests may name `fd`, or -1 when only the descriptor itself serves.
  // Errors: the system refuses what the queue needs for it.
  virtual Result<int> attach(int fd) = 0;
  // Precondition: nothing of this descriptor is in flight.
  virtual void detach(int index) = 0;
};

enum class Caching : std::uint8_t {
  kDirectIfPossible,  // O_DIRECT, or the page cache where that is refused
  kBuffered,          // the page cache, for tests of that case
};

// A file descriptor that is closed with its owner; -1 is none.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

class FileDevice final : public Device {
 public:
  // Errors: as System::open_device. `queue` outlives the device.
  static Result<std::unique_ptr<FileDevice>> open(const std::string& path, OpenMode mode,
                                                  FileQueue& queue,
                                                  Caching caching = Caching::kDirectIfPossible);
  // As System::create_device. When it fails, no new file stays behind.
  static Result<std::unique_ptr<FileDevice>> create(const std::string& path, std::uint64_t size,
                                                    FileQueue& queue,
                                                    Caching caching = Caching::kDirectIfPossible);
  ~FileDevice() override;
  // As those of System, for a disk that is named as reserved.
  static Result<std::optional<Holder>> holder(const std::string& path);
  static Status shut_out(const std::string& path);

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  IoQueue& queue() override { return queue_; }
  Status grow(std::uint64_t new_size) override;
  bool direct() const override { return direct_; }
  bool in_memory() const override { return in_memory_; }
  bool read_only() const override { return mode_ != OpenMode::kReadWrite; }
  // What lies below a block device is nobody's to see: it counts as sure.
  Result<Room> reserve_room(std::uint64_t offset, std::uint64_t length) override;

  // For the queues. Of one that has been released: none, and -1.
  int fd() const { return fd_.get(); }
  int queue_index() const { return queue_index_.load(std::memory_order_relaxed); }
  // What still needs a first write; null where the device does not keep account of that.
  const UnwrittenRanges* unwritten() const { return unwritten_.get(); }

 private:
  FileDevice(std::string name, OpenMode mode, FileQueue& queue)
      : name_(std::move(name)), mode_(mode), queue_(queue) {}
  static Result<std::unique_ptr<FileDevice>> adopt(const std::string& path, Fd fd, OpenMode mode,
                                                   FileQueue& queue, Caching caching);
  Status lock();
  Status claim();
  // Of a disk that is named as reserved.
  Status reserve();
  Status join_flush_domain(dev_t file_system, dev_t block_device);
  void submitting(IoRequest& request) override;
  void settled(const IoRequest& request) override;
  void release() override;

  const std::string name_;
  const OpenMode mode_;
  FileQueue& queue_;
  ForkMark process_;  // whose lock it is
  Fd fd_;
  Fd claim_;  // holds the claim on a block device; apart from fd_, which the ring may hold longer
  Geometry geometry_;
  bool direct_ = false;
  bool block_device_ = false;
  bool in_memory_ = false;
  std::atomic<int> queue_index_{-1};
  std::unique_ptr<UnwrittenRanges> unwritten_;  // of files in a shared domain
};

// The error of a request whose system call failed with `number`, a positive errno value.
Error request_error(const IoRequest& request, int number);
// True when a discard that failed with `number` did nothing and may count as done (D7): the device
// cannot discard; or not now, because another program has a page of a block device in the page
// cache that is dirty or in use (a probe of its partitions is enough).
bool is_refused_discard(int number);
// The error of a request at whose place the file or device has no bytes.
// A durable write whose bytes are in the page cache first. What writing them back has failed with
// comes with the next flush, whoever asks for it, and once: so its own flush is one of its own,
// that no error of it passes for one of the write, which could be made good by another attempt
// (R11).
bool flushes_apart(const IoRequest& request);
// Of that flush. Never anything but kIo: whatever it was, bytes may be lost.
Error own_flush_error(const IoRequest& request, int number);
Error short_request_error(const IoRequest& request, std::uint64_t transferred);

}  // namespace hexad::io
