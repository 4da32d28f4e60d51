#include "core/api/options.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace hexad {
namespace {

FormatOptions good(Preset preset = Preset::kNvme) {
  FormatOptions options(preset);
  for (int i = 0; i < 6; ++i) options.devices.push_back("/d/" + std::to_string(i));
  return options;
}

std::string problems(const FormatOptions& options) {
  const Status status = options.validate();
  if (status.ok()) return "";
  REQUIRE(status.error().code == ErrorCode::kInvalidArgument);
  return status.error().message;
}

std::string problems(const RuntimeOptions& options) {
  const Status status = options.validate();
  if (status.ok()) return "";
  REQUIRE(status.error().code == ErrorCode::kInvalidArgument);
  return status.error().message;
}

auto lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n') + 1; }

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("options: every preset has a name and is valid") {
  for (const Preset preset : {Preset::kNvme, Preset::kHddWithFastMeta, Preset::kTiny}) {
    CAPTURE(to_string(preset));
    REQUIRE(*parse_preset(to_string(preset)) == preset);
    REQUIRE(problems(good(preset)).empty());
    REQUIRE(problems(RuntimeOptions(preset)).empty());
  }
  REQUIRE(problems(RuntimeOptions()).empty());
  for (const auto durability :
       {LogDurability::kFull, LogDurability::kFast, LogDurability::kDataFirst}) {
    REQUIRE(*parse_log_durability(to_string(durability)) == durability);
  }
  REQUIRE(parse_log_durability("Full").error().code == ErrorCode::kInvalidArgument);
  REQUIRE(parse_preset("NVME").error().code == ErrorCode::kInvalidArgument);
  REQUIRE_FALSE(parse_preset("").ok());
}

TEST_CASE("options: failure domains of which the loss of one would not be survived are refused") {
  FormatOptions options = good();
  options.devices.insert(options.devices.end(), {"/d/6", "/d/7"});
  const auto with = [&](const std::vector<std::string>& domains) {
    options.failure_domains = domains;
    return problems(options);
  };
  CHECK(with({"a", "a", "a", "b", "b", "b", "c", "c"}) == "");
  CHECK(with({"a", "a", "a", "a", "b", "b", "b", "b"}) ==
        "of a stripe of 4+2 3 cells would be in one of the 2 failure domains, and the profile "
        "survives the loss of 2: name more domains, or a profile with more parity");
  CHECK(with({"a", "b"}) == "2 failure domains are given for 8 devices: one for each, or none");
  CHECK(mentions(with({"a", "", "a", "b", "b", "b", "c", "c"}),
                 "failure domain: \"\" is no name of a failure domain"));
}

TEST_CASE("options: as many devices as a root has rows for, fast ones included") {
  FormatOptions options = good();
  options.fast_directories = {"/f"};
  while (options.devices.size() < 255)
    options.devices.push_back("/d/" + std::to_string(options.devices.size()));
  CHECK(problems(options).empty());
  options.devices.push_back("/d/255");
  CHECK(problems(options) == "257 devices are given, fast ones included, at most 256 are possible");
}

TEST_CASE("options: all problems are reported at once, one per line") {
  FormatOptions options;
  options.devices = {"/a", "/b", "/a", ""};
  options.fast_directories = {"/f", "/f"};
  options.profile.k = 0;
  options.profile.m = 9;
  options.device_size = 1;
  options.min_alloc = 1000;
  options.checksum_block = 8192;
  options.compression.required_ratio = 0;
  options.log_size = 5;
  options.slab_size = 1001;
  const std::string text = problems(options);
  INFO(text);
  for (const std::string_view part :
       {"k is 0", "m is 9", "4 devices are given", "device /a is given twice",
        "device path is empty", "fast directory /f is given twice", "device_size is 1 B",
        "min_alloc is 1000 bytes, no multiple of 512; the nearest are 512 and 1024",
        "checksum_block is 8 KiB", "compression: ", "log_size is 5 B", "no multiple of min_alloc",
        "slab_size is 1001 B, not between", "slab_size is 1001 B, more than device_size"}) {
    CAPTURE(part);
    REQUIRE(mentions(text, part));
  }
  REQUIRE(lines(text) == 14);
}

TEST_CASE("options: a code that does not survive every loss is refused with its reason") {
  FormatOptions options = good();
  for (int i = 6; i < 12; ++i) options.devices.push_back("/d/" + std::to_string(i));
  options.profile.k = 6;
  options.profile.m = 6;
  REQUIRE(mentions(problems(options), "profile: "));
  options.profile.codec = ec::CodecKind::kIsaCauchy;
  REQUIRE(problems(options).empty());
}

TEST_CASE("options: at least as many devices as the profile has cells") {
  FormatOptions options = good();
  options.devices.pop_back();
  REQUIRE(problems(options) == "5 devices are given, profile 4+2 needs at least 6");
  options.profile = {2, 1, ec::CodecKind::kIsaVandermonde, 0};
  REQUIRE(problems(options).empty());
}

TEST_CASE("options: min_alloc is any multiple of 512 up to 1 MiB") {
  FormatOptions options = good();
  for (const std::uint64_t legal : {0_KiB, 512_KiB, 1_MiB, 18_KiB, std::uint64_t{512}}) {
    options.min_alloc = legal;
    REQUIRE(problems(options).empty());
  }
  for (const std::uint64_t illegal :
       {std::uint64_t{511}, std::uint64_t{4097}, 1_MiB + 512, ~std::uint64_t{0}}) {
    CAPTURE(illegal);
    options.min_alloc = illegal;
    REQUIRE_FALSE(problems(options).empty());
    options.slab_size = 2_MiB;
    REQUIRE_FALSE(problems(options).empty());
    options.slab_size = 0;
  }
}

TEST_CASE("options: checksum blocks are 4, 16 or 64 KiB of crc32c or xxh3") {
  FormatOptions options = good();
  for (std::uint64_t size = 1; size <= 1_MiB; size *= 2) {
    options.checksum_block = size;
    REQUIRE(problems(options).empty() == (size == 4_KiB || size == 16_KiB || size == 64_KiB));
  }
  options = good();
  options.checksum = ChecksumType::kXxh3;
  REQUIRE(problems(options).empty());
  options.checksum = static_cast<ChecksumType>(7);
  REQUIRE_FALSE(problems(options).empty());
}

TEST_CASE("options: runtime sizes have bounds, and one transaction fits into what is in flight") {
  RuntimeOptions options;
  options.memtable_size = 0;
  options.max_transaction = 1_GiB;
  options.max_in_flight = 512_MiB;
  options.stream_buffer = 1;
  options.cache_size = 1;
  options.access = static_cast<Access>(9);
  options.flush_sharing = static_cast<FlushSharing>(9);
  const std::string text = problems(options);
  INFO(text);
  REQUIRE(lines(text) == 6);
  REQUIRE(mentions(text, "max_in_flight is 512 MiB, less than one transaction may have, 1 GiB"));
}

TEST_CASE("options: a cache of no bytes is no cache, and legal") {
  RuntimeOptions options;
  options.cache_size = 0;
  REQUIRE(problems(options).empty());
  options.cache_size = 1_MiB - 1;
  REQUIRE(lines(problems(options)) == 1);
}

}  // namespace
}  // namespace hexad
