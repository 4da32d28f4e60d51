#include "core/check/header_check.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

constexpr std::uint64_t kSize = 16 << 20;

// What is found on a device of zeros, which is known as `path`.
std::vector<Finding> findings_at(const std::string& path) {
  io::SimSystem system;
  system.add_disk("disk", kSize);
  std::vector<Finding> findings;
  system.run([&] {
    Member member;
    member.path = path;
    member.label = alloc::Label();
    member.layout.device_size = kSize;
    member.device = system.open_device("disk", io::OpenMode::kReadOnly).value();
    std::vector<CheckedHeaders> checked = check_headers({&member}, BadHeaders::kLeft);
    CHECK(checked.front().bad == 6);
    CHECK(checked.front().left == 6);
    findings = std::move(checked.front().findings);
  });
  return findings;
}

TEST_CASE("header check: each bad copy is found, and what writes it again") {
  const std::vector<Finding> findings = findings_at("/dev/sda");
  REQUIRE(findings.size() == 6);
  for (const Finding& finding : findings) {
    CAPTURE(finding.problem);
    CHECK(finding.subject == "device 0 (/dev/sda)");
    CHECK(finding.problem.find("fsck --repair, a scrub") != std::string::npos);
    CHECK_FALSE(finding.repaired);
  }
}

TEST_CASE("header check: in a snapshot nothing is written again, and no finding says so") {
  const std::vector<Finding> findings = findings_at("rbd:log/a@monday");
  REQUIRE(findings.size() == 6);
  for (const Finding& finding : findings) {
    CAPTURE(finding.problem);
    CHECK(finding.problem.find("--repair") == std::string::npos);
    CHECK(finding.problem.find("a scrub of the pool that it was taken of") != std::string::npos);
  }
}

}  // namespace
}  // namespace hexad::core
