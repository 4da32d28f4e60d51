// A device that a store has not had: made ready before any root names it, in the place of a lost
// one (core/opening/replacement.h) or beside all others (AD1 of doc/invariants.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

// Of a device of this size and path, with log area, units and slabs as on the data device `like`,
// and as many slabs as it has room for; a log device has none. Where it keeps pieces as one, slabs
// begin with those, unless it would have fewer than `slabs` for that. Errors: kInvalidArgument (its
// physical blocks are larger than those that the store is laid out for), kNoSpace (there is no room
// for one, or for the log).
Result<alloc::DeviceLayout> lay_out_like(const alloc::Label& like, const io::Geometry& geometry,
                                         const std::string& path, std::uint32_t slabs,
                                         alloc::DeviceRole role = alloc::DeviceRole::kData);

// Bytes of the smallest device with a log area as `like` and so many of its slabs.
std::uint64_t size_like(const alloc::DeviceLayout& like, std::uint64_t slabs);

// Whether a device of this layout has the first `needed` slabs, which zones use of device `id`.
// Errors: kNoSpace.
Status check_slabs(const std::string& path, DeviceId id, const alloc::DeviceLayout& layout,
                   std::uint32_t needed);

// A label as `like`, of a device of its own that has this number, layout and role.
alloc::Label new_label(const alloc::Label& like, DeviceId id, const alloc::DeviceLayout& layout,
                       io::System& system, alloc::DeviceRole role = alloc::DeviceRole::kData);

// What was there is gone, the log area is empty, the label comes last: without it the device is
// nobody's. `root`: that it shows from now on; null: none. `progress`: as FormatOptions::progress.
// Errors: kClosed (`progress`), those of the device.
Status make_ready(
    io::Device& device, const alloc::Label& label, const alloc::Root* root,
    const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress = {});

// A new device in the place of one that has left, whose number it gets.
struct InPlaceOf {
  DeviceId device = 0;
  // Why the former device itself may not be written over and take its own place, which it may where
  // it has lost writes.
  Status itself;
};

// What a device that is added, or takes the place of another one, has to fit.
struct AddedTo {
  std::uint32_t parities = 0;
  alloc::Root root;                      // of the store, as it is now
  alloc::Label label;                    // of a data device that is in use
  std::uint64_t file_size = 0;           // bytes of a file that is made
  std::uint32_t slabs = 0;               // of the device whose place it takes
  std::optional<InPlaceOf> in_place_of;  // nothing: it is one more
  alloc::DeviceRole role = alloc::DeviceRole::kData;
  std::string domain;  // its failure domain, where the store has some
  // It has to say that it is redundant itself: the store has no parity, and all others say so.
  bool redundant = false;
  // Asked before any byte changes. Empty: whatever has room for a slab will do.
  std::function<Status(const alloc::DeviceLayout&)> accept;
  // Told of the device before anything is asked of it that may wait without limit, and of null when
  // all that is over. Then it is open still. Empty: nobody wants to know.
  std::function<void(io::Device*)> under_way;
  // As FormatOptions::progress, while it is made ready.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

struct AddedDevice {
  Member member;
  bool created = false;  // there was no such file
};

// A device that is open for writing, with its lock, and has been looked at.
struct OpenedDevice {
  SurveyedDevice found;
  bool created = false;  // as in AddedDevice
};

// Opens it, or makes the file. What is wrong with it make_added_device() says. Waits for the kernel
// for as long as that likes. Errors: kAlreadyExists (a device of this store, under another name),
// kBusy, kNoSpace, those of System::open_device().
Result<OpenedDevice> open_added_device(const std::string& path, const AddedTo& to,
                                       io::System& system);
// It is closed, and gone where it was made.
void give_up_added(OpenedDevice opened, io::System& system);

// Makes it ready to be the next one of the store, or that of the number whose place it takes; it
// shows the root of `to`, which may be newer than the one that it was opened for. No root names it
// yet: what fails, and a crash, leave it nobody's, or a file that was made gone.
//
// Errors, and no byte of it has changed: kAlreadyExists (the path holds something else, or a device
// of this store), kInvalidArgument (its blocks; it is not redundant; it was written by a copy of
// this store), kNoSpace, those of `accept`. Later those of the device; kClosed (`progress`);
// kUnavailable (it does not answer, or has been given up meanwhile).
Result<AddedDevice> make_added_device(OpenedDevice opened, const AddedTo& to, io::System& system);
// Both in one.
Result<AddedDevice> make_added_device(const std::string& path, const AddedTo& to,
                                      io::System& system);

}  // namespace hexad::core
