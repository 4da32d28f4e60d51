// How much space a store keeps for itself, so that when users have filled it, it can still make
// checkpoints, and with them take deletes, merge runs and close.
//
// One checkpoint at a time writes, beside what is there: a run, with zone images and all else that
// it holds, and a manifest; or one merge, and a manifest. What it replaces is free again only when
// a later log block carries a watermark that covers its root (R9). Hence the terms:
//   2 x (run + manifest)  this checkpoint's, and what the one before replaced and is not free yet
//   all runs there are    a merge of all of them is at most as long, and writes before it frees
//   one move              what a stripe holds that is moved so that others come back (7)
// The argument:
//   1  A run holds what the log held since the last checkpoint, since a record is in the log before
//      it is anywhere else and the log is trimmed by checkpoints only; and one image per zone.
//   2  Users leave the reserve alone (Space::allocate, try_reserve), and what unplaced blobs were
//      promised is not counted in it. So when a checkpoint begins, all of it is free but what the
//      last one replaced. That is deferred, and comes back with the next block that records the
//      watermark, which an idle store writes, too.
//   3  So the checkpoint finds its units. In one piece it needs few: pieces of a run are as short
//      as one unit where there is no longer run (core/runs/coded_file.h). The manifest is one
//      stripe; reserve_run() units in a row are left to it by everybody else, and it takes no
//      fewer, so that the place of the one before serves the one after next.
//   4  A delete is a record in the log. When the log is full a checkpoint makes room, and by 3 it
//      can. What is deleted is free after that. So is what a merge drops, and closing is a
//      checkpoint.
//   5  The longer the runs get, the larger the reserve has to be, and the runs grow out of the
//      reserve. Records whose data takes space of its own are refused when that is short (2), but
//      those with inline data are not: so while the reserve is not whole (Space::reserve_whole)
//      only what frees something is taken in. That leaves tombstones, at most a run of them in
//      each checkpoint; the merge of all runs that has to follow it drops them, and finds its
//      room: the last reserve has as much as the runs had then, and one run more than this
//      checkpoint has used.
//   6  A merge that goes on beside checkpoints (core/runs/run_merger.h) begins only where all that
//      it will write can be spared. Should users fill the rest meanwhile, it goes on into the last
//      term, which is for a merge. A checkpoint that finds the reserve not whole, or finds no
//      space, and a transaction that finds none, have it given up, and go on with what it had.
//   7  The cleaner (core/clean/cleaner.h) writes what is alive of some stripes into a new one
//      before the old ones die, and what a page still shows of its blobs into some, which takes
//      less than a page. It takes what is kept for one move from nobody: move_units(), beside all
//      else (Space::allocate_move), so that a checkpoint finds its own whatever is being moved. A
//      move that has its record frees more than it took, and two blocks later that is free (R9): so
//      the next move finds its units, too. A store whose reserve lacks no more than those takes in
//      what it always does (Space::reserve_whole).
// So the caller computes the reserve again after every checkpoint and merge, and where it is not
// whole then, merges all runs before the next checkpoint.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "core/record/record.h"
#include "core/record/shape.h"

namespace hexad::core {

struct ReserveInput {
  std::uint64_t log_bytes = 0;  // capacity of one copy of the log
  std::uint64_t run_bytes = 0;  // of all runs there are
  std::uint64_t runs = 0;
  std::uint64_t zones = 0;       // there are, or may come to be while the reserve stands
  std::uint32_t zone_units = 0;  // per slab
};

namespace reserve_internal {

// Bytes of an image for every unit. At worst each unit is a pack stripe of its own: its bit, a byte
// each for gap and length (a gap of more bytes passes over more units), four for the live bytes (a
// cell has at most 4 MiB, a stripe 2^27), five for the birth (alloc::kMaxImageAge) and four for the
// footer's crc. A deferred run has twelve. What is left is for marks of missing cells, a byte for
// every unit of a slot at worst.
inline constexpr std::uint64_t kImageBytesPerUnit = 17;
// Blocks, filters, fences and the footer of a run: an eighth, and so much in any case.
inline constexpr std::uint64_t kRunOverhead = 16 << 10;
// Of the manifest: itself, and each run without its pieces.
inline constexpr std::uint64_t kManifestBase = 512;
inline constexpr std::uint64_t kManifestRun = 128;
// Of a piece without its sums.
inline constexpr std::uint64_t kManifestPiece = 40;

}  // namespace reserve_internal

// User bytes of a stripe of one unit.
inline std::uint64_t stripe_bytes(const StoreShape& shape) { return shape.k() * shape.unit; }

// The longest run that a checkpoint may write. The log is the bound, and no size of the memtable:
// once that is full a checkpoint is asked for, but nobody waits for it.
inline std::uint64_t longest_run_bytes(const ReserveInput& in) {
  using namespace reserve_internal;
  const std::uint64_t images = in.zones * in.zone_units * kImageBytesPerUnit;
  return in.log_bytes + images + (in.log_bytes + images) / 8 + kRunOverhead;
}

// The longest manifest, when all runs there are, and one more, lie in pieces of one unit.
inline std::uint64_t longest_manifest_bytes(const ReserveInput& in, const StoreShape& shape) {
  using namespace reserve_internal;
  const std::uint64_t sums =
      shape.cells() + (shape.unit > shape.record.checksum_block
                           ? shape.k() * divide_up(shape.unit, shape.record.checksum_block)
                           : 0);
  const std::uint64_t pieces =
      divide_up(in.run_bytes + longest_run_bytes(in), stripe_bytes(shape)) + in.runs + 1;
  const std::uint64_t zone = 16 + std::uint64_t{8} * shape.cells();
  return kManifestBase + in.zones * zone + (in.runs + 1) * kManifestRun +
         pieces * (kManifestPiece + sums * checksum_size(shape.record.checksum));
}

// Units in a row that are left to the manifest: Space::set_reserve().
inline std::uint32_t reserve_run(const ReserveInput& in, const StoreShape& shape) {
  return static_cast<std::uint32_t>(
      divide_up(longest_manifest_bytes(in, shape), stripe_bytes(shape)));
}

// Units that are for moves: Space::set_reserve(). What a page shows of its blobs takes less than a
// page; where slabs are short so are stripes, and three of the longest will do.
inline std::uint32_t move_units(const StoreShape& shape) {
  const auto page = static_cast<std::uint32_t>(divide_up(kPageSpan, stripe_bytes(shape)) + 1);
  return std::max(shape.max_pack_units, std::min(page, 3 * shape.max_pack_units));
}

// Units, of k times the unit of user bytes each: Space::set_reserve().
inline std::uint64_t reserve_units(const ReserveInput& in, const StoreShape& shape) {
  const std::uint64_t stripe = stripe_bytes(shape);
  return 2 * (divide_up(longest_run_bytes(in), stripe) + reserve_run(in, shape)) +
         divide_up(in.run_bytes, stripe) + move_units(shape);
}

}  // namespace hexad::core
