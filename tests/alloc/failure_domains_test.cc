#include "alloc/failure_domains.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace hexad;
using namespace hexad::alloc;

namespace {

std::uint32_t most_cells(std::uint32_t domain_cells, const std::vector<std::string>& devices) {
  MostCells cells(domain_cells);
  for (const std::string& domain : devices) cells.add(domain);
  return cells.count();
}

}  // namespace

TEST_CASE("failure_domains: the most cells of a zone on a set of devices") {
  CHECK(most_cells(0, {}) == 0);
  CHECK(most_cells(0, {"", "", ""}) == 3);
  CHECK(most_cells(1, {"a", "a", "a", "b", ""}) == 3);
  CHECK(most_cells(2, {"a", "a", "a", "b", ""}) == 4);
  // Devices without a name are domains of their own.
  CHECK(most_cells(1, {"", "", "a"}) == 3);
}

TEST_CASE("failure_domains: two sets together count for no more than the sum of both") {
  const std::vector<std::string> names = {"a", "a", "a", "b", "b", ""};
  for (std::uint32_t most = 0; most <= 3; ++most) {
    const auto count = [&](unsigned set) {
      std::vector<std::string> devices;
      for (std::size_t i = 0; i < names.size(); ++i) {
        if ((set >> i & 1) != 0) devices.push_back(names[i]);
      }
      return most_cells(most, devices);
    };
    for (unsigned a = 0; a < 64; ++a) {
      for (unsigned b = 0; b < 64; ++b) {
        REQUIRE(count(a | b) <= count(a) + count(b));
        REQUIRE(count(a | b) >= count(a));
      }
    }
  }
}

TEST_CASE("failure_domains: cells are spread as evenly as the domains allow") {
  const auto least = [](const std::vector<std::string>& devices, std::uint32_t cells) {
    return least_domain_cells(devices, cells);
  };
  CHECK(least({"", "", ""}, 3) == 0);
  CHECK(least({"a", "b"}, 3) == 0);  // too few
  CHECK(least({"a", "b", "c"}, 3) == 1);
  CHECK(least({"a", "a", "b", "b", "c", "c"}, 6) == 2);
  CHECK(least({"a", "a", "a", "a", "b", "b", "c", "c"}, 6) == 2);
  // One domain has too few devices for its share.
  CHECK(least({"a", "a", "a", "a", "b", "b", "b", "b", "c"}, 6) == 3);
  CHECK(least({"a", "a", "a", "a", "a", "a"}, 6) == 6);
  CHECK(least({"a", "a", "a", "", "", ""}, 4) == 1);
}

TEST_CASE("failure_domains: names that people and files can have") {
  for (const char* const name : {"a", "shelf-1", "0000:3b:00.0", "rack_2.host"}) {
    CHECK(check_domain_name(name).ok());
  }
  CHECK(check_domain_name(std::string(kMaxDomainName, 'x')).ok());
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a=b"), std::string("a/b"),
        std::string("\0", 1), std::string(kMaxDomainName + 1, 'x')}) {
    CHECK(check_domain_name(name).error().code == ErrorCode::kInvalidArgument);
  }
}
