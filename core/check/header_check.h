// The headers of a device, a label and two roots at either end (doc/format.md, "Device layout"),
// looked at where they lie, and its label put right: for fsck and scrub of an open store.
//
//   HD1 a copy of the label is written again only as the label with which the opening took the
//       device, and only where that copy is damaged, missing or older. What is a whole label of
//       another device, of a later rewrite or of another version stays: somebody else has written
//       there, or this one does not know all of it. So it is at an opening for writing, which takes
//       the label of the later rewrite and no device with labels of two
//   HD2 roots are not written here: the next one that the store writes goes over a bad slot, since
//       that is not the newest of its end (P10 of alloc/root_choice.h)
//
// Crash: as in alloc/label.h, one copy is durable before the other one is touched, and a copy that
// is the label is not touched at all.
#pragma once

#include <cstdint>
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
};

// About a device, in the words that the opening uses, too.
Finding header_finding(DeviceId device, const std::string& path, const std::string& problem);

// Of members that are usable, or were when they were looked at, in their order; all at once.
// `repair`: labels. Waits no longer than io::kSilence, but for writes. No root is written meanwhile
// (Membership::mutex()). Memory: 384 KiB for each.
std::vector<CheckedHeaders> check_headers(const std::vector<const Member*>& members, bool repair);

}  // namespace hexad::core
