#include "tools/import_export/exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "tools/cli/interrupt.h"

namespace hexad::tools {

namespace {

constexpr std::size_t kPieceBytes = 4 << 20;
constexpr std::uint32_t kPermissions = 01777;
constexpr std::uint32_t kSetIdPermissions = 07777;
constexpr std::int64_t kSecond = 1'000'000'000;  // nanoseconds

// Access time unchanged, modification time as given.
std::array<timespec, 2> times(std::int64_t mtime_ns) {
  std::int64_t seconds = mtime_ns / kSecond;
  std::int64_t rest = mtime_ns % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  std::array<timespec, 2> result = {};
  result[0].tv_nsec = UTIME_OMIT;
  result[1].tv_sec = static_cast<time_t>(seconds);
  result[1].tv_nsec = static_cast<decltype(result[1].tv_nsec)>(rest);
  return result;
}

// An entry under a name of its own that disappears unless it is renamed to its real one.
class Temporary {
 public:
  Temporary(int directory, std::uint64_t number)
      : directory_(directory),
        name_(".hexad-part-" + std::to_string(getpid()) + "-" + std::to_string(number)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!renamed_) unlinkat(directory_, name_.c_str(), 0);
  }

  const char* name() const { return name_.c_str(); }
  Status rename_to(const std::string& leaf) {
    if (renameat(directory_, name(), directory_, leaf.c_str()) != 0) {
      return system_error(errno, leaf, "cannot put it in place");
    }
    renamed_ = true;
    return {};
  }

 private:
  int directory_;
  std::string name_;
  bool renamed_ = false;
};

std::vector<std::string> with_leaf(const ObjectPath& path) {
  std::vector<std::string> components = path.parents;
  components.push_back(path.leaf);
  return components;
}

}  // namespace

Exporter::Exporter(Session& session, Store& store, SafeTree tree, SetIdBits set_id_bits)
    : session_(session),
      store_(store),
      tree_(std::move(tree)),
      set_id_bits_(set_id_bits),
      progress_(session.out(), session.clock(), "export", 0),
      piece_(kPieceBytes),
      umask_(umask(0)) {
  umask(umask_);
}

Status Exporter::run(const std::string& prefix) {
  ListOptions options{prefix, "", "", 1000};
  Status status;
  for (bool more = true; more && status.ok();) {
    HEXAD_TRY_ASSIGN(const ListPage page, store_.list(session_.collection(), options));
    for (const ListEntry& entry : page.entries) {
      if (interrupted()) return interrupted_error();
      const std::string name(entry.name);
      finish_directories(name);
      HEXAD_TRY(judge(name, export_object(name)));
    }
    more = page.next.has_value();
    if (more) options.start_after = *page.next;
  }
  finish_directories("");
  if (syncfs(tree_.root()) != 0) return system_error(errno, "export", "cannot sync");
  return {};
}

Status Exporter::judge(const std::string& name, const Status& status) {
  const Status store_failure = std::exchange(store_failure_, Status());
  if (status.ok()) return {};
  if (interrupted()) return interrupted_error();
  if (!store_failure.ok()) {
    report_.fail_store(session_.out(), name, store_failure.error());
    return {};
  }
  if (status.error().code == ErrorCode::kNoSpace) return status;
  if (status.error().code == ErrorCode::kInvalidArgument) {
    report_.refuse(session_.out(), name, status.error().message);
  } else {
    report_.fail_local(session_.out(), name, status.error());
  }
  return {};
}

Status Exporter::export_object(const std::string& name) {
  HEXAD_TRY_ASSIGN(const ObjectPath path, split_object_name(name));
  Result<std::unique_ptr<ObjectReader>> opened = store_.open_reader(session_.collection(), name);
  if (!opened.ok()) {
    store_failure_ = opened.error();
    return opened.error();
  }
  ObjectReader& reader = **opened;
  if (path.directory) return export_directory(name, path, reader);
  HEXAD_TRY_ASSIGN(const int directory, tree_.directory(path.parents));
  if (decode(reader.attributes()).type == FileType::kSymlink) {
    return export_symlink(directory, path, reader);
  }
  return export_file(directory, path, reader);
}

