#include "io/rbd/rbd_device.h"

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "tests/ceph/ceph_images.h"
#include "tests/io/device_contract.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::ceph_conf;
using hexad::io::testing::CephImages;
using hexad::io::testing::pattern;
using hexad::io::testing::TemporaryDirectory;

namespace {

std::string why(const Status& status) { return status.ok() ? "" : status.error().to_string(); }

// Two images, or an image and a file.
class RbdWorld final : public io::testing::World {
 public:
  enum class Beside { kImage, kFile };
  RbdWorld(QueueKind kind, Beside beside, const std::string& pool = "log",
           const std::string& more = "")
      : images_(pool, more),
        paths_{images_.address("a"),
               beside == Beside::kImage ? images_.address("b") : directory_.path("b")},
        system_(make_real_system(kind).value()) {
    for (int i = 0; i < 2; ++i) devices_[i] = system_->create_device(paths_[i], 8_MiB).value();
  }
  Device& device(int index) override { return *devices_[index]; }
  void reopen(int index) override {
    devices_[index].reset();
    devices_[index] = system_->open_device(paths_[index], OpenMode::kReadWrite).value();
  }
  Executor& executor() override { return system_->executor(); }

 private:
  TemporaryDirectory directory_;
  CephImages images_;
  const std::string paths_[2];
  std::unique_ptr<System> system_;
  std::unique_ptr<Device> devices_[2];
};

// A program of Ceph's, whose output is not looked at.
void ceph(const std::string& command) {
  CAPTURE(command);
  const int status = std::system((command + " --conf " + ceph_conf() + " >/dev/null").c_str());
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
}

}  // namespace

TEST_CASE("rbd_device: two images keep the contract, by a ring") {
  io::testing::run_device_contract(
      [] { return std::make_unique<RbdWorld>(QueueKind::kAuto, RbdWorld::Beside::kImage); });
}

TEST_CASE("rbd_device: an image keeps the contract beside a file, by threads") {
  io::testing::run_device_contract(
      [] { return std::make_unique<RbdWorld>(QueueKind::kThreads, RbdWorld::Beside::kFile); });
}

TEST_CASE("rbd_device: an image whose data is in an erasure-coded pool keeps the contract") {
  io::testing::run_device_contract([] {
    return std::make_unique<RbdWorld>(QueueKind::kAuto, RbdWorld::Beside::kFile, "meta",
                                      "&data_pool=data");
  });
}

TEST_CASE("rbd_device: an image says what the cluster keeps as one, and writes without a read") {
  const auto system = make_real_system(QueueKind::kAuto).value();
  CephImages plain;
  CephImages coded("meta", "&data_pool=data");
  const auto one = system->create_device(plain.address("a"), 8_MiB).value();
  CHECK(one->geometry().piece == 4_MiB);
  CHECK(one->geometry().whole_write == 0);
  CHECK(one->geometry().physical_block == 4_KiB);
  const auto other = system->create_device(coded.address("a"), 8_MiB).value();
  CHECK(other->geometry().piece == 4_MiB);
  CHECK(other->geometry().whole_write == 8_KiB);  // 2+1, of 4 KiB each
  CHECK(other->geometry().physical_block == 4_KiB);
}

TEST_CASE("rbd_device: writes that touch are what they are one by one") {
  const auto system = make_real_system(QueueKind::kAuto).value();
  CephImages images;
  const auto device = system->create_device(images.address("a"), 32_MiB).value();
  // More than a row, across objects, from memory that is apart, and a gap.
  std::vector<AlignedBuffer> parts;
  std::string expected(24_MiB, '\0');
  IoBatch batch;
  std::uint64_t at = 1_MiB;
  for (std::uint64_t i = 0; i < 90; ++i) {
    const std::uint64_t length = 4_KiB * (1 + i * 7 % 60);
    parts.push_back(pattern(i, length));
    if (i == 40) at += 12_KiB;
    batch.requests.push_back(IoRequest::write(*device, at, parts.back()));
    expected.replace(at, length, as_text(parts.back()));
    at += length;
  }
  REQUIRE(at < 24_MiB);
  std::swap(batch.requests[3], batch.requests[77]);
  device->queue().run(batch);
  REQUIRE(why(batch.first_error()) == "");
  AlignedBuffer found(24_MiB);
  REQUIRE(why(device->read(0, found.bytes())) == "");
  REQUIRE((as_text(found) == expected));
  REQUIRE(device->traffic().under_way == 0);
}

