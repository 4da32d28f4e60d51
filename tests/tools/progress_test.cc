#include "tools/cli/progress.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

TEST_CASE("progress: a known total gives a bar, a part and the time that is left") {
  const std::string line = progress_line("put", 256 << 20, 1 << 30, 0, 2 * kSecond);
  CHECK(line == "put [======                  ]  25%  256 MiB  128 MiB/s  6 s left");
  CHECK(progress_line("put", 1 << 30, 1 << 30, 0, kSecond).find("100%") != std::string::npos);
}

TEST_CASE("progress: more than the total stays at 100 %") {
  const std::string line = progress_line("put", 2 << 20, 1 << 20, 0, kSecond);
  CHECK(line == "put [========================] 100%  2 MiB  2 MiB/s");
}

TEST_CASE("progress: an unknown total shows what has been done") {
  CHECK(progress_line("import", 1 << 20, 0, 17, kSecond) == "import  1 MiB  17 objects  1 MiB/s");
  CHECK(progress_line("rm", 0, 0, 3, kSecond) == "rm  0 B  3 objects  0 B/s");
}

}  // namespace
}  // namespace hexad::tools
