#include "io/os/reservation.h"

#include <linux/pr.h>
#include <scsi/sg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/checksum.h"
#include "io/os_error.h"

namespace hexad::io {

namespace {

// Of Linux 6.19, whose header not every system has.
struct HeldReservation {
  std::uint64_t key = 0;
  std::uint32_t generation = 0;
  std::uint32_t type = 0;
};
constexpr unsigned long kReadReservation = _IOR('p', 207, HeldReservation);

// What a disk answers a command with, when that is no error of the system's: SCSI's status, in the
// lowest byte of what ioctl() returns, or NVMe's.
constexpr int kScsiConflict = 0x18;
constexpr int kNvmeConflict = 0x83;

// "Check condition": mostly a unit attention, which says that something has happened, a preemption
// or a reset say, and which the next command does not meet.
constexpr int kScsiAttention = 0x02;
constexpr int kMostTries = 5;

bool is_conflict(int rc) {
  if (rc < 0) return errno == EBADE;
  return rc > 0 && ((rc & 0xff) == kScsiConflict || (rc & 0xff) == kNvmeConflict);
}

template <typename Argument>
int call(int fd, unsigned long request, Argument& argument) {
  for (int tries = 1;;) {
    const int rc = ioctl(fd, request, &argument);
    if (rc == kScsiAttention && tries < kMostTries) {
      ++tries;
    } else if (rc >= 0 || errno != EINTR) {
      return rc;
    }
  }
}

// Paths to one disk, of which the driver takes one for a reservation and another for data.
bool has_several_paths(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISBLK(status.st_mode)) return false;
  std::string uuid;
  std::ifstream("/sys/dev/block/" + std::to_string(major(status.st_rdev)) + ":" +
                std::to_string(minor(status.st_rdev)) + "/dm/uuid") >>
      uuid;
  return uuid.starts_with("mpath-");
}

// Of a command that did not go well. Never of the medium: it says nothing of what the disk holds.
Error refused(int rc, const std::string& name, const std::string& what) {
  const int number = errno;
  if (rc < 0 && (number == ENOTTY || number == EOPNOTSUPP || number == EINVAL)) {
    return {
        ErrorCode::kUnsupported,
        name + ": " + what + ": it knows no persistent reservations, or its driver passes none on",
        "Name it without \"reserved:\", if no other machine sees it."};
  }
  if (rc < 0 && (number == EPERM || number == EACCES)) {
    return {ErrorCode::kInvalidArgument, name + ": " + what + ": not permitted",
            "Run as root, and name the whole disk, not a partition of it."};
  }
  const std::string why =
      rc < 0 ? std::generic_category().message(number)
             : "the disk, or what leads to it, refused that with status " + std::to_string(rc);
  return {ErrorCode::kUnavailable, name + ": " + what + ": " + why, "Try again."};
}

// Whatever key this machine had there before.
Status register_key(int fd, std::uint64_t key, const std::string& name) {
  if (has_several_paths(fd)) {
    return Error{ErrorCode::kUnsupported,
                 name + ": it is a multipath device, whose paths are not reserved as one",
                 "Name a path to the disk, or NVMe, which has paths of its own."};
  }
  pr_registration registration{};
  registration.new_key = key;
  registration.flags = PR_FL_IGNORE_KEY;
  const int rc = call(fd, IOC_PR_REGISTER, registration);
  if (rc == 0) return {};
  return refused(rc, name, "a key for its reservation cannot be registered");
}

// False: another machine has it.
Result<bool> try_reserve(int fd, std::uint64_t key, const std::string& name) {
  HEXAD_TRY(register_key(fd, key, name));
  pr_reservation reservation{};
  reservation.key = key;
  reservation.type = PR_EXCLUSIVE_ACCESS;
  const int rc = call(fd, IOC_PR_RESERVE, reservation);
  if (rc == 0) return true;
  if (is_conflict(rc)) return false;
  return refused(rc, name, "it cannot be reserved");
}

// PERSISTENT RESERVE IN, READ RESERVATION, for kernels that have no call of their own for it.
Result<std::uint64_t> ask_scsi(int fd, const std::string& name) {
  std::array<unsigned char, 10> command = {0x5e, 0x01, 0, 0, 0, 0, 0, 0, 24, 0};
  std::array<unsigned char, 24> answer{};
  std::array<unsigned char, 32> sense{};
  sg_io_hdr_t header{};
  header.interface_id = 'S';
  header.dxfer_direction = SG_DXFER_FROM_DEV;
  header.cmd_len = command.size();
  header.cmdp = command.data();
  header.dxfer_len = answer.size();
  header.dxferp = answer.data();
  header.mx_sb_len = sense.size();
  header.sbp = sense.data();
  header.timeout = 30'000;  // ms
  int rc = 0;
  for (int tries = 0; tries < kMostTries && (tries == 0 || header.status == kScsiAttention);
       ++tries) {
    rc = call(fd, SG_IO, header);
    if (rc < 0) break;
  }
  if (rc < 0 || header.status != 0 || header.host_status != 0) {
    return Error{ErrorCode::kUnsupported,
                 name + ": this system cannot say which machine has it reserved",
                 "For NVMe that takes Linux 6.19 or later; for SCSI, root and a whole disk."};
  }
  // Generation, bytes that follow, key; the latter only where there is a reservation.
  std::uint64_t key = 0;
  if (answer[7] >= 16) {
    for (int i = 8; i < 16; ++i) key = key << 8 | answer[static_cast<std::size_t>(i)];
  }
  return key;
}

Status reserved_elsewhere(const std::string& name) {
  return Error{ErrorCode::kBusy, name + " is reserved by another machine",
               "Close the store there, and take its disks over: hexad takeover POOL"};
}

// 0: nobody.
Result<std::uint64_t> holding_key(int fd, const std::string& name) {
  HeldReservation held;
  if (call(fd, kReadReservation, held) == 0) return held.key;
  return ask_scsi(fd, name);
}

}  // namespace

