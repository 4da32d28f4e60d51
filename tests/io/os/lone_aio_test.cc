#include "io/os/lone_aio.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/os/file_device.h"
#include "tests/io/device_contract.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::pattern;
using hexad::io::testing::TemporaryDirectory;

namespace {

constexpr Nanos kLong = 60'000'000'000;

std::unique_ptr<LoneAio> one_or_none() {
  Result<std::unique_ptr<LoneAio>> made = LoneAio::make();
  if (made.ok()) return std::move(made).value();
  WARN("SKIPPED: " + made.error().message);
  return nullptr;
}

// 1 MiB of a pattern, for direct I/O; invalid where the file system has none.
Fd direct_file(const TemporaryDirectory& directory, const AlignedBuffer& content) {
  const std::string path = directory.path("file");
  const Fd made(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(pwrite(made.get(), content.data(), content.size(), 0) ==
          static_cast<ssize_t>(content.size()));
  REQUIRE(fsync(made.get()) == 0);
  return Fd(open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
}

}  // namespace

TEST_CASE("lone_aio: direct reads are answered, in time or late") {
  const auto aio = one_or_none();
  if (aio == nullptr) return;
  const TemporaryDirectory directory;
  const AlignedBuffer content = pattern(1, 1_MiB);
  const Fd file = direct_file(directory, content);
  if (!file.valid()) return;
  int sent = 0;
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const std::uint64_t offset = static_cast<std::uint64_t>(round) * 4096;
    AlignedBuffer found(8192);
    const Nanos limit = round % 2 == 0 ? 0 : kLong;
    const LoneAio::Answer answer = aio->read(file.get(), found.bytes(), offset, limit);
    if (answer.outcome == LoneAio::Outcome::kNotSent) continue;
    ++sent;
    REQUIRE((limit == 0 || answer.outcome == LoneAio::Outcome::kAnswered));
    const bool late = answer.outcome == LoneAio::Outcome::kLate;
    REQUIRE((late ? aio->take() : answer.result) == 8192);
    REQUIRE(as_text(found.bytes()) == as_text(ByteView(content).subspan(offset, 8192)));
  }
  if (sent == 0) WARN("SKIPPED: the file system has no reads that never wait");
}

TEST_CASE("lone_aio: what would wait, or fails, is not under way") {
  const auto aio = one_or_none();
  if (aio == nullptr) return;
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const Fd out(ends[0]);
  const Fd in(ends[1]);
  AlignedBuffer buffer(4096);
  REQUIRE(aio->read(out.get(), buffer.bytes(), 0, kLong).outcome == LoneAio::Outcome::kNotSent);
  REQUIRE(aio->read(-1, buffer.bytes(), 0, kLong).outcome == LoneAio::Outcome::kNotSent);
}

TEST_CASE("lone_aio: there are as many as may be, and those given back are used again") {
  if (one_or_none() == nullptr) return;
  LoneAios all(2);
  LoneAio* const first = all.take();
  LoneAio* const second = all.take();
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  REQUIRE(first != second);
  REQUIRE(all.take() == nullptr);
  all.release(first);
  REQUIRE(all.take() == first);
}
