// A device that a store has not had: made ready before any root names it, in the place of a lost
// one (core/opening/replacement.h) or beside all others (AD1 of doc/invariants.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "alloc/label.h"
#include "alloc/root.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/opening/device_survey.h"
#include "core/space/members.h"
#include "io/system.h"

namespace hexad::core {

// Nobody else's: nothing is there, or a label of `store` with which `may_take` agrees. Errors:
// kAlreadyExists (something else is), those of reading it.
Status check_unused(const SurveyedDevice& found, const Uuid& store,
                    const std::function<bool(const alloc::Label&)>& may_take);

// Of a data device of this size and path, with log area, units and slabs as on `like`, and as many
// slabs as it has room for. Errors: kInvalidArgument (its physical blocks are larger than those
// that the store is laid out for), kNoSpace (there is no room for one).
Result<alloc::DeviceLayout> lay_out_like(const alloc::Label& like, const io::Geometry& geometry,
                                         const std::string& path);

// A label as `like`, of a device of its own that has this number and layout.
alloc::Label new_label(const alloc::Label& like, DeviceId id, const alloc::DeviceLayout& layout,
                       io::System& system);

// What was there is gone, the log area is empty, the label comes last: without it the device is
// nobody's. `root`: that it shows from now on; null: none. Errors: those of the device.
Status make_ready(io::Device& device, const alloc::Label& label, const alloc::Root* root);

// What a device that is added has to fit.
struct AddedTo {
  std::uint32_t parities = 0;
  alloc::Root root;             // of the store, as it is now
  alloc::Label label;           // of a data device that is in use
  std::uint64_t file_size = 0;  // bytes of a file that is made
  // Told of the device before anything is asked of it that may wait without limit, and of null when
  // all that is over. Then it is open still. Empty: nobody wants to know.
  std::function<void(io::Device*)> under_way;
};

struct AddedDevice {
  Member member;
  bool created = false;  // there was no such file
};

// Opens the device for writing, with its lock, or makes the file, and makes it ready to be the next
// one of the store, of which it shows the root of now. No root names it yet: what fails, and a
// crash, leave it nobody's, or a file that was made gone.
//
// Errors, and no byte of it has changed: kAlreadyExists (the path holds something else, or a device
// of this store), kInvalidArgument (its blocks; it was written by a copy of this store), kNoSpace,
// kBusy. Later those of the device; kUnavailable (it does not answer, or has been given up
// meanwhile).
Result<AddedDevice> make_added_device(const std::string& path, const AddedTo& to,
                                      io::System& system);

}  // namespace hexad::core