TEST_CASE("rbd_device: what is created is there, grows, is opened again and is removed") {
  CephImages images;
  const auto system = make_real_system().value();
  const std::string path = images.address("a");
  REQUIRE(system->open_device(path, OpenMode::kReadWrite).error().code == ErrorCode::kNotFound);
  REQUIRE(why(system->remove_created(path)) == "");
  const AlignedBuffer data = pattern(1, 64_KiB);
  {
    const auto device = system->create_device(path, 8_MiB).value();
    const Geometry& geometry = device->geometry();
    CHECK(geometry.size == 8_MiB);
    CHECK(geometry.logical_block == 4096);
    CHECK(geometry.physical_block == 4096);
    CHECK_FALSE(geometry.volatile_cache);
    CHECK(geometry.flush_domain == 0);
    CHECK(device->name() == path);
    CHECK(device->reserve_room(0, 8_MiB).value() == Device::Room::kNotPromised);
    REQUIRE(why(device->write(0, data)) == "");
    REQUIRE_FALSE(system->remove_created(path).ok());  // it is open
  }
  {
    const auto device = system->create_device(path, 16_MiB).value();  // it is there: grown
    CHECK(device->geometry().size == 16_MiB);
    AlignedBuffer found(64_KiB);
    REQUIRE(why(device->read(0, found.bytes())) == "");
    CHECK(as_text(found) == as_text(data));
    REQUIRE(why(device->write(16_MiB - 64_KiB, data)) == "");
  }
  for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kLook}) {
    const auto device = system->open_device(path, mode).value();
    AlignedBuffer found(64_KiB);
    REQUIRE(why(device->read(16_MiB - 64_KiB, found.bytes())) == "");
    CHECK(as_text(found) == as_text(data));
    CHECK(device->write(0, data).error().code == ErrorCode::kReadOnly);
    CHECK(why(device->flush()) == "");
    CHECK(device->grow(32_MiB).error().code == ErrorCode::kReadOnly);
  }
  REQUIRE(why(system->remove_created(path)) == "");
  REQUIRE(system->open_device(path, OpenMode::kReadOnly).error().code == ErrorCode::kNotFound);
}

TEST_CASE("rbd_device: a snapshot is read as it was, and never written") {
  CephImages images;
  const auto system = make_real_system().value();
  const std::string path = images.address("a");
  const AlignedBuffer before = pattern(1, 64_KiB);
  const AlignedBuffer after = pattern(2, 64_KiB);
  const auto device = system->create_device(path, 8_MiB).value();
  REQUIRE(why(device->write(0, before)) == "");
  const std::string snapshot = images.image("a") + "@s";
  ceph("rbd snap create " + snapshot);
  REQUIRE(why(device->write(0, after)) == "");
  const std::string address = "rbd:" + snapshot + "?conf=" + ceph_conf();
  {
    const auto old = system->open_device(address, OpenMode::kReadOnly).value();
    AlignedBuffer found(64_KiB);
    REQUIRE(why(old->read(0, found.bytes())) == "");
    CHECK(as_text(found) == as_text(before));
  }
  CHECK(system->open_device(address, OpenMode::kReadWrite).error().code == ErrorCode::kReadOnly);
  CHECK(system->create_device(address, 8_MiB).error().code == ErrorCode::kInvalidArgument);
  ceph("rbd snap rm " + snapshot);
}

TEST_CASE("rbd_device: an image with a cache, or without a lock, is not opened for writing") {
  CephImages images;
  const auto system = make_real_system().value();
  const std::string path = images.address("a");
  static_cast<void>(system->create_device(path, 8_MiB).value());
  ceph("rbd config image set " + images.image("a") + " rbd_cache true");
  const auto cached = system->open_device(path, OpenMode::kReadWrite);
  REQUIRE_FALSE(cached.ok());
  CHECK(cached.error().code == ErrorCode::kUnsupported);
  CHECK_THAT(cached.error().hint, Catch::Contains("rbd config image remove " + images.image("a")));
  ceph("rbd config image remove " + images.image("a") + " rbd_cache");
  REQUIRE(system->open_device(path, OpenMode::kReadWrite).ok());
  ceph("rbd feature disable " + images.image("a") + " exclusive-lock");
  const auto lockless = system->open_device(path, OpenMode::kReadWrite);
  REQUIRE_FALSE(lockless.ok());
  CHECK(lockless.error().code == ErrorCode::kUnsupported);
  CHECK_THAT(lockless.error().hint, Catch::Contains("rbd feature enable"));
  REQUIRE(system->open_device(path, OpenMode::kReadOnly).ok());
}

TEST_CASE("rbd_device: what is wrong with an address is said, and is no fault of a device") {
  const auto system = make_real_system().value();
  const auto none = system->open_device("rbd:log/a?conf=/no/such/conf", OpenMode::kReadWrite);
  REQUIRE(none.error().code == ErrorCode::kInvalidArgument);
  CHECK_THAT(none.error().to_string(), Catch::Contains("/no/such/conf"));
  const auto pool = system->open_device("rbd:no-such/a?conf=" + ceph_conf(), OpenMode::kReadWrite);
  REQUIRE(pool.error().code == ErrorCode::kNotFound);
  CHECK_THAT(pool.error().to_string(), Catch::Contains("pool no-such"));
  CHECK(system->create_device("rbd:log/a?conf=" + ceph_conf(), 1000).error().code ==
        ErrorCode::kInvalidArgument);
}
