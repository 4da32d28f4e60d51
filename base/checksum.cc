#include "base/checksum.h"

#include <isa-l/crc.h>
#include <nmmintrin.h>
#include <wmmintrin.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/crc32c_moved.h"
#include "base/crc32c_polynomials.h"

namespace hexad {

std::string_view to_string(ChecksumType type) {
  return type == ChecksumType::kCrc32c ? "crc32c" : "xxh3";
}

Result<ChecksumType> parse_checksum_type(std::string_view text) {
  if (text == "crc32c") return ChecksumType::kCrc32c;
  if (text == "xxh3" || text == "xxh3-64") return ChecksumType::kXxh3;
  return Error{ErrorCode::kInvalidArgument, "\"" + std::string(text) + "\" is not a checksum type",
               "Use crc32c or xxh3."};
}

namespace {

// Below this many bytes the instruction is done sooner than ISA-L: twice to nine times as fast for
// keys and small records (doc/benchmarks.md#checksums).
constexpr std::size_t kShort = 256;

template <typename Word>
Word load(const std::byte* bytes) {
  Word word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

std::uint32_t short_crc32c(const std::byte* at, std::size_t size, std::uint32_t state) {
  std::uint64_t wide = state;
  for (; size >= 8; size -= 8, at += 8) wide = _mm_crc32_u64(wide, load<std::uint64_t>(at));
  state = static_cast<std::uint32_t>(wide);
  if ((size & 4) != 0) {
    state = _mm_crc32_u32(state, load<std::uint32_t>(at));
    at += 4;
  }
  if ((size & 2) != 0) {
    state = _mm_crc32_u16(state, load<std::uint16_t>(at));
    at += 2;
  }
  return (size & 1) != 0 ? _mm_crc32_u8(state, load<std::uint8_t>(at)) : state;
}

}  // namespace

std::uint32_t crc32c(ByteView bytes, std::uint32_t previous) {
  if (bytes.size() < kShort) return ~short_crc32c(bytes.data(), bytes.size(), ~previous);
  // crc32_iscsi takes an int length and a non-const pointer that it only reads.
  constexpr std::size_t kStep = std::size_t{1} << 30;
  std::uint32_t state = ~previous;
  while (!bytes.empty()) {
    const std::size_t step = std::min(bytes.size(), kStep);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(step), state);
    bytes = bytes.subspan(step);
  }
  return ~state;
}

void crc32c_three(const std::array<ByteView, 3>& bytes, std::uint32_t (&sums)[3]) {
  const std::size_t longest = std::max({bytes[0].size(), bytes[1].size(), bytes[2].size()});
  if (longest >= kShort) {
    for (std::size_t i = 0; i < 3; ++i) sums[i] = crc32c(bytes[i], sums[i]);
    return;
  }
  const std::size_t together =
      std::min({bytes[0].size(), bytes[1].size(), bytes[2].size()}) / 8 * 8;
  std::uint64_t a = static_cast<std::uint32_t>(~sums[0]);
  std::uint64_t b = static_cast<std::uint32_t>(~sums[1]);
  std::uint64_t c = static_cast<std::uint32_t>(~sums[2]);
  for (std::size_t at = 0; at < together; at += 8) {
    a = _mm_crc32_u64(a, load<std::uint64_t>(bytes[0].data() + at));
    b = _mm_crc32_u64(b, load<std::uint64_t>(bytes[1].data() + at));
    c = _mm_crc32_u64(c, load<std::uint64_t>(bytes[2].data() + at));
  }
  const std::uint64_t states[3] = {a, b, c};
  for (std::size_t i = 0; i < 3; ++i) {
    sums[i] = ~short_crc32c(bytes[i].data() + together, bytes[i].size() - together,
                            static_cast<std::uint32_t>(states[i]));
  }
}

namespace {

// x to the power of 8 * 2^i, times `factor`: what 2^i bytes of zeros do to the sum before them.
constexpr std::array<std::uint32_t, 64> make_shifts(std::uint32_t factor) {
  std::array<std::uint32_t, 64> shifts{};
  std::uint32_t power = crc32c_math::power_of_x(8);
  for (std::uint32_t& shift : shifts) {
    shift = crc32c_math::product(power, factor);
    power = crc32c_math::product(power, power);
  }
  return shifts;
}

constexpr std::array<std::uint32_t, 64> kShifts = make_shifts(crc32c_math::kOne);
// The instruction multiplies with x^33 more: with x, since the product of two polynomials of 32
// bits has 63, and with x^32, since it computes the sum of those.
constexpr std::array<std::uint32_t, 64> kShiftsLess33 = make_shifts(crc32c_math::power_of_x(-33));

}  // namespace

std::uint32_t crc32c_moved(std::uint32_t sum, std::uint64_t size) {
  for (std::size_t i = 0; size != 0; ++i, size >>= 1) {
    if ((size & 1) != 0) sum = crc32c_math::product(kShifts[i], sum);
  }
  return sum;
}

__attribute__((target("pclmul"))) std::uint32_t crc32c_moved_by_clmul(std::uint32_t sum,
                                                                      std::uint64_t size) {
  for (std::size_t i = 0; size != 0; ++i, size >>= 1) {
    if ((size & 1) == 0) continue;
    const __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(sum)),
                             _mm_cvtsi32_si128(static_cast<int>(kShiftsLess33[i])), 0);
    sum = static_cast<std::uint32_t>(
        _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product))));
  }
  return sum;
}

// What is inverted at both ends of a sum cancels out.
std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  const bool clmul = __builtin_cpu_supports("pclmul") != 0;
  return second ^
         (clmul ? crc32c_moved_by_clmul(first, second_size) : crc32c_moved(first, second_size));
}

std::uint64_t xxh3_64(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t checksum(ChecksumType type, ByteView bytes) {
  return type == ChecksumType::kCrc32c ? crc32c(bytes) : xxh3_64(bytes);
}

struct RunningChecksum::Xxh3 {
  Xxh3() : state(XXH3_createState(), XXH3_freeState) {
    HEXAD_ASSERT(state != nullptr && XXH3_64bits_reset(state.get()) == XXH_OK);
  }
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state;
};

RunningChecksum::RunningChecksum(ChecksumType type)
    : xxh3_(type == ChecksumType::kXxh3 ? std::make_unique<Xxh3>() : nullptr) {}
RunningChecksum::~RunningChecksum() = default;

void RunningChecksum::add(ByteView bytes) {
  if (xxh3_ == nullptr) {
    crc_ = crc32c(bytes, crc_);
  } else {
    HEXAD_ASSERT(XXH3_64bits_update(xxh3_->state.get(), bytes.data(), bytes.size()) == XXH_OK);
  }
}

std::uint64_t RunningChecksum::value() const {
  return xxh3_ == nullptr ? crc_ : XXH3_64bits_digest(xxh3_->state.get());
}

}  // namespace hexad
