#include "benchmarks/commit_path/fio.h"

#include <catch2/catch.hpp>

using namespace hexad::bench;

namespace {

constexpr const char* kOutput = R"(note: both iodepth >= 1 and synchronous I/O engine are selected
{"fio version": "fio-3.33", "jobs": [{"jobname": "ceiling",
  "read": {"total_ios": 0, "iops": 0.0, "bw_bytes": 0},
  "write": {"total_ios": 1200, "iops": 400.5, "bw_bytes": 1640448,
            "clat_ns": {"mean": 99000.0, "percentile": {"50.000000": 84480, "99.000000": 120000}}}}]})";

}  // namespace

TEST_CASE("fio: figures are those of the direction that did something") {
  const auto result = parse_fio(kOutput);
  REQUIRE(result.has_value());
  CHECK(result->operations_per_second == 400.5);
  CHECK(result->bytes_per_second == 1640448);
  CHECK(result->p50_us == Approx(84.48));
  CHECK(result->p99_us == 120);
  CHECK(result->p95_us == 0);
}

TEST_CASE("fio: what is no output of a job that ran is told apart") {
  CHECK(!parse_fio("").has_value());
  CHECK(!parse_fio("fio: pid=0, err=13/file:filesetup.c").has_value());
  CHECK(!parse_fio("{").has_value());
  CHECK(!parse_fio("{}").has_value());
  CHECK(!parse_fio(R"({"jobs": []})").has_value());
  CHECK(!parse_fio(R"({"jobs": [{"write": {"total_ios": 0}}]})").has_value());
  const std::string output = kOutput;
  for (std::size_t cut = 0; cut + 1 < output.size(); ++cut) {
    CAPTURE(cut);
    CHECK(!parse_fio(output.substr(0, cut)).has_value());
  }
}
