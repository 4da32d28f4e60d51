#include "io/memory_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/units.h"

namespace hexad::io {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kManyZeros = 1 << 20;  // bytes; so many are worth a system call

Error refused(std::uint64_t size) {
  return Error{ErrorCode::kNoSpace,
               "memory device: " + format_size(size) + " of address space refused",
               "Make the device smaller or raise the limit (ulimit -v)."};
}

class MemoryDevice final : public Device {
 public:
  MemoryDevice(std::string name, std::shared_ptr<MemoryMedia> media, OpenMode mode,
               MemoryBlocks blocks, IoQueue& queue)
      : name_(std::move(name)), media_(std::move(media)), mode_(mode), queue_(queue) {
    geometry_.size = media_->size();
    geometry_.logical_block = blocks.logical;
    geometry_.physical_block = blocks.physical;
    geometry_.volatile_cache = false;
  }
  ~MemoryDevice() override { unlock(); }

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  IoQueue& queue() override { return queue_; }
  bool direct() const override { return true; }
  bool in_memory() const override { return true; }
  bool read_only() const override { return mode_ != OpenMode::kReadWrite; }

  Status grow(std::uint64_t new_size) override {
    if (read_only()) return Error{ErrorCode::kReadOnly, name_ + " is open for reading only", ""};
    if (new_size < geometry_.size || !is_multiple(new_size, geometry_.logical_block)) {
      return Error{ErrorCode::kInvalidArgument,
                   name_ + ": cannot grow from " + std::to_string(geometry_.size) + " to " +
                       std::to_string(new_size) + " bytes",
                   "Sizes only grow, in whole blocks of " + format_size(geometry_.logical_block)};
    }
    HEXAD_TRY(media_->grow(new_size));
    geometry_.size = new_size;
    return {};
  }

  void run(const IoRequest& request) {
    switch (request.op) {
      case IoOp::kRead:
        return media_->read(request.offset, {request.data, request.length});
      case IoOp::kWrite:
        return media_->write(request.offset, {request.data, request.length});
      case IoOp::kDiscard:
        return media_->discard(request.offset, request.length);
      case IoOp::kFlush:
        return;
    }
  }

 private:
  void release() override { unlock(); }
  void unlock() {
    if (std::exchange(locked_, false)) media_->unlock(mode_);
  }

  const std::string name_;
  const std::shared_ptr<MemoryMedia> media_;
  const OpenMode mode_;
  IoQueue& queue_;
  bool locked_ = true;
  Geometry geometry_;
};

class MemoryQueue final : public IoQueue {
 public:
  void wait(IoBatch& batch) override { HEXAD_ASSERT(batch.complete()); }
  std::string name() const override { return "memory"; }

 protected:
  void submit_requests(IoBatch& batch) override {
    const std::size_t count = batch.requests.size();
    for (IoRequest& request : batch.requests) {
      request.status = check(request);
      if (request.status.ok()) static_cast<MemoryDevice*>(request.device)->run(request);
    }
    // The batch may be gone after the last one, so its vector is not looked at here.
    for (std::size_t i = 0; i < count; ++i) finish(batch);
  }
};

}  // namespace

Result<std::shared_ptr<MemoryMedia>> MemoryMedia::create(std::uint64_t size) {
  void* data = mmap(nullptr, std::max(size, kPage), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return refused(size);
  return std::shared_ptr<MemoryMedia>(new MemoryMedia(static_cast<std::byte*>(data), size));
}

MemoryMedia::~MemoryMedia() { munmap(data_, std::max(size_, kPage)); }

std::uint64_t MemoryMedia::size() const {
  const std::shared_lock lock(mutex_);
  return size_;
}

void MemoryMedia::read(std::uint64_t offset, MutByteView into) const {
  const std::shared_lock lock(mutex_);
  copy_bytes(into, {data_ + offset, into.size()});
}

void MemoryMedia::write(std::uint64_t offset, ByteView from) {
  const std::shared_lock lock(mutex_);
  if (from.size() >= kManyZeros && is_zero(from)) return clear(offset, from.size());
  copy_bytes({data_ + offset, from.size()}, from);
}

void MemoryMedia::discard(std::uint64_t offset, std::uint64_t length) {
  const std::shared_lock lock(mutex_);
  clear(offset, length);
}

void MemoryMedia::clear(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  const std::uint64_t first_page = std::min(round_up(offset, kPage), end);
  const std::uint64_t last_page = std::max(round_down(end, kPage), first_page);
  fill_zero({data_ + offset, first_page - offset});
  fill_zero({data_ + last_page, end - last_page});
  if (last_page > first_page) {
    const int rc = madvise(data_ + first_page, last_page - first_page, MADV_DONTNEED);
    HEXAD_ASSERT(rc == 0);
  }
}

Status MemoryMedia::grow(std::uint64_t new_size) {
  const std::unique_lock lock(mutex_);
  void* moved = mremap(data_, std::max(size_, kPage), std::max(new_size, kPage), MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) return refused(new_size);
  data_ = static_cast<std::byte*>(moved);
  size_ = new_size;
  return {};
}

bool MemoryMedia::try_lock(OpenMode mode) {
  if (mode == OpenMode::kLook) return true;
  const std::unique_lock lock(mutex_);
  if (writer_ || (mode == OpenMode::kReadWrite && readers_ > 0)) return false;
  if (mode == OpenMode::kReadWrite) {
    writer_ = true;
  } else {
    ++readers_;
  }
  return true;
}

void MemoryMedia::unlock(OpenMode mode) {
  if (mode == OpenMode::kLook) return;
  const std::unique_lock lock(mutex_);
  if (mode == OpenMode::kReadWrite) {
    writer_ = false;
  } else {
    --readers_;
  }
}

std::unique_ptr<IoQueue> make_memory_queue() { return std::make_unique<MemoryQueue>(); }

Result<std::unique_ptr<Device>> open_memory_device(std::string name,
                                                   std::shared_ptr<MemoryMedia> media,
                                                   OpenMode mode, MemoryBlocks blocks,
                                                   IoQueue& queue) {
  if (!media->try_lock(mode)) {
    return Error{ErrorCode::kBusy, name + " is open already, in this process", "Close it first."};
  }
  return std::unique_ptr<Device>(
      std::make_unique<MemoryDevice>(std::move(name), std::move(media), mode, blocks, queue));
}

Result<std::unique_ptr<Device>> make_memory_device(std::string name, std::uint64_t size,
                                                   IoQueue& queue, MemoryBlocks blocks) {
  HEXAD_TRY_ASSIGN(std::shared_ptr<MemoryMedia> media, MemoryMedia::create(size));
  return open_memory_device(std::move(name), std::move(media), OpenMode::kReadWrite, blocks, queue);
}

}  // namespace hexad::io
