#include "core/stats/counters.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "base/codec.h"
#include "tests/core/broken_input.h"

namespace hexad::core {
namespace {

constexpr auto kCount = static_cast<std::uint16_t>(CounterId::kCount);
constexpr std::size_t kSpeltTwice = 3;  // with "bluestore_" and without it

TEST_CASE("counters: every counter has a name of its own, and doc/counters.md explains it") {
  std::ifstream file("doc/counters.md");
  std::stringstream doc;
  doc << file.rdbuf();
  REQUIRE_FALSE(doc.str().empty());
  std::set<std::string_view> names;
  for (std::uint16_t i = 0; i < kCount; ++i) {
    const std::string_view name = counter_name(static_cast<CounterId>(i));
    CAPTURE(name);
    REQUIRE(names.insert(name).second);
    REQUIRE(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") ==
            std::string_view::npos);
    REQUIRE(doc.str().find("\n| `" + std::string(name) + "` | ") != std::string::npos);
  }
  REQUIRE(counter_name(CounterId::kCompressedOriginal) == "bluestore_compressed_original");
  REQUIRE(counter_name(CounterId::kCompressSkipped) == "compress_skipped_count");
}

TEST_CASE("counters: totals go on over openings, counts since opening start again") {
  Counters first;
  first.add(CounterId::kReads, 5);
  first.add(CounterId::kFlushes);
  Counters second;
  REQUIRE(second.load_base(first.encode_totals()).ok());
  second.add(CounterId::kReads, 2);
  REQUIRE(second.since_open(CounterId::kReads) == 2);
  REQUIRE(second.total(CounterId::kReads) == 7);
  REQUIRE(second.total(CounterId::kFlushes) == 1);
  const std::vector<Counter> all = second.snapshot();
  REQUIRE(all.size() == kCount + kSpeltTwice);
  REQUIRE(all[static_cast<std::size_t>(CounterId::kReads)].name == "reads");
  REQUIRE(all[static_cast<std::size_t>(CounterId::kReads)].total == 7);
  REQUIRE(all[static_cast<std::size_t>(CounterId::kReads)].since_open == 2);
}

TEST_CASE("counters: what another version counted is kept") {
  std::string saved;
  Encoder out(saved);
  out.u8(5);
  out.varint(2);
  out.bytes("reads");
  out.varint(3);
  out.bytes("counter_of_tomorrow");
  out.varint(9);
  Counters counters;
  REQUIRE(counters.load_base(saved).ok());
  REQUIRE(counters.total(CounterId::kReads) == 3);
  REQUIRE(counters.total(CounterId::kFlushes) == 0);
  REQUIRE(counters.snapshot().size() == kCount + kSpeltTwice);
  Counters next;
  REQUIRE(next.load_base(counters.encode_totals()).ok());
  REQUIRE(next.encode_totals() == counters.encode_totals());
  REQUIRE(next.encode_totals().find("counter_of_tomorrow\x09") != std::string::npos);
}

TEST_CASE("counters: damaged totals are refused and change nothing") {
  Counters good;
  good.add(CounterId::kBytesRead, 1'000'000);
  const std::string saved = good.encode_totals();
  for (std::size_t size = 0; size < saved.size(); ++size) {
    Counters counters;
    REQUIRE(counters.load_base(saved.substr(0, size)).error().code == ErrorCode::kCorruption);
    REQUIRE(counters.total(CounterId::kBytesRead) == 0);
  }
  io::Rng rng(1);
  for_each_broken(saved, rng, [](std::string_view input) {
    Counters counters;
    if (const Status loaded = counters.load_base(input); !loaded.ok()) {
      REQUIRE(loaded.error().code == ErrorCode::kCorruption);
    }
  });
  std::string twice;
  Encoder out(twice);
  out.u8(5);
  out.varint(2);
  for (int i = 0; i < 2; ++i) {
    out.bytes("reads");
    out.varint(1);
  }
  Counters counters;
  REQUIRE_FALSE(counters.load_base(twice).ok());
}

}  // namespace
}  // namespace hexad::core
