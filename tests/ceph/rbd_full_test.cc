// A cluster without space. Runs alone: all pools are full meanwhile.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/units.h"
#include "tests/ceph/ceph_images.h"
#include "tests/io/device_contract.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::ceph_conf;
using hexad::io::testing::CephImages;
using hexad::io::testing::pattern;

namespace {

std::string why(const Status& status) { return status.ok() ? "" : status.error().to_string(); }

void ceph(const std::string& words) {
  const std::string command = "ceph --conf " + ceph_conf() + " " + words + " 2>/dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
}

// The OSDs call themselves full when more than that of them is used. They mind the order of the
// three.
void set_full_ratio(const std::string& near, const std::string& back, const std::string& full) {
  ceph("osd set-nearfull-ratio " + near);
  ceph("osd set-backfillfull-ratio " + back);
  ceph("osd set-full-ratio " + full);
}

}  // namespace

TEST_CASE("rbd_full: writes fail for lack of space and do not wait for it; reads go on") {
  CephImages images;
  const auto system = make_real_system().value();
  const auto device = system->create_device(images.address("a"), 64_MiB).value();
  const AlignedBuffer data = pattern(1, 64_KiB);
  REQUIRE(why(device->write(0, data)) == "");
  set_full_ratio("0.001", "0.001", "0.001");
  // What is there may be written again; each of these takes more. The OSDs notice within seconds.
  std::uint64_t at = 64_KiB;
  const auto write_more = [&] {
    HEXAD_ASSERT(at < 64_MiB);
    const Status written = device->write(at, ByteView(data).first(4096));
    if (written.ok()) at += 4096;
    return written;
  };
  Status full = write_more();
  while (full.ok()) full = write_more();
  set_full_ratio("0.85", "0.9", "0.95");
  CHECK(full.error().code == ErrorCode::kNoSpace);
  CHECK_THAT(full.error().hint, Catch::Contains("ceph df"));
  CHECK_FALSE(device->is_fenced());
  CHECK(device->traffic().refused == 1);
  CHECK(device->traffic().failed_writes == 0);
  AlignedBuffer found(64_KiB);
  REQUIRE(why(device->read(0, found.bytes())) == "");
  CHECK(as_text(found) == as_text(data));
  while (!full.ok() && full.error().code == ErrorCode::kNoSpace) full = write_more();
  CHECK(why(full) == "");
}
