#include "io/request_subject.h"

#include <catch2/catch.hpp>

#include "base/aligned_buffer.h"
#include "io/memory_system.h"

using namespace hexad;
using namespace hexad::io;

TEST_CASE("request_subject: the device, what was asked, how much and where") {
  MemorySystem system;
  const auto device = system.create_device("a", 1 << 20).value();
  AlignedBuffer buffer(8192);
  CHECK(subject_of(IoRequest::read(*device, 4096, buffer.bytes())) ==
        "a: read of 8 KiB at byte 4096");
  CHECK(subject_of(IoRequest::write(*device, 0, buffer)) == "a: write of 8 KiB at byte 0");
  CHECK(subject_of(IoRequest::flush(*device)) == "a: flush");
  CHECK(subject_of(IoRequest::discard(*device, 0, 4096)) == "a: discard of 4 KiB at byte 0");
}
