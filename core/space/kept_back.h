// What may not be used again yet, since a write that nobody waits for any more could come over what
// is put there next.
//   V3  what was abandoned or released is not used again while a device that failed a write is in
//       the membership
//   V4  while a cell is on its way back to a device that does not answer, nothing that was in use
//       when it was sent is used again: what is freed, abandoned or released waits
//
// Lock: none; Space has it under its own.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "alloc/zone.h"
#include "alloc/zone_set.h"
#include "base/ids.h"
#include "core/space/members.h"
#include "io/device.h"

namespace hexad::core {

class KeptBack {
 public:
  // Outlive it.
  explicit KeptBack(const Members& members) : members_(members) {}

  // --- devices that did not take a write (V3) ---
  void suspect(const std::set<DeviceId>& failed) { suspects_.insert(failed.begin(), failed.end()); }
  void forget(const std::set<DeviceId>& gone);
  // Those that are still in use.
  std::set<DeviceId> suspects() const;
  bool has_suspects() const;
  bool is_suspect(DeviceId device) const { return suspects_.contains(device); }
  // All of them have left: what they did not take will not come any more. Else nothing happens.
  void end_suspects();

  // --- cells that a device has not answered (V4) ---
  // One is sent. Until the token is gone it is on its way.
  std::shared_ptr<Lsn> send_late(DeviceId device, io::IoQueue& queue);
  bool any_late() const { return !late_.empty(); }
  bool is_late(DeviceId device) const;
  // Whose they are. Precondition: any_late().
  io::IoQueue& late_queue() const { return *late_queue_; }
  void drop_answered();
  // Up to where what was freed may be used again, of `limit`. For whom something is held from now
  // on: these, and while a cell is on its way those from before as well, as if they were still
  // there.
  Lsn bound(Lsn limit, std::span<const alloc::ReadRange> readers);
  const std::vector<alloc::ReadRange>& readers() const { return readers_; }

  // --- what waits for either ---
  bool keeps() const { return has_suspects() || any_late(); }
  void keep(const alloc::Extent& abandoned) { units_.push_back(abandoned); }
  void keep(const std::vector<alloc::ZoneSlot>& released) {
    slabs_.insert(slabs_.end(), released.begin(), released.end());
  }
  struct Kept {
    std::vector<alloc::Extent> units;    // still in flight
    std::vector<alloc::ZoneSlot> slabs;  // still taken
  };
  // All of it, unless it has to wait yet: then nothing.
  Kept take();

 private:
  struct Late {
    DeviceId device;
    std::weak_ptr<const Lsn> begun;  // up to where bound() had come; gone when it is answered
  };

  const Members& members_;
  std::set<DeviceId> suspects_;  // those that have left since included
  std::vector<alloc::Extent> units_;
  std::vector<alloc::ZoneSlot> slabs_;
  std::vector<Late> late_;
  io::IoQueue* late_queue_ = nullptr;
  Lsn reclaimed_ = 0;  // the highest bound so far
  std::vector<alloc::ReadRange> readers_;
};

}  // namespace hexad::core
