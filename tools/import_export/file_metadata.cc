#include "tools/import_export/file_metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "tools/cli/file.h"
#include "tools/cli/names.h"

namespace hexad::tools {

namespace {

constexpr std::uint32_t kModeBits = 07777;
constexpr std::uint32_t kSetId = 06000;
// FAT has steps of two seconds; no file system that is in use has coarser ones.
constexpr std::int64_t kCoarsestStep = 2;  // seconds

FileTime time_of(const struct stat& info) {
  return {info.st_mtim.tv_sec, static_cast<std::uint32_t>(info.st_mtim.tv_nsec)};
}

// Access time unchanged, modification time as given.
std::array<timespec, 2> times(const FileTime& mtime) {
  std::array<timespec, 2> result = {};
  result[0].tv_nsec = UTIME_OMIT;
  result[1].tv_sec = static_cast<time_t>(mtime.seconds);
  result[1].tv_nsec = static_cast<decltype(result[1].tv_nsec)>(mtime.nanoseconds);
  return result;
}

void note(MetadataLoss& loss, const Status& status) {
  if (loss.other.ok()) loss.other = status;
}

bool has_owner(const struct stat& info, const PosixAttributes& posix) {
  return posix.uid && posix.gid && info.st_uid == *posix.uid && info.st_gid == *posix.gid;
}

// `change`: fchown() or the like.
template <typename Change>
void restore_owner(struct stat& info, const PosixAttributes& posix, const MetadataRules& rules,
                   MetadataLoss& loss, const Change& change) {
  if (rules.owners == Owners::kIgnore || !posix.uid || !posix.gid) return;
  if (has_owner(info, posix)) return;
  // Whoever may not give files away may still give them to a group of his own.
  if (change(*posix.uid, *posix.gid) != 0 &&
      (info.st_uid != *posix.uid || change(static_cast<uid_t>(-1), *posix.gid) != 0)) {
    loss.owner = true;
    return;
  }
  info.st_uid = *posix.uid;
  info.st_gid = *posix.gid;
}

void compare_time(const struct stat& info, const FileTime& wanted, const std::string& subject,
                  MetadataLoss& loss) {
  const FileTime found = time_of(info);
  if (found == wanted) return;
  const __int128 apart = static_cast<__int128>(found.seconds) - wanted.seconds;
  if (apart > -kCoarsestStep && apart < kCoarsestStep) {
    loss.rounded_time = true;
    return;
  }
  note(loss, Error{ErrorCode::kIo,
                   display_name(subject) + ": the file system cannot hold its time, " +
                       std::to_string(wanted.seconds) + " s from 1970, and has " +
                       std::to_string(found.seconds) + " s instead",
                   ""});
}

}  // namespace

Result<MetadataLoss> restore_metadata(int fd, const PosixAttributes& posix,
                                      const FileTime& fallback, const MetadataRules& rules,
                                      const std::string& subject) {
  MetadataLoss loss;
  struct stat info = {};
  if (fstat(fd, &info) != 0) return system_error(errno, subject, "cannot look at");
  // The owner first: changing it takes capabilities and set-id bits away.
  restore_owner(info, posix, rules, loss,
                [&](uid_t uid, gid_t gid) { return fchown(fd, uid, gid); });
  // What remembers a mode was a file, with just these attributes.
  if (rules.xattrs == Xattrs::kKeep && posix.mode) {
    note(loss, write_extended_attributes(fd, posix.xattrs, subject));
  }
  // Then the mode, whose group bits are the mask of an access control list.
  std::uint32_t mode = 0666 & ~rules.umask;
  if (S_ISDIR(info.st_mode)) mode = info.st_mode & kModeBits;
  if (posix.mode) mode = *posix.mode & kModeBits;
  if (posix.mode && (mode & kSetId) != 0 && rules.set_id_bits == SetIdBits::kWithOwner &&
      !has_owner(info, posix)) {
    mode &= ~kSetId;
    loss.set_id_bits = true;
  }
  if (fstat(fd, &info) != 0) return system_error(errno, subject, "cannot look at");
  if ((info.st_mode & kModeBits) != mode && fchmod(fd, static_cast<mode_t>(mode)) != 0) {
    note(loss, system_error(errno, subject, "cannot set the mode"));
  }
  const FileTime wanted = posix.mtime.value_or(fallback);
  if (time_of(info) == wanted) return loss;
  if (futimens(fd, times(wanted).data()) != 0) {
    note(loss, system_error(errno, subject, "cannot set the time"));
    return loss;
  }
  if (fstat(fd, &info) != 0) return system_error(errno, subject, "cannot look at");
  compare_time(info, wanted, subject, loss);
  return loss;
}

Result<MetadataLoss> restore_link_metadata(int directory, const std::string& leaf,
                                           const PosixAttributes& posix, const MetadataRules& rules,
                                           const std::string& subject) {
  MetadataLoss loss;
  struct stat info = {};
  const auto look = [&] { return fstatat(directory, leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW); };
  if (look() != 0) return system_error(errno, subject, "cannot look at");
  restore_owner(info, posix, rules, loss, [&](uid_t uid, gid_t gid) {
    return fchownat(directory, leaf.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW);
  });
  if (rules.xattrs == Xattrs::kKeep && !posix.xattrs.empty()) {
    note(loss, write_extended_attributes_at(directory, leaf, posix.xattrs, subject));
  }
  if (!posix.mtime) return loss;
  if (utimensat(directory, leaf.c_str(), times(*posix.mtime).data(), AT_SYMLINK_NOFOLLOW) != 0) {
    note(loss, system_error(errno, subject, "cannot set the time"));
    return loss;
  }
  if (look() != 0) return system_error(errno, subject, "cannot look at");
  compare_time(info, *posix.mtime, subject, loss);
  return loss;
}

}  // namespace hexad::tools