std::uint64_t reservation_key(std::string_view machine_id) {
  // "hx", and what tells machines apart.
  constexpr std::uint64_t kTag = 0x6878;
  const std::uint64_t hash = xxh3_64(as_bytes(machine_id));
  return kTag << 48 | hash >> 16;
}

std::uint64_t own_reservation_key() {
  std::string id;
  std::ifstream("/etc/machine-id") >> id;
  if (id.empty()) {
    std::array<char, HOST_NAME_MAX + 1> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) id = name.data();
  }
  return reservation_key(id);
}

Status reserve_disk(int fd, const std::string& name) {
  HEXAD_TRY_ASSIGN(const bool reserved, try_reserve(fd, own_reservation_key(), name));
  return reserved ? Status() : reserved_elsewhere(name);
}

Status find_disk_free(int fd, const std::string& name) {
  const Result<std::uint64_t> key = holding_key(fd, name);
  const bool other = key.ok() && *key != 0 && *key != own_reservation_key();
  return other ? reserved_elsewhere(name) : Status();
}

Result<std::optional<Holder>> reservation_holder(int fd, const std::string& name) {
  const Result<std::uint64_t> key = holding_key(fd, name);
  if (key.ok() && *key == 0) return std::optional<Holder>();
  // A key of this machine's may be that of another one that was made like it: the disk knows.
  const bool other = key.ok() && *key != own_reservation_key();
  const Status free = other ? reserved_elsewhere(name) : reserve_disk(fd, name);
  if (free.ok()) return std::optional<Holder>();
  if (free.error().code != ErrorCode::kBusy) return free.error();
  std::string who = free.error().message;
  if (!key.ok()) who += " (" + key.error().message + ")";
  return std::optional<Holder>({std::move(who), key.ok()});
}

Status preempt_disk(int fd, const std::string& name) {
  const std::uint64_t own = own_reservation_key();
  for (int tries = 0; tries < kMostTries; ++tries) {
    // Also behind a preemption: what it took may have been the registration of who had lost the
    // disk to a third machine meanwhile.
    HEXAD_TRY_ASSIGN(const bool reserved, try_reserve(fd, own, name));
    if (reserved) return {};
    HEXAD_TRY_ASSIGN(const std::uint64_t other, holding_key(fd, name));
    if (other == 0) continue;  // it has been given back just now
    pr_preempt preempt{};
    preempt.old_key = own;    // the caller's, whatever it is called
    preempt.new_key = other;  // of whom it is to be taken from
    preempt.type = PR_EXCLUSIVE_ACCESS;
    const int rc = call(fd, IOC_PR_PREEMPT_ABORT, preempt);
    if (rc != 0 && !is_conflict(rc)) return refused(rc, name, "who has it cannot be shut out");
  }
  return Error{ErrorCode::kBusy, name + ": other machines take it over at the same time",
               "Look who has the pool before it is taken over again: hexad status POOL"};
}

}  // namespace hexad::io
