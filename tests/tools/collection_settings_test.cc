#include "tools/cli/collection_settings.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace hexad::tools {
namespace {

using compression::Algorithm;
using compression::Mode;
using compression::Policy;

struct Example {
  explicit Example(const std::vector<std::string>& words) {
    settings.declare(arguments);
    const auto parsed = arguments.parse(words);
    if (!parsed.ok()) FAIL(parsed.error().to_string());
  }

  Arguments arguments{"verb", "Does it", "hexad verb"};
  CollectionSettings settings;
};

Policy busy_policy() {
  Policy policy;
  policy.mode = Mode::kAggressive;
  policy.algorithm = Algorithm::kZstd;
  policy.level = 15;
  policy.required_ratio = 500;
  policy.min_blob_size = 1000;
  policy.max_blob_size = 64 * 1024;
  return policy;
}

TEST_CASE("collection_settings: what is not given stays") {
  const Example none({});
  CHECK(none.settings.check().ok());
  CHECK_FALSE(none.settings.has_policy());
  CHECK_FALSE(none.settings.has_quota());
  CHECK(none.settings.policy(busy_policy()).value() == busy_policy());
  CHECK(none.settings.quota({3, 4}).value() == Quota{3, 4});

  const Example level({"--level", "-3"});
  CHECK(level.settings.has_policy());
  CHECK_FALSE(level.settings.has_quota());
  Policy expected = busy_policy();
  expected.level = -3;
  CHECK(level.settings.policy(busy_policy()).value() == expected);
}

TEST_CASE("collection_settings: every option sets its field") {
  const Example all({"--compression", "force", "--algorithm", "zlib", "--level", "9",
                     "--required-ratio", "0.75", "--min-blob-size", "2KiB", "--max-blob-size",
                     "16KiB", "--quota-bytes", "1GiB", "--quota-objects", "7"});
  REQUIRE(all.settings.check().ok());
  Policy expected;
  expected.mode = Mode::kForce;
  expected.algorithm = Algorithm::kZlib;
  expected.level = 9;
  expected.required_ratio = 750;
  expected.min_blob_size = 2048;
  expected.max_blob_size = 16 * 1024;
  CHECK(all.settings.policy({}).value() == expected);
  CHECK(all.settings.policy(busy_policy()).value() == expected);
  CHECK(all.settings.quota({}).value() == Quota{7, 1 << 30});
}

TEST_CASE("collection_settings: a level is judged with the algorithm that it will belong to") {
  // 15 is a level of zstd; lz4 ends at 12.
  const Example alone({"--algorithm", "lz4"});
  CHECK(alone.settings.check().ok());
  const Result<Policy> refused = alone.settings.policy(busy_policy());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidArgument);
  CHECK_THAT(refused.error().message, Catch::Contains("level 15 of lz4"));
  const Example both({"--algorithm", "lz4", "--level", "12"});
  CHECK(both.settings.policy(busy_policy()).value().level == 12);
}

TEST_CASE("collection_settings: a quota can be taken away, one beside the other") {
  const Example objects({"--quota-objects", "none"});
  CHECK(objects.settings.has_quota());
  CHECK(objects.settings.quota({3, 4}).value() == Quota{0, 4});
  const Example bytes({"--quota-bytes=none", "--quota-objects=18446744073709551615"});
  CHECK(bytes.settings.quota({3, 4}).value() == Quota{~0ULL, 0});
}

TEST_CASE("collection_settings: what means nothing is refused by the name of its option") {
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"--level", "high"},
                                                        {"--level", "3,mode=force"},
                                                        {"--level", "99999999999"},
                                                        {"--required-ratio", "1.5"},
                                                        {"--required-ratio", "0"},
                                                        {"--required-ratio", "0.875,level=3"},
                                                        {"--quota-bytes", "0"},
                                                        {"--quota-bytes", "much"},
                                                        {"--quota-bytes", "-1"},
                                                        {"--quota-objects", "0"},
                                                        {"--quota-objects", "4KiB"},
                                                        {"--quota-objects", "-1"},
                                                        {"--quota-objects", "18446744073709551616"},
                                                        {"--quota-objects", ""}}) {
    CAPTURE(option, value);
    const Example example({option + "=" + value});
    const Status status = example.settings.check();
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::kInvalidArgument);
    CHECK_THAT(status.error().message, Catch::StartsWith(option + ": "));
    CHECK_FALSE(status.error().hint.empty());
  }
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"--compression", "sometimes"},
                                                        {"--compression", "force,level=3"},
                                                        {"--algorithm", "zip"},
                                                        {"--min-blob-size", "2GiB"},
                                                        {"--max-blob-size", "5000"},
                                                        {"--max-blob-size", "4TiB"},
                                                        {"--max-blob-size", "0"}}) {
    CAPTURE(option, value);
    const Example example({option + "=" + value});
    const Result<Policy> policy = example.settings.policy({});
    REQUIRE_FALSE(policy.ok());
    CHECK(policy.error().code == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("collection_settings: to compress with no algorithm contradicts itself") {
  const Example contradiction({"--compression", "force", "--algorithm", "none"});
  REQUIRE_FALSE(contradiction.settings.check().ok());
  CHECK_THAT(contradiction.settings.check().error().message, Catch::Contains("exclude each other"));
  CHECK(Example({"--compression", "none", "--algorithm", "none"}).settings.check().ok());
  CHECK(Example({"--algorithm", "none"}).settings.check().ok());
}

TEST_CASE("collection_settings: the json has a stable shape") {
  Policy policy = busy_policy();
  CHECK(policy_json(policy).dump() ==
        R"({"mode":"aggressive","algorithm":"zstd","level":15,"required_ratio":0.5,)"
        R"("min_blob_size":1000,"max_blob_size":65536})");
  policy.required_ratio = 333;
  CHECK(policy_json(policy)["required_ratio"].dump() == "0.333");
  CHECK(quota_json({}).dump() == R"({"objects":null,"bytes":null})");
  CHECK(quota_json({3, 4}).dump() == R"({"objects":3,"bytes":4})");
}

}  // namespace
}  // namespace hexad::tools
