// The first step of opening: which of the given paths are devices of one store, and what their
// labels and roots say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/label.h"
#include "alloc/root_choice.h"
#include "base/error.h"
#include "core/api/options.h"
#include "core/api/pool.h"
#include "core/api/types.h"
#include "core/opening/pool_options.h"
#include "core/space/members.h"
#include "io/system.h"

namespace hexad::core {

struct SurveyedDevice {
  SurveyedDevice() = default;
  SurveyedDevice(SurveyedDevice&&) = default;
  SurveyedDevice& operator=(SurveyedDevice&&) = default;
  // A device that has not answered yet is closed when it has.
  ~SurveyedDevice();

  std::string path;
  std::unique_ptr<io::Device> device;  // null: could not be opened
  std::optional<alloc::Label> label;   // nothing: not readable
  bool sound_label = false;            // the label does not contradict itself
  std::optional<Error> problem;        // of opening, label or roots
  std::optional<Error> damaged_copy;   // the other label copy is not as good
  std::vector<std::string> bad_roots;  // of the four root slots, those without a valid one
  std::vector<alloc::Root> roots;

  std::uint32_t bad_slots() const {
    return static_cast<std::uint32_t>(bad_roots.size()) + (damaged_copy.has_value() ? 1 : 0);
  }
  // The other label copy is whole, and of another version: it is not written over (HD1 of
  // core/check/header_check.h).
  bool other_copy_stays() const {
    return damaged_copy.has_value() && damaged_copy->code == ErrorCode::kUnsupported;
  }
};

struct Survey {
  Uuid store;
  alloc::Label label;  // of any device of the store: what is equal on all
  PoolOptions options;
  std::vector<SurveyedDevice> devices;  // in the order given
  io::OpenMode mode = io::OpenMode::kReadOnly;
  bool of_the_past = false;  // of snapshots: no opening will ever write here
  // Fast directories to use: as described, else as the labels say.
  std::vector<std::string> fast_directories;
};

// One path alone: its label and roots, or its problem.
SurveyedDevice survey_device(const std::string& path, io::OpenMode mode, io::System& system);
// Whether the fast directory of an index that is in use is the store's still, as far as the log
// beside it says; where its pool was removed, and another one was made at the path, it is not.
// Errors: kConflict.
Status check_index_directory(const std::string& index_directory, const Uuid& store,
                             io::System& system);
// Of labels of two devices of one store. Errors: kCorruption.
Status check_same_shape(const alloc::Label& first, const alloc::Label& other);
// What is shown as DeviceStatus::state of a device that is judged so.
std::string state_of(alloc::Standing standing);

// Opens every path; those that fail are in the result with their problem, and so are those that do
// not answer within io::kReadPatience (kUnavailable), and those whose label contradicts itself or
// the labels of its store. The store is the one that most labels name. For writing, a device whose
// problem is not its own (io/os_error.h) is an error, since going on without it would make it
// stale; where `unwritable` says so, one that will not be writable later either is among those that
// failed. Errors: kNotFound (no path has a label of a store; the message lists each), kBusy (a
// device is in use), kInvalidArgument (no paths), kExhausted, kReadOnly, kUnavailable
// (a device does not answer, for writing; or so few do that none has a label). kUnsupported: what
// another version wrote; for writing also what has features that forbid it to this program.
Result<Survey> survey_devices(const PoolDescription& pool, io::OpenMode mode, io::System& system,
                              Unwritable unwritable = Unwritable::kRefuse);

// The survey's devices under the newest root. `members` gets a row for each of the root's table;
// `unrecognised` the paths that are no members, with state and detail.
struct Assignment {
  alloc::RootChoice choice;
  std::vector<Member> members;
  std::vector<DeviceStatus> unrecognised;
};
// Errors: kUnavailable (too few roots), kExhausted (the same, and some could not be read just now).
Result<Assignment> assign_members(Survey& survey);

}  // namespace hexad::core
