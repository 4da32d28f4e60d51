// Disks that several machines see, and that one of them has: persistent reservations, of SCSI and
// NVMe alike (linux/pr.h; SPC-4, 5.13; NVM Express, Reservations). Their address is
// reserved:/dev/disk/by-id/...
//
//   PR1 who opens such a disk for writing registers a key and reserves the disk, with exclusive
//       access, before anything is read: where another machine has it, the disk is busy
//   PR2 nobody gives a reservation back. Whoever was shut out has no registration, so that the disk
//       refuses each of their requests for as long as somebody else has it; without any reservation
//       it would take them again, from a process that wakes up after years
//   PR3 to shut somebody out is to preempt them, and to abort what they have under way: when it is
//       answered, no request of theirs has an effect any more. Who has shut them out has the disk
//
// A reservation is of a machine (of its port), not of a process: it survives both, and what opens
// next on the same machine has it already. Among the processes of a machine the lock decides that
// any file has. So a machine, or a virtual one with a port of its own, is what can be shut out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/system.h"

namespace hexad::io {

// What a machine registers: the same at every opening. Never 0.
std::uint64_t reservation_key(std::string_view machine_id);
// Of /etc/machine-id, or, where there is none, of the name of the host.
std::uint64_t own_reservation_key();

// PR1. `name`: for messages. Errors: kBusy (another machine has it), kUnsupported (the disk, or
// what leads to it, knows no reservations, or is of several paths), kInvalidArgument (not
// permitted), kUnavailable.
Status reserve_disk(int fd, const std::string& name);
// For who only reads, and changes nothing. Errors: kBusy (another machine has it). Where the system
// cannot say who has it, it counts as free: its reads are refused then.
Status find_disk_free(int fd, const std::string& name);
// As System::holder(). Nobody can be shut out where the system cannot say by what key; then, and
// where the key is this machine's, a disk that nobody else has is reserved for this machine.
Result<std::optional<Holder>> reservation_holder(int fd, const std::string& name);
// PR3. Of a disk that nobody has, or this machine, it becomes or stays the caller's. Errors: as
// reserve_disk() but kBusy; kUnsupported also where the system cannot say who has it.
Status preempt_disk(int fd, const std::string& name);

}  // namespace hexad::io
