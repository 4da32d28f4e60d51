// Two files on one queue, for the contract suite.
#pragma once

#include <memory>
#include <string>

#include "base/units.h"
#include "io/os/file_device.h"
#include "tests/io/device_contract.h"
#include "tests/io/temporary.h"

namespace hexad::io::testing {

using QueueMaker = std::unique_ptr<FileQueue> (*)();

class FileWorld final : public World {
 public:
  FileWorld(QueueMaker make, Caching caching) : caching_(caching), queue_(make()) {
    for (int i = 0; i < 2; ++i) {
      devices_[i] = FileDevice::create(path(i), 8_MiB, *queue_, caching_).value();
    }
  }
  Device& device(int index) override { return *devices_[index]; }
  void reopen(int index) override {
    devices_[index].reset();
    devices_[index] =
        FileDevice::open(path(index), OpenMode::kReadWrite, *queue_, caching_).value();
  }
  Executor& executor() override { return *executor_; }

 private:
  std::string path(int index) const { return directory_.path(std::to_string(index)); }

  TemporaryDirectory directory_;
  const Caching caching_;
  std::unique_ptr<Executor> executor_ = make_thread_executor(2);
  std::unique_ptr<FileQueue> queue_;
  std::unique_ptr<FileDevice> devices_[2];
};

}  // namespace hexad::io::testing
