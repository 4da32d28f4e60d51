// A change of membership: without devices that have failed or are absent, in a new epoch. The steps
// are the same for an opening and for a store that is open; each knows what its log is and who may
// wait for what.
//
//   1  whoever changes it sees to it that nothing is in flight, and which devices failed
//   2  stop using the devices that failed; more than m of them: give up
//   3  give the remaining log copies, and new ones in place of the lost, all blocks of the log
//   4  root of a new epoch that lists the devices as left, on all live devices
//   5  fence of the new epoch behind the last block
//
// A crash before 4 is committed: the old root stands, nothing has been acknowledged that needs
// another. After 4: the devices that left are not asked any more, so their older blocks and cells
// cannot come back. A device that fails 3, 4 or 5 leaves, too, and they are done again without it.
// What was written for nothing may be on some devices, or get there yet: so nothing is written over
// it. The root of the next attempt has a sequence of its own (RW1), its fence a place of its own
// (A5), and a higher epoch when the root before it was committed.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "alloc/root.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/membership/root_writer.h"
#include "core/space/members.h"
#include "io/device.h"
#include "kv/log/log_area.h"
#include "kv/log/log_writer.h"

namespace hexad::core {

class MembershipSteps {
 public:
  virtual ~MembershipSteps() = default;

  // 2. Errors: too many have failed.
  virtual Status stop_using(const std::set<DeviceId>& failed) = 0;
  // 3. `failed` gets devices that did not take it. Errors: the log cannot be what it should be.
  virtual Status complete_log(const std::vector<kv::LogArea>& areas,
                              const std::vector<DeviceId>& ids, std::set<DeviceId>& failed) = 0;
  // 4. The last LSN that counted on the devices that leave.
  virtual Lsn last_counted() const = 0;
  // The end of the log before the new epoch, and whatever else the root says.
  virtual Status describe(alloc::Root& next) const = 0;
  // Sends it. Without an error: committed, or `failed` has devices. Errors: it cannot be.
  virtual Status write(const alloc::Root& next, std::set<DeviceId>& failed) = 0;
  // 5.
  virtual Result<kv::PreparedBlock> begin_epoch(const std::vector<kv::LogArea>& areas,
                                                Epoch epoch) = 0;
  // Sends requests of the fence again that were refused (io/refused.h).
  virtual Status send_again(io::IoBatch& batch) = 0;
};

// Steps 2 to 5, until no device fails them. `roots` is what write() sends with.
Status change_membership(const Members& members, std::uint32_t parities, const RootWriter& roots,
                         MembershipSteps& steps, std::set<DeviceId> failed);

}  // namespace hexad::core
