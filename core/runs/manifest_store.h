// Puts an encoded manifest into a stripe of its own, and gets it back when nothing is known yet but
// the root's ManifestAddress: no zone is. doc/format.md#manifest
//
// The root has a checksum of each cell, and of the whole. So any k cells that match theirs give the
// manifest. Roots from before 2026-11-26 have that of the whole alone: then a read that fails tries
// which cells may be bad, the fewest first: those that cannot be read are, and any others so that
// no more than m are. Every loss or damage of m cells is survived (without checksums of the cells
// where k+m is small enough for all choices to be tried, all up to 16+4, see kMaxManifestChoices);
// more is an error, never another manifest: what is handed out has the root's checksum.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "alloc/root.h"
#include "base/bytes.h"
#include "base/error.h"
#include "core/record/shape.h"
#include "core/runs/manifest.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "ec/codec.h"
#include "io/device.h"

namespace hexad::core {

// Sets of k cells from which the manifest is put together before giving up. 16+4 has 4845.
inline constexpr int kMaxManifestChoices = 8192;

class ManifestStore {
 public:
  // All outlive it.
  ManifestStore(const StoreShape& shape, const ec::Codec& codec, const Members& members,
                Counters& counters)
      : shape_(shape), codec_(codec), members_(members), counters_(counters) {}

  // Durable when it returns, at least k cells. The stripe is the caller's, to be published or
  // abandoned; it has at least `space.reserve_run()` units (core/space/reserve.h, 3). `failed` gets
  // the devices that did not take their cells, whatever the outcome: they leave the membership
  // before the root names the address (R13). Errors, and no space is taken: kNoSpace, kTooBig
  // (kMaxManifestBytes), kUnavailable or that of a device (fewer than k cells). Precondition: not
  // empty.
  Result<alloc::ManifestAddress> write(Space& space, ByteView manifest,
                                       std::set<DeviceId>& failed) const;

  // The bytes as written. A device is asked when it is usable. Memory: k+m cells.
  // Errors, naming the devices: kUnavailable (fewer than k cells can be read), kCorruption (fewer
  // than k are what was written, or no choice of them gives the manifest; or no such place).
  Result<std::string> read(const alloc::ManifestAddress& address) const;

 private:
  struct Cells;

  Status check(const alloc::ManifestAddress& address) const;
  void read_roles(const alloc::ManifestAddress& address, Cells& cells, std::uint32_t from,
                  std::uint32_t to) const;
  Status put_together(const alloc::ManifestAddress& address, Cells& cells) const;

  const StoreShape& shape_;
  const ec::Codec& codec_;
  const Members& members_;
  Counters& counters_;
};

}  // namespace hexad::core
