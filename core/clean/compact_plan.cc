#include "core/clean/compact_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/record/blob_uses.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

// Adds what `extent` shows to the pieces.
void add_to_pieces(std::vector<CompactPiece>& pieces, const Extent& extent,
                   const CompactRules& rules) {
  const compression::Algorithm algorithm = extent.blob.frames.algorithm;
  for (std::uint64_t done = 0; done < extent.length;) {
    const std::uint64_t at = extent.offset + done;
    const bool goes_on = !pieces.empty() && pieces.back().from.back().end() == at &&
                         pieces.back().algorithm == algorithm &&
                         pieces.back().length() < rules.piece_bytes;
    if (!goes_on) pieces.push_back({{}, algorithm});
    CompactPiece& piece = pieces.back();
    const std::uint64_t room = rules.piece_bytes - (goes_on ? piece.length() : 0);
    const std::uint64_t length = std::min(room, extent.length - done);
    piece.from.push_back(slice(extent, at, length));
    done += length;
  }
}

bool may_be_victim(const BlobUse& use, const CompactRules& rules) {
  const Blob& blob = *use.blob;
  if (use.hidden() > 0) {
    return use.shown * 1024 <= std::uint64_t{blob.raw} * rules.most_shown;  // KP1
  }
  return blob.placement == Placement::kPrivate && use.shown >= blob.raw &&
         is_lone(blob.stored, blob.where.units * rules.stripe_bytes, rules.most_filled);  // KP5
}

// What dies with it.
std::uint64_t space_of(const Blob& blob, const CompactRules& rules) {
  return blob.placement == Placement::kPrivate ? blob.where.units * rules.stripe_bytes
                                               : blob.stored;
}

}  // namespace

CompactPlan plan_compaction(const ExtentList& extents, const CompactRules& rules) {
  CompactPlan plan;
  std::set<BlobId> victims;
  for (const BlobUse& use : blob_uses(extents)) {
    const Blob& blob = *use.blob;
    if (!may_be_victim(use, rules)) continue;
    if (blob.placement == Placement::kLog) {
      plan.unplaced = true;
      continue;
    }
    victims.insert(blob.id());
    plan.frees += space_of(blob, rules);
  }
  std::size_t others = 0;
  for (const Extent& extent : extents) {
    const bool own = !extent.is_inline() && extent.blob.share == 0;
    if (own && victims.contains(extent.blob.id())) {
      add_to_pieces(plan.pieces, extent, rules);
    } else {
      ++others;
    }
  }
  const std::size_t after = others + plan.pieces.size();
  if (after > extents.size() && after > kCrowdedExtents) return {{}, 0, plan.unplaced};  // KP4
  return plan;
}

UnshownBytes unshown_bytes(const ExtentList& extents, const CompactRules& rules) {
  UnshownBytes bytes;
  for (const BlobUse& use : blob_uses(extents)) {
    if (use.blob->placement == Placement::kLog) continue;
    const std::uint64_t unshown = space_of(*use.blob, rules) - (use.blob->stored - use.hidden());
    bytes.all += unshown;
    if (may_be_victim(use, rules)) bytes.in_victims += unshown;
  }
  return bytes;
}

}  // namespace hexad::core