Status Exporter::export_directory(const std::string& name, const ObjectPath& path,
                                  ObjectReader& reader) {
  if (reader.stat().size > 0) {
    return Error{ErrorCode::kInvalidArgument, "the name ends in \"/\" but the object has data", ""};
  }
  HEXAD_TRY_ASSIGN(const int directory, tree_.directory(with_leaf(path)));
  struct stat info = {};
  if (fstat(directory, &info) == 0 && (info.st_mode & 0700) != 0700) {
    // Left read-only by an earlier export; if this fails, so will the files, each with its name.
    if (fchmod(directory, (info.st_mode & kPermissions) | 0700) != 0) errno = 0;
  }
  pending_.push_back({name, path, decode(reader.attributes())});
  ++report_.directories;
  return {};
}

void Exporter::finish_directories(const std::string& name) {
  while (!pending_.empty() && !name.starts_with(pending_.back().name)) {
    const PendingDirectory& done = pending_.back();
    const Result<int> directory = tree_.directory(with_leaf(done.path));
    Status status = directory.status();
    if (status.ok() && (done.posix.mode || done.posix.mtime_ns)) {
      struct stat info = {};
      fstat(*directory, &info);
      PosixAttributes posix = done.posix;
      if (!posix.mode) posix.mode = info.st_mode & kSetIdPermissions;
      const std::int64_t unchanged =
          static_cast<std::int64_t>(info.st_mtim.tv_sec) * kSecond + info.st_mtim.tv_nsec;
      status = set_metadata(*directory, posix, unchanged, done.path.leaf);
    }
    if (!status.ok()) report_.fail_local(session_.out(), done.name, status.error());
    pending_.pop_back();
  }
}

Status Exporter::set_metadata(int fd, const PosixAttributes& posix, std::int64_t fallback_mtime,
                              const std::string& leaf) const {
  const std::uint32_t kept = set_id_bits_ == SetIdBits::kKeep ? kSetIdPermissions : kPermissions;
  const std::uint32_t mode = posix.mode ? (*posix.mode & kept) : (0666 & ~umask_);
  if (fchmod(fd, static_cast<mode_t>(mode)) != 0) {
    return system_error(errno, leaf, "cannot set the mode");
  }
  if (futimens(fd, times(posix.mtime_ns.value_or(fallback_mtime)).data()) != 0) {
    return system_error(errno, leaf, "cannot set the time");
  }
  return {};
}

Status Exporter::export_symlink(int directory, const ObjectPath& path, ObjectReader& reader) {
  if (reader.stat().size == 0 || reader.stat().size >= PATH_MAX) {
    return Error{ErrorCode::kInvalidArgument,
                 "the target of the link has " + std::to_string(reader.stat().size) + " bytes", ""};
  }
  std::string target(static_cast<std::size_t>(reader.stat().size), '\0');
  const Result<std::uint64_t> count =
      reader.read({reinterpret_cast<std::byte*>(target.data()), target.size()});
  if (!count.ok()) {
    store_failure_ = count.error();
    return count.error();
  }
  Temporary temporary(directory, next_temporary_++);
  if (symlinkat(target.c_str(), directory, temporary.name()) != 0) {
    return system_error(errno, path.leaf, "cannot create the link");
  }
  const PosixAttributes posix = decode(reader.attributes());
  if (posix.mtime_ns && utimensat(directory, temporary.name(), times(*posix.mtime_ns).data(),
                                  AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error(errno, path.leaf, "cannot set the time");
  }
  HEXAD_TRY(temporary.rename_to(path.leaf));
  ++report_.symlinks;
  return {};
}

Status Exporter::export_file(int directory, const ObjectPath& path, ObjectReader& reader) {
  Temporary temporary(directory, next_temporary_++);
  const Fd file(openat(directory, temporary.name(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return system_error(errno, path.leaf, "cannot create");
  HEXAD_TRY(copy_data(reader, file.get(), path.leaf));
  HEXAD_TRY(set_metadata(file.get(), decode(reader.attributes()), reader.stat().mtime, path.leaf));
  HEXAD_TRY(temporary.rename_to(path.leaf));
  ++report_.files;
  report_.bytes += reader.stat().size;
  progress_.advance(0, 1);
  return {};
}

Status Exporter::copy_data(ObjectReader& reader, int fd, const std::string& leaf) {
  for (std::uint64_t copied = 0; copied < reader.stat().size;) {
    if (interrupted()) return interrupted_error();
    const Result<std::uint64_t> count = reader.read(piece_);
    if (!count.ok()) {
      store_failure_ = count.error();
      return count.error();
    }
    HEXAD_TRY(write_all(fd, {piece_.data(), static_cast<std::size_t>(*count)}, leaf));
    copied += *count;
    progress_.advance(*count);
  }
  return {};
}

}  // namespace hexad::tools
