#include "tools/bench/workload.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

TEST_CASE("workload: every name is that of its workload") {
  CHECK(workload_names().size() == static_cast<std::size_t>(Workload::kStat) + 1);
  for (const std::string_view name : workload_names()) {
    CAPTURE(name);
    const Result<Workload> workload = parse_workload(name);
    REQUIRE(workload.ok());
    CHECK(to_string(*workload) == name);
  }
}

TEST_CASE("workload: what is no name is refused with all that are") {
  for (const std::string_view text : {"", "puts", "Put", "rand", "put "}) {
    CAPTURE(text);
    const Result<Workload> workload = parse_workload(text);
    REQUIRE_FALSE(workload.ok());
    CHECK(workload.error().code == ErrorCode::kInvalidArgument);
    for (const std::string_view name : workload_names()) {
      CHECK(workload.error().hint.find(name) != std::string::npos);
    }
  }
}

TEST_CASE("workload: ranges are what lies inside objects") {
  for (const std::string_view name : {"write", "read", "randwrite", "randread", "randrw"}) {
    CHECK(is_of_ranges(*parse_workload(name)));
    CHECK(moves_bytes(*parse_workload(name)));
    CHECK(needs_objects(*parse_workload(name)));
  }
  for (const std::string_view name : {"put", "get", "delete", "list", "stat"}) {
    CHECK_FALSE(is_of_ranges(*parse_workload(name)));
  }
  CHECK_FALSE(needs_objects(Workload::kPut));
  CHECK_FALSE(moves_bytes(Workload::kDelete));
}

}  // namespace
}  // namespace hexad::tools
