// The headers of a device, a label and two roots at either end (doc/format.md, "Device layout"),
// looked at where they lie, and its label put right: for fsck and scrub of an open store.
//
//   HD1 a copy of the label is written again only as the label with which the opening took the
//       device, and only where that copy is damaged, missing or older. What is a whole label of
//       another device, of a later rewrite or of another version stays: somebody else has written
//       there, or this one does not know all of it. So it is at an opening for writing, which takes
//       the label of the later rewrite and no device with labels of two
//   HD2 no root is written here: each one that the store writes goes over a bad slot, since that is
//       not the newest of its end (P10 of alloc/root_choice.h). To put a bad slot right the store
//       writes one more, to all devices as ever, and another one where both slots of an end are bad
//
// Crash: as in alloc/label.h, one copy is durable before the other one is touched, and a copy that
// is the label is not touched at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/api/types.h"
#include "core/space/members.h"

namespace hexad::core {

// Of one device.
struct CheckedHeaders {
  std::vector<Finding> findings;  // one for each bad slot, and one for what was not looked at
  std::uint32_t bad = 0;          // slots of these
  std::uint32_t left = 0;         // of those, what is not right again
  bool silent = false;            // it does not answer: not all of its slots were looked at
  // Slots of it that have no root, and what `findings` says of each.
  std::map<std::size_t, std::size_t> bad_roots;
  bool may_write_roots = true;  // every slot was looked at, and none is somebody else's
};

// What is to become of slots that are bad: they are written again only where that does no harm
// (HD1, HD2).
enum class BadHeaders : std::uint8_t { kLeft, kMended };

// About a device, in the words that the opening uses, too.
Finding header_finding(DeviceId device, const std::string& path, const std::string& problem);

// Of members that are usable, or were when they were looked at, in their order; all at once.
// kMended: labels. Waits no longer than io::kSilence, but for writes. No root is written meanwhile
// (Membership::mutex()). Memory: 384 KiB for each.
std::vector<CheckedHeaders> check_headers(const std::vector<const Member*>& members,
                                          BadHeaders bad);

// Whether roots help, all of them being written to all devices (HD2).
bool may_mend_roots(const std::vector<CheckedHeaders>& checked);
// After roots were written: what another look at the same device shows is put right is repaired.
void settle_roots(CheckedHeaders& checked, const CheckedHeaders& again);

}  // namespace hexad::core
