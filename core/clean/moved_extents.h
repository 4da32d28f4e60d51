// Blobs that get another place: how they lie in the stripe that takes them, and what becomes of a
// list that shows them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/blob/placement_plan.h"
#include "core/record/record.h"

namespace hexad::core {

// One pack stripe for all items, with as few units as they fit into when the longest are laid
// first; 0 units: they fit into none of rules.max_pack_units. What it says of the items is PP2.
// Cost: O(n log n) for each number of units that is tried, which are few.
PackPlan lay_out_pack(std::span<const PlacementItem> items, const PlacementRules& rules);

// Where a packed blob is from now on.
struct PackedPlace {
  alloc::ZoneId zone = 0;
  std::uint32_t unit = 0;
  std::uint32_t cell = 0;
  std::uint32_t cell_offset = 0;  // bytes
};

// The extent of the list that shows the packed blob whose bytes are there; null: none does.
// Precondition: places that are known are in the list (LogBlobs::resolve_all()).
const Extent* find_packed(const ExtentList& extents, const PackedPlace& at);

// Whether the list shows `blob`, of which all is compared but whether it is forwarded.
bool shows(const ExtentList& extents, const Blob& blob);

// Gives `blob` its new place wherever the list shows it, and `forward`, which says whether the
// footer there names the list. Everything else of it stays, its sums too: the bytes are the same.
// Returns in how many extents; 0: the list shows it no more, or something else that lies in its
// place by now.
std::size_t move_blob(ExtentList& extents, const Blob& blob, const PackedPlace& to,
                      Forward forward);

// Shows `blob` instead of what `from` shows, wherever the list still shows that: the same bytes of
// the same blobs. `from`: next to each other, in order; the blob's user bytes are those, from the
// first on. Returns of how many bytes; 0: the list is as it was.
std::uint64_t show_instead(ExtentList& extents, const ExtentList& from, const Blob& blob);

}  // namespace hexad::core
