// The world as one object: what a store is given when it is opened. The real one opens files; the
// simulated one (io/sim/sim_system.h) has devices by name, a virtual clock and fibers, all from one
// seed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/clock.h"
#include "io/device.h"
#include "io/executor.h"
#include "io/rng.h"

namespace hexad::io {

enum class OpenMode : std::uint8_t {
  kReadOnly,   // shared lock; writes are refused
  kReadWrite,  // exclusive lock
  kLook,       // no lock, so others may be writing; writes are refused
};

// Who has a device open for writing.
struct Holder {
  std::string who;               // for messages: what, and on which machine where that is known
  bool can_be_shut_out = false;  // by System::shut_out()
};

class System {
 public:
  virtual ~System() = default;
  virtual Executor& executor() = 0;
  virtual Clock& clock() = 0;
  virtual IoQueue& queue() = 0;
  // A seed for a generator; different at every call. Any thread.
  virtual std::uint64_t draw_seed() = 0;

  // Opens an existing regular file or block device, locks it, checks it after opening
  // (O_NOFOLLOW, O_CLOEXEC); or an image of a Ceph cluster (io/rbd/rbd_device.h), where `path` is
  // an address (io/device_path.h). Errors: kNotFound, kInvalidArgument (neither file nor block
  // device), kBusy (locked; the message names the holder where known), kUnsupported (no librbd),
  // kIo.
  virtual Result<std::unique_ptr<Device>> open_device(const std::string& path, OpenMode mode) = 0;
  // Creates a regular file of `size` bytes, all preallocated, mode 0600; an existing block device
  // or file is opened instead, and its own size stands (a shorter file is grown to `size`).
  // Errors: as open_device, kNoSpace.
  virtual Result<std::unique_ptr<Device>> create_device(const std::string& path,
                                                        std::uint64_t size) = 0;
  // Who has the device open for writing; nothing: nobody has. Changes nothing, but that a device of
  // which only that can be said is opened for a moment. Errors: as open_device, but kBusy.
  virtual Result<std::optional<Holder>> holder(const std::string& path);
  // Whoever has the device open for writing, on whatever machine, is shut out: when this returns,
  // no request of theirs has an effect any more, one that is under way included, and each fails
  // with kFenced. Nothing happens where nobody has it. Errors: as open_device, kUnsupported
  // (nothing shuts out who has a file or a block device of this machine).
  virtual Status shut_out(const std::string& path);
  // A device that create_device() would make there would be redundant itself (Geometry::redundant).
  virtual bool makes_redundant(const std::string&) { return false; }
  // Makes a directory of the operating system (0700) with its parents, for the index, which lives
  // in real files even where devices are simulated. Returns those that were not there, outermost
  // first; when it fails, none of them is. Errors: kInvalidArgument (a file is in the way),
  // kNoSpace, kIo.
  virtual Result<std::vector<std::string>> make_directory(const std::string& path);
  // Takes back one that make_directory() made, when a later step failed. Missing, or in use by
  // somebody else by now: ok.
  virtual Status remove_directory(const std::string& path);
  // Takes back what create_device() made, when a later step failed. Missing: ok. Simulated devices
  // stay.
  virtual Status remove_created(const std::string& path);
};

enum class QueueKind : std::uint8_t {
  kAuto,     // io_uring where the kernel allows it, else threads
  kUring,    // kUnsupported when refused
  kThreads,  // a pool of pread/pwrite
};

// The operating system. Errors: kUnsupported (kUring refused), kIo.
Result<std::unique_ptr<System>> make_real_system(QueueKind kind = QueueKind::kAuto);

}  // namespace hexad::io
