// A program whose user may have no more processes. What io_uring cannot do at once it gives to a
// thread of the kernel, which counts as one of the user's; refused, the request is cancelled. A
// flush that came back so used to be the loss of its device. A program of its own, because root
// cannot be had back.
#include <grp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "base/units.h"
#include "io/os/uring_queue.h"
#include "io/system.h"
#include "tests/io/device_contract.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;

namespace {

constexpr uid_t kNobody = 65534;

// Root may have as many as it likes. Other processes of the user, and this thread, are more than
// one already.
bool allow_no_more() {
  const rlimit one{1, 1};
  if (::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) {
    return false;
  }
  return ::setrlimit(RLIMIT_NPROC, &one) == 0;
}

}  // namespace

TEST_CASE("uring_queue: what the kernel may have no thread for is done all the same") {
  const auto system = make_real_system(QueueKind::kUring);
  if (!system.ok()) {
    WARN("SKIPPED: " << system.error().to_string());
    return;
  }
  const io::testing::TemporaryDirectory directory(io::testing::TemporaryDirectory::On::kMemory);
  constexpr std::uint64_t kPieces = 100;
  constexpr std::uint64_t kPiece = 4096;
  const auto device = (*system)->create_device(directory.path("device"), kPieces * kPiece).value();
  if (::geteuid() == 0) {  // nobody removes it
    REQUIRE(::chown(directory.path().c_str(), kNobody, kNobody) == 0);
  }
  if (!allow_no_more()) {
    WARN("SKIPPED: cannot become another user");
    return;
  }
  std::vector<AlignedBuffer> data;
  IoBatch writes;
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    data.push_back(io::testing::pattern(i, kPiece));
    writes.requests.push_back(IoRequest::write(
        *device, i * kPiece, data.back(), i % 2 == 0 ? WriteMode::kDurable : WriteMode::kCached));
  }
  device->queue().submit(writes);
  device->queue().wait(writes);
  REQUIRE(writes.first_error().ok());

  // More than one, so that they go by the ring.
  IoBatch others;
  for (int i = 0; i < 3; ++i) others.requests.push_back(IoRequest::flush(*device));
  AlignedBuffer back(kPieces * kPiece);
  others.requests.push_back(IoRequest::read(*device, 0, back.bytes()));
  device->queue().submit(others);
  device->queue().wait(others);
  REQUIRE(others.first_error().ok());
  REQUIRE(device->traffic().failed_flushes == 0);
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    const ByteView piece = ByteView(back).subspan(i * kPiece, kPiece);
    REQUIRE((as_text(piece) == as_text(data[i])));
  }
}
