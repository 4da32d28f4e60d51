// Small identifiers that travel through every layer.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hexad {

// Log sequence number: one per transaction, dense, starts at 1. 0 means "before everything".
using Lsn = std::uint64_t;
inline constexpr Lsn kMaxLsn = ~Lsn{0};

// Counts openings and membership changes of a store; grows, never repeats.
using Epoch = std::uint64_t;

// Index of a device in the store's device table; stable for the life of the store.
using DeviceId = std::uint32_t;

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Uuid&) const = default;
  bool is_nil() const { return *this == Uuid{}; }
};

// "0f3c7b1e-....": 8-4-4-4-12 lower-case hexadecimal digits.
std::string to_string(const Uuid& uuid);
// Errors: kInvalidArgument.
Result<Uuid> parse_uuid(std::string_view text);

}  // namespace hexad
