#include "tools/import_export/transfer_report.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/tools/capture.h"

namespace hexad::tools {
namespace {

using testing::Capture;

const Error kDamaged{ErrorCode::kCorruption, "its bytes are damaged", ""};
const Error kOutside{ErrorCode::kInvalidArgument, "leads outside", "Read it by itself."};
const Error kNobody{ErrorCode::kUnavailable, "too few devices", ""};

// Calls `use` with an output whose words nobody hears.
template <typename Use>
void silently(const Use& use) {
  Capture out(STDOUT_FILENO);
  Capture err(STDERR_FILENO);
  Output output(Style::kText, Verbosity::kQuiet);
  use(output);
}

TEST_CASE("transfer_report: the first failure of the store decides the code, then all others") {
  TransferReport report;
  REQUIRE(report.exit_code() == kExitOk);
  silently([&](Output& out) { report.skip(out, "pipe", "is no file"); });
  REQUIRE(report.exit_code() == kExitOk);
  silently([&](Output& out) { report.refuse(out, "../x", kOutside); });
  REQUIRE(report.exit_code() == kExitIo);
  silently([&](Output& out) { report.fail_local(out, "x", kNobody); });
  REQUIRE(report.exit_code() == kExitIo);
  silently([&](Output& out) { report.fail_store(out, "y", kDamaged); });
  silently([&](Output& out) { report.fail_store(out, "z", kNobody); });
  REQUIRE(report.exit_code() == exit_code(ErrorCode::kCorruption));
  REQUIRE(report.skipped == 1);
  REQUIRE(report.refused == 1);
  REQUIRE(report.failed == 3);
}

TEST_CASE("transfer_report: each is warned about, and what was done is one sentence") {
  TransferReport report;
  report.files = 2;
  report.bytes = 2048;
  Capture out(STDOUT_FILENO);
  Capture err(STDERR_FILENO);
  {
    Output output(Style::kText, Verbosity::kNormal);
    report.print(output, "imported");
    report.refuse(output, "a\nb", {ErrorCode::kInvalidArgument, "has a line", ""});
    report.print(output, "imported");
    output.finish().ignore();
  }
  const std::string said = out.text();
  const std::string warned = err.text();
  REQUIRE(said ==
          "imported 2 files (2 KiB), 0 directories, 0 symbolic links\n"
          "imported 2 files (2 KiB), 0 directories, 0 symbolic links; 0 skipped, 1 refused, 0 "
          "failed\n");
  REQUIRE_THAT(warned, Catch::StartsWith("hexad: refused: ") && Catch::Contains("has a line"));
  REQUIRE(std::count(warned.begin(), warned.end(), '\n') == 1);  // the name has none
}

TEST_CASE("transfer_report: json has the numbers and the first thousand problems") {
  TransferReport report;
  report.directories = 3;
  report.symlinks = 4;
  silently([&](Output& out) {
    report.skip(out, "a", "why");
    report.fail_local(out, "\xff", kDamaged);
    for (int i = 0; i < 1500; ++i) report.refuse(out, "c", kOutside);
  });
  Capture captured(STDOUT_FILENO);
  {
    Output output(Style::kJson, Verbosity::kNormal);
    report.print(output, "imported");
    output.finish().ignore();
  }
  const Json json = Json::parse(captured.text());
  REQUIRE(json["directories"] == 3);
  REQUIRE(json["symlinks"] == 4);
  REQUIRE(json["skipped"] == 1);
  REQUIRE(json["refused"] == 1500);
  REQUIRE(json["failed"] == 1);
  REQUIRE(json["problems"].size() == 1000);
  REQUIRE(json["problems"][0] ==
          Json{{"name", "a"}, {"kind", "skipped"}, {"why", "why"}, {"hint", ""}});
  REQUIRE(json["problems"][1]["name_b64"] == "/w==");
  REQUIRE(json["problems"][1]["why"] == "its bytes are damaged");
  REQUIRE(json["problems"][999]["hint"] == "Read it by itself.");
}

TEST_CASE("transfer_report: what to do is said once, not with every name") {
  TransferReport report;
  Capture err(STDERR_FILENO);
  {
    Output output(Style::kText, Verbosity::kNormal);
    report.refuse(output, "../x", kOutside);
    report.refuse(output, "../y", kOutside);
    report.fail_local(output, "z", {ErrorCode::kIo, "no such file", "Look for it."});
    report.lose(output, "z", kDamaged);
  }
  REQUIRE(err.text() ==
          "hexad: refused: ../x: leads outside\n  hint: Read it by itself.\n"
          "hexad: refused: ../y: leads outside\n"
          "hexad: failed: z: no such file\n  hint: Look for it.\n"
          "hexad: incomplete: z: its bytes are damaged\n");
}

}  // namespace
}  // namespace hexad::tools
