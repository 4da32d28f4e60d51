// Numbers that identify transactions, openings, devices and stores.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/id.h"

namespace hexad {

// A log sequence number: the place of a transaction in the one order of all of a store. They begin
// at 1, and 0 means "before everything".
using Lsn = Id<struct LsnTag, std::uint64_t>;
// The largest log sequence number.
inline constexpr Lsn kMaxLsn = std::numeric_limits<Lsn>::max();

// A number that grows with every opening for writing and every change of the devices of a store;
// none is used twice.
using Epoch = Id<struct EpochTag, std::uint64_t>;

// The index of a device in the device table of a store; it stays for the life of the store.
using DeviceId = Id<struct DeviceTag, std::uint32_t>;

// A universally unique identifier (RFC 4122).
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};  // in the order of their digits

  // Compares byte by byte.
  auto operator<=>(const Uuid&) const = default;
  // Returns true if all bytes are zero.
  bool is_nil() const { return *this == Uuid{}; }
};

// Returns the lower-case hexadecimal digits in groups of 8-4-4-4-12, as in "0f3c7b1e-...".
std::string to_string(const Uuid& uuid);
// Reads what to_string() writes; digits may be of either case.
//
// Errors: kInvalidArgument.
Result<Uuid> parse_uuid(std::string_view text);

}  // namespace hexad
