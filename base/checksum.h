// Checksums: the two that stored data may have.
//
// - crc32c: Castagnoli polynomial, initial value and final xor 0xffffffff (RFC 3720), so the one of
//   "123456789" is 0xe3069283
// - xxh3-64: the 64-bit XXH3 with seed 0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace hexad {

// Which checksum it is. The values are on disk, and are never reused.
enum class ChecksumType : std::uint8_t {
  kCrc32c = 1,  // crc32c, 32 bits
  kXxh3 = 2,    // xxh3-64, 64 bits
};

// Returns how many bytes one checksum takes in a record: 4 or 8.
constexpr std::uint32_t checksum_size(ChecksumType type) {
  return type == ChecksumType::kCrc32c ? 4 : 8;
}

// Returns "crc32c" or "xxh3".
std::string_view to_string(ChecksumType type);
// Returns the type that is called "crc32c" or "xxh3".
//
// Errors: kInvalidArgument.
Result<ChecksumType> parse_checksum_type(std::string_view text);

// Returns the crc32c of the bytes, continued from `previous`, the crc32c of the bytes before them;
// 0 begins.
std::uint32_t crc32c(ByteView bytes, std::uint32_t previous = 0);
// Continues each of three crc32c sums with bytes of its own.
//
// Cost: of short pieces, as keys and records are, three take little longer than one, since a step
// of a sum waits only for the step before it in the same sum.
void crc32c_three(const std::array<ByteView, 3>& bytes, std::uint32_t (&sums)[3]);
// Returns the crc32c of two runs of bytes, one behind the other, by that of each and the length of
// the second.
//
// Cost: 3 ns where that is a power of two, and as much again for each further bit in it; 40 on
// processors without carry-less multiplication.
std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);
// Returns the xxh3-64 of the bytes.
std::uint64_t xxh3_64(ByteView bytes);

// Returns the checksum of the bytes of either type, widened to 64 bits.
std::uint64_t checksum(ChecksumType type, ByteView bytes);

// A checksum of either type over bytes that come piece by piece.
//
// Threads: one at a time.
class RunningChecksum {
 public:
  // Begins a checksum, of no bytes yet.
  explicit RunningChecksum(ChecksumType type);
  ~RunningChecksum();
  RunningChecksum(const RunningChecksum&) = delete;
  RunningChecksum& operator=(const RunningChecksum&) = delete;

  // Continues the checksum with bytes.
  void add(ByteView bytes);
  // Returns the checksum of all bytes so far, widened to 64 bits.
  std::uint64_t value() const;

 private:
  struct Xxh3;
  std::unique_ptr<Xxh3> xxh3_;  // null: crc32c
  std::uint32_t crc_ = 0;
};

}  // namespace hexad
