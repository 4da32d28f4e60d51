#include "kv/run/run_writer.h"

#include <catch2/catch.hpp>

#include "base/codec.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

std::optional<ErrorCode> code_of(const Status& status) {
  return status.ok() ? std::nullopt : std::optional(status.error().code);
}

TEST_CASE("run_writer: what cannot stand in a run is refused, and so is everything after it") {
  const auto second = [](std::string_view key, std::optional<std::string_view> value) {
    MemoryRunFile file;
    RunWriter writer(file, run_store(), 0, 1);
    REQUIRE(writer.add("b", "1").ok());
    const Status status = writer.add(key, value);
    REQUIRE(code_of(writer.add("z", "1")) == code_of(status));
    REQUIRE(code_of(writer.finish().status()) == code_of(status));
    return code_of(status);
  };
  const std::string long_key(kMaxIndexKey + 1, 'k');
  REQUIRE(second("c", std::nullopt) == std::nullopt);
  REQUIRE(second(long_key.substr(1), "") == std::nullopt);
  REQUIRE(second("b", "2") == ErrorCode::kInvalidArgument);
  REQUIRE(second("a", "2") == ErrorCode::kInvalidArgument);
  REQUIRE(second("", "2") == ErrorCode::kInvalidArgument);
  REQUIRE(second(long_key, "2") == ErrorCode::kInvalidArgument);
  const std::string long_value(kMaxIndexValue + 1, 'v');
  REQUIRE(second("c", long_value) == ErrorCode::kInvalidArgument);
}

TEST_CASE("run_writer: the longest value and the longest key make a run") {
  const std::string key(kMaxIndexKey, 'k');
  const std::string value(kMaxIndexValue, 'v');
  const auto run = write_run({{key, value}});
  REQUIRE(run.open()->get(key)->value == value);
}

TEST_CASE("run_writer: LSNs the wrong way round are refused, and a second end is") {
  MemoryRunFile file;
  RunWriter backwards(file, run_store(), 2, 1);
  REQUIRE(code_of(backwards.add("a", "1")) == ErrorCode::kInvalidArgument);
  RunWriter writer(file, run_store(), 1, 1);
  REQUIRE(writer.finish().ok());
  REQUIRE(code_of(writer.finish().status()) == ErrorCode::kInvalidArgument);
  REQUIRE(code_of(writer.add("a", "1")) == ErrorCode::kInvalidArgument);
}

TEST_CASE("run_writer: an error of the sink stays") {
  MemoryRunFile file;
  file.fails = true;
  RunWriter writer(file, run_store(), 0, 1);
  Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status = writer.add("key" + std::to_string(1000 + i), std::string(100, 'v'));
  }
  REQUIRE(code_of(status) == ErrorCode::kIo);
  file.fails = false;
  REQUIRE(code_of(writer.finish().status()) == ErrorCode::kIo);
  REQUIRE(file.bytes.empty());
}

TEST_CASE("run_writer: records of objects take at most 45 bytes, index and filters included") {
  io::Rng rng(71);
  RunModel model;
  for (std::uint64_t i = 0; i < 30000; ++i) {
    // As core/record/record.h writes an object of 64 KiB: what counts up, and six checksums.
    std::string value;
    Encoder out(value);
    out.le16(1);
    out.varint(100000 + i);
    out.varint(65536);
    out.le64(1'700'000'000'000'000'000 + i * 350000 + rng.below(200000));
    out.raw("\1\2");
    out.varint(17 + i / 3000);
    out.varint(1 + i % 3000 * 4);
    out.raw("\4\x20");
    out.varint(65536);
    for (int cell = 0; cell < 6; ++cell) out.le32(static_cast<std::uint32_t>(rng.next()));
    const std::string number = std::to_string(100000000 + i).substr(1);
    model[std::string("o\0\0\0\7bucket-12/file-", 21) + number + ".bin"] = value;
  }
  const WrittenRun run = write_run(model);
  REQUIRE(run_difference(*run.open(), model) == "");
  CAPTURE(run.info.bytes);
  REQUIRE(run.info.bytes <= 45 * model.size());
  REQUIRE(run.info.bytes <= 33 * model.size());
}

}  // namespace
}  // namespace hexad::kv
