// Units of space that unplaced blobs were promised before anybody knows where they will lie: as
// many units, and for a blob of more than one a free run of that length (core/space/allotment.h, V1
// and V2).
#pragma once

#include <cstdint>

namespace hexad::core {

struct PromisedUnits {
  std::uint64_t units = 0;
  std::uint64_t in_runs = 0;  // of them, those of blobs that need more than one, each in a row

  PromisedUnits() = default;
  // Of one blob; 0 units: nothing.
  explicit PromisedUnits(std::uint32_t of_blob)
      : units(of_blob), in_runs(of_blob > 1 ? of_blob : 0) {}

  bool operator==(const PromisedUnits&) const = default;
  // Whether `part` can be a part of it.
  bool includes(const PromisedUnits& part) const {
    return part.units <= units && part.in_runs <= in_runs;
  }
  PromisedUnits& operator+=(const PromisedUnits& more) {
    units += more.units;
    in_runs += more.in_runs;
    return *this;
  }
  // Precondition: includes(less).
  PromisedUnits& operator-=(const PromisedUnits& less) {
    units -= less.units;
    in_runs -= less.in_runs;
    return *this;
  }
};

inline PromisedUnits operator+(PromisedUnits a, const PromisedUnits& b) { return a += b; }
inline PromisedUnits operator-(PromisedUnits a, const PromisedUnits& b) { return a -= b; }

}  // namespace hexad::core
