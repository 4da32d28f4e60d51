// What of a store is lost: ranges of objects that more cells are damaged of than parity gives back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hexad {

// A range of an object, or of a value in its omap, that could not be read when it was looked at.
struct Damage {
  std::string collection;  // of the object
  std::string name;        // of the object
  // Set where the range is one of the value under this key of the omap (the empty key: of the
  // header); nothing: of the object's data.
  std::optional<std::string> omap_key;
  std::uint64_t offset = 0;     // bytes from the start of the object, or of the value
  std::uint64_t length = 0;     // bytes
  std::int64_t first_seen = 0;  // when a read or a scrub met it, nanoseconds since 1970-01-01 UTC
  std::string problem;          // what is wrong with the stripe
  bool acknowledged =
      false;  // Store::acknowledge_damage() was told of it: health does not count it

  // Returns true if all fields are equal.
  bool operator==(const Damage&) const = default;
};

// Names an object.
struct ObjectName {
  std::string collection;  // where it is
  std::string name;        // what it is called there
};

}  // namespace hexad
