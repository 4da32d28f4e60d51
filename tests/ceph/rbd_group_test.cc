// Snapshots of several images, as of one moment, while they are written.
#include "io/rbd/rbd_group.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "tests/ceph/ceph_images.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::ceph_conf;
using hexad::io::testing::CephImages;

namespace {

std::uint64_t number_in(Device& device) {
  AlignedBuffer block(4_KiB);
  REQUIRE(device.read(0, {block.data(), 4_KiB}).ok());
  std::uint64_t number = 0;
  std::memcpy(&number, block.data(), sizeof(number));
  return number;
}

}  // namespace

TEST_CASE("rbd_group: a write that rests on another is in no snapshot without that") {  // SG1
  CephImages images;
  const std::vector<std::string> paths = {images.address("a"), images.address("b")};
  const std::string group = "group-" + std::to_string(getpid());
  const auto system = make_real_system().value();
  std::vector<std::unique_ptr<Device>> devices;
  for (const std::string& path : paths) {
    devices.push_back(system->create_device(path, 8_MiB).value());
  }
  std::atomic<bool> ending = false;
  std::atomic<bool> failed = false;
  std::atomic<std::uint64_t> last = 0;
  std::thread writer([&] {  // each number goes to a, and then to b
    AlignedBuffer block(4_KiB);
    std::memset(block.data(), 0, 4_KiB);
    for (std::uint64_t number = 1; !ending && !failed; ++number) {
      std::memcpy(block.data(), &number, sizeof(number));
      for (const auto& device : devices) {
        if (!device->write(0, {block.data(), 4_KiB}).ok()) failed = true;
      }
      last = number;
    }
  });
  std::vector<std::uint64_t> before;
  std::vector<std::string> problems;
  for (const char* name : {"one", "two", "three"}) {
    before.push_back(last);
    const auto taken = take_group_snapshot(paths, name, group);
    if (!taken.ok()) problems.push_back(taken.error().to_string());
  }
  ending = true;
  writer.join();
  CHECK(problems == std::vector<std::string>());
  CHECK_FALSE(failed);
  std::size_t round = 0;
  for (const char* name : {"one", "two", "three"}) {
    const std::string path = "rbd:log/" + group + "@" + name + "?conf=" + ceph_conf();
    std::vector<std::string> found = images_of_group(path).value();
    REQUIRE(found.size() == 2);
    std::sort(found.begin(), found.end());  // a first
    std::vector<std::uint64_t> numbers;
    for (const std::string& one : found) {
      numbers.push_back(number_in(*system->open_device(one, OpenMode::kReadOnly).value()));
    }
    CAPTURE(name, numbers[0], numbers[1], found[0]);
    CHECK(numbers[1] >= before[round++]);
    CHECK(numbers[0] >= numbers[1]);
    CHECK(numbers[0] <= numbers[1] + 1);
  }
  devices.clear();
  for (const char* name : {"one", "two", "three"}) {
    CHECK(remove_group_snapshot(paths, name).ok());
  }
  const std::string command = "rbd --conf " + ceph_conf() + " group rm log/" + group;
  CHECK(std::system(command.c_str()) == 0);
}
