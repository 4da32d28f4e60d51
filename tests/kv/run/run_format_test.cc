#include "kv/run/run_format.h"

#include <catch2/catch.hpp>

#include "base/checksum.h"
#include "base/codec.h"
#include "tests/kv/golden.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

RunModel golden_model() {
  return {{"apple", "red"}, {"apricot", std::nullopt}, {"banana", "yellow"}};
}

TEST_CASE("run_format: the golden run is written and read") {
  const std::string golden = testing::golden("run");
  const WrittenRun run = write_run(golden_model(), 38, 41);
  REQUIRE(run.file->bytes == golden);
  REQUIRE(run.info == RunInfo{golden.size(), 3, 1, 38, 41, run.info.footer_crc});
  REQUIRE(run_difference(*run.open(), golden_model()) == "");
  REQUIRE(run.open()->verify().ok());
  const RunFooter footer = decode_run_footer(as_bytes(golden).last(kRunFooterSize)).value();
  REQUIRE(footer.store == run_store());
  REQUIRE(footer.info == run.info);
  REQUIRE(footer.levels == 1);
  REQUIRE(footer.root.filter.has_value());
}

TEST_CASE("run_format: every truncation and every bit of a footer is refused") {
  std::string footer = testing::golden("run");
  footer.erase(0, footer.size() - kRunFooterSize);
  for (std::size_t cut = 0; cut < footer.size(); ++cut) {
    REQUIRE_FALSE(decode_run_footer(as_bytes(footer).first(cut)).ok());
  }
  for (std::size_t bit = 0; bit < footer.size() * 8; ++bit) {
    footer[bit / 8] ^= static_cast<char>(1 << bit % 8);
    REQUIRE(decode_run_footer(as_bytes(footer)).error().code == ErrorCode::kCorruption);
    footer[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

// With a checksum that fits.
Result<RunFooter> decode_changed(std::string footer, std::size_t at, std::string_view bytes) {
  footer.replace(at, bytes.size(), bytes);
  footer.resize(kRunFooterSize - 4);
  const std::uint32_t crc = crc32c(as_bytes(footer));
  Encoder(footer).le32(crc);
  return decode_run_footer(as_bytes(footer));
}

TEST_CASE("run_format: a footer that contradicts itself is refused although its checksum fits") {
  using namespace std::string_literals;
  std::string footer = testing::golden("run");
  footer.erase(0, footer.size() - kRunFooterSize);
  REQUIRE(decode_changed(footer, 0, "").ok());
  REQUIRE(decode_changed(footer, 8, "\2").error().code == ErrorCode::kUnsupported);
  const auto refused = [&](std::size_t at, std::string_view bytes) {
    const auto result = decode_changed(footer, at, bytes);
    return !result.ok() && result.error().code == ErrorCode::kCorruption;
  };
  REQUIRE(refused(28, "\x2a"));     // LSNs the wrong way round
  REQUIRE(refused(44, "\x7f\0"s));  // shorter than a footer
  REQUIRE(refused(52, "\0"s));      // a root and no entries
  REQUIRE(refused(60, "\4"));       // more tombstones than entries
  REQUIRE(refused(68, "\0"s));      // entries and no root
  REQUIRE(refused(68, "\2"));       // a filter of what is no leaf
  REQUIRE(refused(68, "\x21"));     // levels
  REQUIRE(refused(69, "\x7f"));     // the root ends behind the blocks
  REQUIRE(refused(123, "\1"));      // reserved
}

TEST_CASE("run_format: addresses come back, and lie before what names them") {
  const RunBlockAddress block = {1000, 50, 70, 0x01020304};
  const RunBlockAddress filter = {900, 100, 100, 5};
  for (const RunBlockKind kind : {RunBlockKind::kData, RunBlockKind::kLeaf, RunBlockKind::kIndex}) {
    RunChild child = {block, std::nullopt};
    if (kind == RunBlockKind::kLeaf) child.filter = filter;
    const std::string bytes = encode_run_child(child);
    REQUIRE(decode_run_child(bytes, kind, 1050).value() == child);
    REQUIRE_FALSE(decode_run_child(bytes, kind, 1049).ok());  // RB2
    REQUIRE_FALSE(decode_run_child(bytes, kind, 0).ok());
    REQUIRE_FALSE(decode_run_child(bytes + 'x', kind, 2000).ok());
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      REQUIRE_FALSE(decode_run_child(bytes.substr(0, cut), kind, 2000).ok());
    }
  }
  // RB3: as long as blocks of that kind are, not longer.
  const auto decodes = [](std::uint32_t stored, std::uint32_t raw, RunBlockKind kind) {
    return decode_run_child(encode_run_child({{0, stored, raw, 0}, std::nullopt}), kind,
                            std::uint64_t{1} << 40)
        .ok();
  };
  REQUIRE_FALSE(decodes(0, 0, RunBlockKind::kData));
  REQUIRE(decodes(100, kMaxRunDataBlock, RunBlockKind::kData));
  REQUIRE_FALSE(decodes(100, kMaxRunDataBlock + 1, RunBlockKind::kData));
  REQUIRE(decodes(100, kMaxRunIndexBlock, RunBlockKind::kIndex));
  REQUIRE_FALSE(decodes(100, kMaxRunIndexBlock + 1, RunBlockKind::kIndex));
}

TEST_CASE("run_format: a stored block comes back, and from its own place only") {
  io::Rng rng(81);
  for (const std::string& raw :
       {std::string("x"), std::string(5000, 'a'), random_bytes(rng, 5000), random_bytes(rng, 7)}) {
    for (const RunPacking packing : {RunPacking::kPlain, RunPacking::kCompress}) {
      const StoredRunBlock block = store_run_block(raw, 4096, packing).value();
      REQUIRE(block.address.offset == 4096);
      REQUIRE(block.address.stored == block.bytes.size());
      REQUIRE(block.address.raw == raw.size());
      REQUIRE(block.bytes.size() <= raw.size());
      REQUIRE(load_run_block(block.address, as_bytes(block.bytes)).value() == raw);
      RunBlockAddress elsewhere = block.address;
      elsewhere.offset = 8192;
      REQUIRE(load_run_block(elsewhere, as_bytes(block.bytes)).error().code ==
              ErrorCode::kCorruption);
      // The crc does not cover the length before compression.
      RunBlockAddress longer = block.address;
      ++longer.raw;
      REQUIRE(load_run_block(longer, as_bytes(block.bytes)).error().code == ErrorCode::kCorruption);
    }
  }
}

}  // namespace
}  // namespace hexad::kv
