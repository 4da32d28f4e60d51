#include "tools/import_export/importer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>

#include "tools/cli/file.h"
#include "tools/cli/interrupt.h"

namespace hexad::tools {

namespace {

// Files below this many bytes travel in batches; the others piece by piece.
constexpr std::uint64_t kLargeFile = 4 << 20;

PosixAttributes attributes_of(const struct stat& info, FileType type) {
  PosixAttributes posix;
  posix.type = type;
  posix.mode = info.st_mode & 07777;
  posix.mtime_ns =
      static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  return posix;
}

const char* special_file(mode_t mode) {
  if (S_ISBLK(mode) || S_ISCHR(mode)) return "a device node";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISFIFO(mode)) return "a named pipe";
  return "not a regular file";
}

}  // namespace

Importer::Importer(Session& session, Store& store, std::string prefix)
    : session_(session),
      store_(store),
      prefix_(std::move(prefix)),
      committer_(store, session.executor()),
      progress_(session.out(), session.clock(), "import", 0) {}

void Importer::leave_out(const PoolDescription& pool) {
  for (const auto* paths : {&pool.devices, &pool.fast_directories}) {
    for (const std::string& path : *paths) {
      struct stat info = {};
      if (stat(path.c_str(), &info) == 0) left_out_.emplace(info.st_dev, info.st_ino);
    }
  }
}

Status Importer::run(const std::string& directory) {
  const Status walked = walk_tree(directory, *this);
  // What has been read is stored even when the walk ended early.
  const Status finished = committer_.finish();
  return walked.ok() ? finished : walked;
}

Result<Descend> Importer::visit(const TreeEntry& entry) {
  if (interrupted()) return interrupted_error();
  const mode_t mode = entry.info.st_mode;
  const std::string name = prefix_ + entry.path + (S_ISDIR(mode) ? "/" : "");
  if (left_out_.contains({entry.info.st_dev, entry.info.st_ino})) {
    report_.skip(session_.out(), entry.path, "part of the pool itself");
    return Descend::kSkip;
  }
  if (name.size() > kMaxNameSize) {
    report_.refuse(session_.out(), entry.path,
                   "the name would have " + std::to_string(name.size()) + " bytes; at most " +
                       std::to_string(kMaxNameSize));
    return Descend::kSkip;
  }
  if (S_ISREG(mode)) {
    HEXAD_TRY(add_file(entry, name));
  } else if (S_ISDIR(mode)) {
    HEXAD_TRY(add_directory(entry, name));
  } else if (S_ISLNK(mode)) {
    HEXAD_TRY(add_symlink(entry, name));
  } else {
    report_.skip(session_.out(), entry.path, special_file(mode));
  }
  return Descend::kEnter;
}

void Importer::unreadable(const std::string& path, const Error& error) {
  report_.fail_local(session_.out(), path.empty() ? "." : path, error);
}

Status Importer::add_directory(const TreeEntry& entry, const std::string& name) {
  ++report_.directories;
  return committer_.put(
      {session_.collection(), name, encode(attributes_of(entry.info, FileType::kDirectory))}, {});
}

Status Importer::add_symlink(const TreeEntry& entry, const std::string& name) {
  Bytes target(PATH_MAX);
  const ssize_t size = readlinkat(entry.directory_fd, entry.leaf.c_str(),
                                  reinterpret_cast<char*>(target.data()), target.size());
  if (size < 0) {
    unreadable(entry.path, system_error(errno, entry.path, "cannot read the link"));
    return {};
  }
  target.resize(static_cast<std::size_t>(size));
  ++report_.symlinks;
  return committer_.put(
      {session_.collection(), name, encode(attributes_of(entry.info, FileType::kSymlink))},
      std::move(target));
}

Status Importer::add_file(const TreeEntry& entry, const std::string& name) {
  // Not blocking: the file may have become a pipe since it was looked at.
  const Fd file(openat(entry.directory_fd, entry.leaf.c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info = {};
  if (!file.valid() || fstat(file.get(), &info) != 0) {
    unreadable(entry.path, system_error(errno, entry.path, "cannot open"));
    return {};
  }
  if (!S_ISREG(info.st_mode)) {
    report_.skip(session_.out(), entry.path, special_file(info.st_mode));
    return {};
  }
  // One byte more than the size shows whether the file has grown meanwhile.
  const auto size = static_cast<std::uint64_t>(info.st_size);
  Bytes data(static_cast<std::size_t>(std::min(size + 1, kLargeFile)));
  const Result<std::uint64_t> count = read_full(file.get(), data, entry.path);
  if (!count.ok()) {
    if (interrupted()) return count.error();
    unreadable(entry.path, count.error());
    return {};
  }
  const BatchCommitter::Object object{session_.collection(), name,
                                      encode(attributes_of(info, FileType::kFile))};
  if (*count == data.size()) return add_large_file(file.get(), object, std::move(data));
  data.resize(static_cast<std::size_t>(*count));
  ++report_.files;
  report_.bytes += *count;
  progress_.advance(*count, 1);
  return committer_.put(object, std::move(data));
}

Status Importer::add_large_file(int fd, const BatchCommitter::Object& object, Bytes piece) {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectWriter> writer,
                   store_.open_writer(object.collection, object.name));
  HEXAD_TRY(writer->append(piece));
  progress_.advance(piece.size());
  piece.resize(kLargeFile);
  for (;;) {
    const Result<std::uint64_t> count = read_full(fd, piece, object.name);
    if (!count.ok()) {
      if (interrupted()) return count.error();
      unreadable(std::string(object.name), count.error());
      return {};  // the writer is dropped and leaves nothing
    }
    if (*count == 0) break;
    HEXAD_TRY(writer->append({piece.data(), static_cast<std::size_t>(*count)}));
    progress_.advance(*count);
  }
  ++report_.files;
  report_.bytes += writer->size();
  progress_.advance(0, 1);
  return committer_.publish(object, *writer);
}

}  // namespace hexad::tools
