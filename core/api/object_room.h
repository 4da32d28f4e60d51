// What a store has room for, of objects of one size.
#pragma once

#include <cstdint>

namespace hexad {

// How much a store can hold of objects of one size, and how much more of them it can take now: in
// bytes of the objects, each written whole and once, of data that no codec makes smaller.
//
// An estimate that counts what objects of that size take besides their bytes: units that they fill
// in part, footers of stripes that they share, their metadata, and what the store keeps free for
// more metadata. It says up to a few hundredths less than fits rather than more; a tenth of
// objects of 1 KiB. A large object that is overwritten in small pieces comes to lie as objects of
// their size do: for how much of it there is room they say.
struct ObjectRoom {
  std::uint64_t object_size = 0;  // bytes
  std::uint64_t usable = 0;       // that the store holds when nothing else is in it
  std::uint64_t available = 0;    // that it takes now, with what moves would bring for a commit

  // Returns true if all fields are equal.
  bool operator==(const ObjectRoom&) const = default;
};

}  // namespace hexad
