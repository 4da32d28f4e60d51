// Two devices of a system, for the contract suite.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/units.h"
#include "io/system.h"
#include "tests/io/device_contract.h"

namespace hexad::io::testing {

template <typename AnySystem>
class SystemWorld : public World {
 public:
  template <typename Options>
  explicit SystemWorld(Options options) : system_(std::move(options)) {
    for (int i = 0; i < 2; ++i) {
      devices_[i] = system_.create_device(std::to_string(i), 8_MiB).value();
    }
  }
  Device& device(int index) override { return *devices_[index]; }
  void reopen(int index) override {
    devices_[index].reset();
    devices_[index] = system_.open_device(std::to_string(index), OpenMode::kReadWrite).value();
  }
  Executor& executor() override { return system_.executor(); }

 protected:
  AnySystem system_;

 private:
  std::unique_ptr<Device> devices_[2];
};

}  // namespace hexad::io::testing
