// Devices that store no zero blocks: files of which only blocks that hold something else take
// space. For pools of more objects than a disk has room for: where the objects' bytes are zeros, so
// are their cells and the parity of those, and what is left (labels, log, footers, runs) is stored,
// read and verified as ever. The files are ordinary ones: who opens them otherwise reads the same.
//
// Blocks of 4 KiB; a write is cut into runs of zeros and of others. Zeros over a hole are not
// written; over anything else a hole is made, or they are written where the file system has none.
// Nothing is reserved below such a device and nothing is written ahead, so it may come to lack
// space, as a full disk does.
//
// Each device has a thread for its writes and flushes, which go to the file in the order in which
// they were submitted, whole, without the page cache where that is possible. A read is executed by
// the thread that asks for it, so limits of time (IoQueue::run_for()) do not hold for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/system.h"

namespace hexad::tools {

// What has been asked of all devices of a system, bytes. Any thread.
struct SparseTraffic {
  std::atomic<std::uint64_t> written{0};  // to files
  std::atomic<std::uint64_t> skipped{0};  // zeros where nothing was
  std::atomic<std::uint64_t> punched{0};  // zeros where something was
};

// The operating system, with such devices in place of its own; other devices than files are
// refused. Outlives the devices that it opened. Any thread.
class SparseSystem final : public io::System {
 public:
  // Errors: those of io::make_real_system().
  static Result<std::unique_ptr<SparseSystem>> make();
  ~SparseSystem() override;

  io::Executor& executor() override { return real_->executor(); }
  io::Clock& clock() override { return real_->clock(); }
  io::IoQueue& queue() override { return real_->queue(); }
  std::uint64_t draw_seed() override { return real_->draw_seed(); }

  // Errors: as io::System has them; kInvalidArgument (no regular file).
  Result<std::unique_ptr<io::Device>> open_device(const std::string& path,
                                                  io::OpenMode mode) override;
  // Takes no space.
  Result<std::unique_ptr<io::Device>> create_device(const std::string& path,
                                                    std::uint64_t size) override;
  Result<std::vector<std::string>> make_directory(const std::string& path) override {
    return real_->make_directory(path);
  }
  Status remove_directory(const std::string& path) override {
    return real_->remove_directory(path);
  }
  Status remove_created(const std::string& path) override { return real_->remove_created(path); }

  const SparseTraffic& traffic() const { return traffic_; }

 private:
  explicit SparseSystem(std::unique_ptr<io::System> real);

  const std::unique_ptr<io::System> real_;
  SparseTraffic traffic_;
};

}  // namespace hexad::tools
