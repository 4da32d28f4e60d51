#include "tools/demo/uneven_drives.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "tests/io/device_contract.h"
#include "tests/io/temporary.h"

namespace hexad::tools::demo {
namespace {

class UnevenWorld final : public io::testing::World {
 public:
  UnevenWorld() {
    for (int i = 0; i < 2; ++i) devices_[i] = system_->create_device(path(i), 8_MiB).value();
  }
  io::Device& device(int index) override { return *devices_[index]; }
  void reopen(int index) override {
    devices_[index].reset();
    devices_[index] = system_->open_device(path(index), io::OpenMode::kReadWrite).value();
  }
  io::Executor& executor() override { return system_->executor(); }

 private:
  std::string path(int index) const { return directory_.path(std::to_string(index)); }

  io::testing::TemporaryDirectory directory_;
  std::unique_ptr<io::System> system_ = make_uneven_drives().value();
  std::unique_ptr<io::Device> devices_[2];
};

TEST_CASE("uneven_drives: they keep the contract of devices") {
  io::testing::run_device_contract([] { return std::make_unique<UnevenWorld>(); });
}

}  // namespace
}  // namespace hexad::tools::demo
