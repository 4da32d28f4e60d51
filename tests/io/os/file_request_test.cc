#include "io/os/file_request.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "io/os/thread_queue.h"
#include "tests/io/os/file_world.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::pattern;
using hexad::io::testing::TemporaryDirectory;

namespace {

struct Files {
  explicit Files(int threads) : queue(make_thread_queue(threads)) {}
  std::unique_ptr<FileDevice> make(const std::string& name) {
    return FileDevice::create(directory.path(name), 1_MiB, *queue).value();
  }
  std::unique_ptr<FileDevice> open(const std::string& name, OpenMode mode) {
    return FileDevice::open(directory.path(name), mode, *queue).value();
  }
  TemporaryDirectory directory;
  std::unique_ptr<FileQueue> queue;
};

}  // namespace

TEST_CASE("file_request: requests are executed whole, here and now") {
  Files files(1);
  const auto device = files.make("a");
  const AlignedBuffer data = pattern(1, 256_KiB);
  AlignedBuffer found(256_KiB);
  REQUIRE(execute_request(IoRequest::write(*device, 4096, data)).ok());
  REQUIRE(execute_request(IoRequest::write(*device, 512_KiB, data, WriteMode::kDurable)).ok());
  REQUIRE(execute_request(IoRequest::flush(*device)).ok());
  for (const std::uint64_t offset : {std::uint64_t{4096}, 512_KiB}) {
    REQUIRE(execute_request(IoRequest::read(*device, offset, found.bytes())).ok());
    REQUIRE(as_text(found.bytes()) == as_text(data.bytes()));
  }
  REQUIRE(execute_request(IoRequest::discard(*device, 4096, 256_KiB)).ok());
  REQUIRE(execute_request(IoRequest::read(*device, 4096, found.bytes())).ok());
  REQUIRE(is_zero(found));  // a hole in a file
}

TEST_CASE("file_request: what the kernel refuses names device, operation, place and cause") {
  Files files(1);
  files.make("a").reset();
  const auto reader = files.open("a", OpenMode::kReadOnly);
  const AlignedBuffer data = pattern(1, 8192);
  // Nothing is checked here, so that the kernel is the one to refuse.
  const Status write = execute_request(IoRequest::write(*reader, 4096, data));
  REQUIRE(write.error().code == ErrorCode::kInvalidArgument);  // the descriptor is to blame
  REQUIRE(write.error().message ==
          files.directory.path("a") + ": write of 8 KiB at byte 4096: Bad file descriptor");
  const Status discard = execute_request(IoRequest::discard(*reader, 0, 8192));
  REQUIRE(discard.error().message.find("discard of 8 KiB at byte 0") != std::string::npos);
  AlignedBuffer found(8192);
  const Status beyond = execute_request(IoRequest::read(*reader, 1_MiB - 4096, found.bytes()));
  REQUIRE(beyond.error().code == ErrorCode::kIo);
  REQUIRE(beyond.error().message.find("only 4 KiB are there") != std::string::npos);
}
