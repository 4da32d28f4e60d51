// What a benchmark may do to a store, operation by operation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hexad::tools {

enum class Workload : std::uint8_t {
  kPut,        // a whole object
  kGet,        // a whole object
  kWrite,      // a range, one behind the other
  kRead,       // the same
  kRandWrite,  // a range anywhere
  kRandRead,   // the same
  kRandRw,     // a range anywhere, read or written
  kDelete,     // an object; each once
  kList,       // a page of names from anywhere on
  kStat,       // an object's size, version and so on
};

// In order of the enumerators.
std::span<const std::string_view> workload_names();
std::string_view to_string(Workload workload);
// Errors: kInvalidArgument, which names them all.
Result<Workload> parse_workload(std::string_view text);

// Ranges inside objects, as against whole objects.
constexpr bool is_of_ranges(Workload workload) {
  return workload >= Workload::kWrite && workload <= Workload::kRandRw;
}
// Sent with Store::submit(), `iodepth` of them in flight per thread; the others block, in threads x
// iodepth threads.
constexpr bool is_submitted(Workload workload) {
  return workload == Workload::kPut || workload == Workload::kWrite ||
         workload == Workload::kRandWrite || workload == Workload::kDelete;
}
// Needs the objects to be there before. Writes of ranges, too: an overwrite is to be measured.
constexpr bool needs_objects(Workload workload) { return workload != Workload::kPut; }
// Moves bytes of users.
constexpr bool moves_bytes(Workload workload) { return workload <= Workload::kRandRw; }
// One after the other when no distribution is asked for.
constexpr bool is_in_order(Workload workload) {
  return workload <= Workload::kRead || workload == Workload::kDelete ||
         workload == Workload::kStat;
}

}  // namespace hexad::tools
