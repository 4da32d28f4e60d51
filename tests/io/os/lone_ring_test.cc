#include "io/os/lone_ring.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "base/aligned_buffer.h"
#include "io/os/file_device.h"

using namespace hexad;
using namespace hexad::io;

namespace {

constexpr Nanos kLong = 60'000'000'000;
constexpr Nanos kShort = 1'000'000;

// What is read from it comes when somebody writes it: a device that can be silent.
struct Pipe {
  Pipe() {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    out = Fd(ends[0]);
    in = Fd(ends[1]);
  }
  void say(std::string_view text) {
    REQUIRE(write(in.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  Fd out, in;
};

bool readable(int fd, int timeout_ms) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, timeout_ms) == 1;
}

std::unique_ptr<LoneRing> ring_or_none() {
  Result<std::unique_ptr<LoneRing>> ring = LoneRing::make();
  if (ring.ok()) return std::move(ring).value();
  WARN("SKIPPED: " + ring.error().message);
  return nullptr;
}

}  // namespace

TEST_CASE("lone_ring: what is there is read, what fails says with what") {
  const auto ring = ring_or_none();
  if (ring == nullptr) return;
  Pipe pipe;
  AlignedBuffer buffer(4096);
  for (const auto how : {LoneRing::How::kAtOnce, LoneRing::How::kMayWait}) {
    pipe.say("text");
    const LoneRing::Answer answer = ring->read(pipe.out.get(), buffer.bytes(), 0, how, kLong);
    REQUIRE(answer.outcome == LoneRing::Outcome::kAnswered);
    REQUIRE(answer.result == 4);
    REQUIRE(as_text(buffer.bytes().first(4)) == "text");
    const LoneRing::Answer wrong = ring->read(-1, buffer.bytes(), 0, how, kLong);
    REQUIRE(wrong.outcome == LoneRing::Outcome::kAnswered);
    REQUIRE(wrong.result == -EBADF);
    REQUIRE_FALSE(ring->is_late());
  }
}

TEST_CASE("lone_ring: a read that takes too long is left, and answered later") {
  const auto ring = ring_or_none();
  if (ring == nullptr) return;
  Pipe pipe;
  AlignedBuffer buffer(4096);
  for (const Nanos limit : {Nanos{0}, kShort}) {
    for (int round = 0; round < 3; ++round) {
      const LoneRing::Answer late =
          ring->read(pipe.out.get(), buffer.bytes(), 0, LoneRing::How::kAtOnce, limit);
      REQUIRE(late.outcome == LoneRing::Outcome::kLate);
      REQUIRE(ring->is_late());
      REQUIRE(ring->take().outcome == LoneRing::Outcome::kLate);
      REQUIRE_FALSE(readable(ring->fd(), 0));
      pipe.say("later");
      REQUIRE(readable(ring->fd(), -1));
      const LoneRing::Answer answer = ring->take();
      REQUIRE(answer.outcome == LoneRing::Outcome::kAnswered);
      REQUIRE(answer.result == 5);
      REQUIRE(as_text(buffer.bytes().first(5)) == "later");
      REQUIRE_FALSE(ring->is_late());
    }
  }
}

TEST_CASE("lone_ring: there are as many as may be, and those given back are used again") {
  if (ring_or_none() == nullptr) return;
  LoneRings rings(2);
  LoneRing* const first = rings.take();
  LoneRing* const second = rings.take();
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  REQUIRE(first != second);
  REQUIRE(rings.take() == nullptr);
  rings.release(second);
  REQUIRE(rings.take() == second);
  rings.discard(second);
  REQUIRE(rings.take() != nullptr);  // another one
  REQUIRE(rings.take() == nullptr);
}
