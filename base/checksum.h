// The two checksums of the format. crc32c: Castagnoli polynomial, initial value and final xor
// 0xffffffff (RFC 3720, so crc32c("123456789") = 0xe3069283), computed by ISA-L. xxh3-64: the
// 64-bit XXH3 with seed 0, by libxxhash.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace hexad {

// Values are on disk; never reused.
enum class ChecksumType : std::uint8_t { kCrc32c = 1, kXxh3 = 2 };

// Bytes that one checksum takes in a record: 4 or 8.
constexpr std::uint32_t checksum_size(ChecksumType type) {
  return type == ChecksumType::kCrc32c ? 4 : 8;
}

std::string_view to_string(ChecksumType type);                    // "crc32c", "xxh3"
Result<ChecksumType> parse_checksum_type(std::string_view text);  // kInvalidArgument

// Continues from `previous`, the crc32c of the bytes before; 0 to start.
std::uint32_t crc32c(ByteView bytes, std::uint32_t previous = 0);
// Continues each of three sums by bytes of its own. Of short ones, as keys and records are, three
// take little longer than one: a step of the sum has to wait for the one before it, not for those
// of the others.
void crc32c_three(const std::array<ByteView, 3>& bytes, std::uint32_t (&sums)[3]);
std::uint64_t xxh3_64(ByteView bytes);

// Either kind, widened to 64 bits.
std::uint64_t checksum(ChecksumType type, ByteView bytes);

// The same over bytes that come piece by piece.
class RunningChecksum {
 public:
  explicit RunningChecksum(ChecksumType type);
  ~RunningChecksum();
  RunningChecksum(const RunningChecksum&) = delete;
  RunningChecksum& operator=(const RunningChecksum&) = delete;

  void add(ByteView bytes);
  // Of all bytes so far.
  std::uint64_t value() const;

 private:
  struct Xxh3;
  std::unique_ptr<Xxh3> xxh3_;  // null: crc32c
  std::uint32_t crc_ = 0;
};

}  // namespace hexad
