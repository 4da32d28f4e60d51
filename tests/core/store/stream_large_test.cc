// An object of 6 GiB in a process that may have 1 GiB of addresses. A child process of its own, so
// that nothing else pays for the limit.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>

#include "base/units.h"
#include "core/store.h"
#include "io/rng.h"
#include "tests/io/temporary.h"

namespace hexad {
namespace {

constexpr std::uint64_t kObjectSize = 6_GiB;
constexpr std::uint64_t kAddressSpace = 1_GiB;
constexpr std::size_t kPiece = 3 << 20;

// A piece that says where in the object it belongs. Half zeros where it may compress.
void fill(Bytes& piece, std::uint64_t offset, bool compressible) {
  io::Rng rng(offset + 1);
  const std::size_t random = compressible ? piece.size() / 64 : piece.size();
  for (std::size_t at = 0; at + 8 <= random; at += 8) {
    const std::uint64_t word = rng.next();
    std::memcpy(piece.data() + at, &word, 8);
  }
}

Status write_and_read(const PoolDescription& pool, std::uint64_t size, bool compressible) {
  HEXAD_TRY_ASSIGN(Store store, Store::open(pool));
  HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectWriter> writer,
                   store.open_writer(kDefaultCollection, "large", Hint::kNone));
  Bytes piece(kPiece);
  for (std::uint64_t done = 0; done < size; done += piece.size()) {
    fill(piece, done, compressible);
    HEXAD_TRY(writer->append(piece));
  }
  HEXAD_TRY(writer->commit().status());
  HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectReader> reader,
                   store.open_reader(kDefaultCollection, "large"));
  Bytes expected(kPiece);
  for (std::uint64_t done = 0; done < size; done += piece.size()) {
    HEXAD_TRY_ASSIGN(const std::uint64_t read, reader->read(piece));
    fill(expected, done, compressible);
    if (read != piece.size() || piece != expected) {
      return Error{ErrorCode::kCorruption, "other bytes at " + std::to_string(done), ""};
    }
  }
  Transaction t;
  t.remove(kDefaultCollection, "large");
  HEXAD_TRY(store.commit(std::move(t)).status());
  return store.close();
}

// Runs write_and_read() under the limit. Empty when it went well.
std::string run_limited(const PoolDescription& pool, std::uint64_t size, bool compressible) {
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    rlimit limit{kAddressSpace, kAddressSpace};
    std::string text = "mallopt or setrlimit";
    // The C library reserves 64 MiB of addresses, used or not, for each arena, and makes more of
    // them the more often threads meet: on a busy machine they alone would be 1 GiB.
    if (::mallopt(M_ARENA_MAX, 2) == 1 && ::setrlimit(RLIMIT_AS, &limit) == 0) {
      const Status status = write_and_read(pool, size, compressible);
      text = status.ok() ? "" : status.error().to_string();
    }
    const ssize_t written = ::write(pipe_ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(pipe_ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t got = 0; (got = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(pipe_ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    text += " (the process ended with status " + std::to_string(status) + ")";
  }
  return text;
}

FormatOptions format_in(const io::testing::TemporaryDirectory& directory, std::uint64_t size) {
  FormatOptions options;
  options.device_size = size;
  for (int i = 0; i < 6; ++i) {
    options.devices.push_back(directory.path("dev" + std::to_string(i)));
  }
  options.fast_directories = {directory.path("fast")};
  return options;
}

TEST_CASE("stream: 6 GiB that compress go through 1 GiB of addresses") {
  const io::testing::TemporaryDirectory directory;
  FormatOptions options = format_in(directory, 512_MiB);
  options.compression.mode = compression::Mode::kForce;
  const Result<PoolDescription> pool = Store::format(options);
  REQUIRE(pool.ok());
  REQUIRE(run_limited(*pool, kObjectSize, true) == "");
}

TEST_CASE("stream: 6 GiB that do not compress go through 1 GiB of addresses") {
  const io::testing::TemporaryDirectory directory;
  const std::filesystem::space_info disk =
      std::filesystem::space(directory.path("").substr(0, directory.path("").size() - 1));
  if (disk.available < 14_GiB) {
    WARN("skipped: " << format_size(disk.available) << " of disk are free, 14 GiB are needed");
    return;
  }
  const Result<PoolDescription> pool = Store::format(format_in(directory, 2_GiB));
  REQUIRE(pool.ok());
  REQUIRE(run_limited(*pool, kObjectSize, false) == "");
}

}  // namespace
}  // namespace hexad
