// Who shows what is alive in a pack stripe: the lists that its footer names, and those that forward
// keys with its place name (doc/invariants.md#owners).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"
#include "core/blob/pack_stripe.h"
#include "core/clean/owned_extents.h"
#include "core/record/record.h"
#include "core/space/log_blobs.h"

namespace hexad::core {

// A list of extents that shows a blob.
struct ShowingList {
  std::string key;
  Blob blob;                      // as that list has it
  std::uint64_t value_bytes = 0;  // of the list, as encoded
};

// A blob that is alive, and all lists that show it.
struct OwnedBlob {
  PackEntry entry;  // what the footer says, but where in the object: that is so in the first list
  std::vector<ShowingList> lists;  // not empty
};

struct OwnersQuery {
  alloc::Extent where;
  std::uint64_t live = 0;             // bytes of the stripe
  std::uint64_t most_list_bytes = 0;  // of all lists that show one blob, where there are several
};

// One state of the metadata. The scan visits the keys with a prefix, until that says false.
struct StateReads {
  GetValue get;
  std::function<Status(std::string_view prefix,
                       const std::function<Result<bool>(std::string_view key)>& visit)>
      scan;
};

// By ascending cell and offset. Errors: kNotFound (not all owners are known, or there are too many
// of them); those of reading; kCorruption.
Result<std::vector<OwnedBlob>> find_owners(const OwnersQuery& query, const PackFooter& footer,
                                           const RecordShape& shape, const LogBlobs& log_blobs,
                                           const StateReads& reads);

}  // namespace hexad::core
