// A log of everything that was written to a set of disks, in one order over all of them: from it
// io/sim/crash_states.h makes the disks as a crash at any moment could have left them.
//
// Simulated devices record themselves when their system is given a recorder (io/sim/sim_system.h).
// Files that go around them (an LMDB environment, say) are disks too: add_disk() and record_...().
// Positions in the log are how a test relates its own events to a crash: whoever notes position()
// when a transaction is acknowledged knows that a crash at that position or later may not lose it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/device.h"
#include "io/sim/cow_image.h"
#include "io/sim/write_cache.h"

namespace hexad::io {

// Memory: every byte written, until the recorder is gone. One thread.
class CrashRecorder {
 public:
  using DiskIndex = std::uint32_t;

  struct Disk {
    std::string name;
    std::shared_ptr<const CowImage> initial;  // durable when the recording begins
    std::uint32_t physical_block = 4096;      // bytes
    std::uint32_t flush_domain = 0;           // a flush of one disk covers all of its domain
    bool tears = true;                        // false: a write is kept whole or lost
  };

  struct Event {
    enum class Kind : std::uint8_t {
      kSubmitWrite,
      kCompleteWrite,
      kDropWrite,  // failed without effect
      kResize,
      kSubmitFlush,
      kCompleteFlush,
      kFailFlush,
    };
    Kind kind = Kind::kSubmitWrite;
    DiskIndex disk = 0;
    OpId op = 0;               // pairs submission and completion
    std::uint64_t offset = 0;  // of a write; the new size of a resize
    std::uint64_t length = 0;
    std::shared_ptr<const Bytes> data;  // null: zeros
    WriteMode mode = WriteMode::kCached;
  };

  // A disk that shares its flush domain with nobody.
  DiskIndex add_disk(std::string name, std::shared_ptr<const CowImage> initial,
                     std::uint32_t physical_block = 4096);
  // Joins the domain of `with`.
  DiskIndex add_disk_in_domain_of(DiskIndex with, std::string name,
                                  std::shared_ptr<const CowImage> initial,
                                  std::uint32_t physical_block = 4096);
  // For a file whose owner relies on writes that do not tear, as LMDB does on its meta page.
  void keep_writes_whole(DiskIndex disk) { disks_[disk].tears = false; }
  // The index of a disk by name; asserts that there is one.
  DiskIndex disk_index(const std::string& name) const;

  OpId submit_write(DiskIndex disk, std::uint64_t offset, std::uint64_t length,
                    std::shared_ptr<const Bytes> data, WriteMode mode);
  void complete_write(OpId op);
  void drop_write(OpId op);
  OpId submit_flush(DiskIndex disk);
  void complete_flush(OpId op);
  void fail_flush(OpId op);
  void resize(DiskIndex disk, std::uint64_t new_size);

  // For files beside the devices, after the call has returned: pwrite, fdatasync, ftruncate.
  void record_write(DiskIndex disk, std::uint64_t offset, ByteView bytes,
                    WriteMode mode = WriteMode::kCached);
  void record_sync(DiskIndex disk);
  void record_resize(DiskIndex disk, std::uint64_t new_size) { resize(disk, new_size); }

  // Events so far.
  std::uint64_t position() const { return events_.size(); }
  const std::vector<Disk>& disks() const { return disks_; }
  const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Disk> disks_;
  std::vector<Event> events_;
  std::vector<DiskIndex> disk_of_op_;
};

}  // namespace hexad::io
