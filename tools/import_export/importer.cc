#include "tools/import_export/importer.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "tools/cli/file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/cli/part_file.h"
#include "tools/import_export/object_compare.h"
#include "tools/import_export/object_path.h"

namespace hexad::tools {

namespace {

// Content below this many bytes travels in batches; the rest piece by piece.
constexpr std::uint64_t kLargeFile = 4 << 20;
// The same of its ranges of data: each becomes a blob of its own in a batch, and a part of one in a
// writer.
constexpr std::size_t kManyRanges = 128;
// How often a file is read that changes meanwhile.
constexpr int kAttempts = 3;

std::pair<dev_t, ino_t> identity(const struct stat& info) { return {info.st_dev, info.st_ino}; }

const char* special_file(mode_t mode) {
  if (S_ISBLK(mode) || S_ISCHR(mode)) return "a device node";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISFIFO(mode)) return "a named pipe";
  return "not a regular file";
}

std::string random_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// A directory of another file system than the given one. Files do not count: some file systems that
// lie over others give them numbers of those.
bool is_elsewhere(const TreeEntry& entry, std::optional<dev_t> file_system) {
  return file_system.has_value() && S_ISDIR(entry.info.st_mode) &&
         entry.info.st_dev != *file_system;
}

// How many bytes there are to read, for the time that is left.
class SizeCount final : public TreeVisitor {
 public:
  explicit SizeCount(std::optional<dev_t> file_system) : file_system_(file_system) {}
  Result<Descend> visit(const TreeEntry& entry) override {
    if (interrupted()) return interrupted_error();
    if (S_ISREG(entry.info.st_mode)) bytes_ += static_cast<std::uint64_t>(entry.info.st_size);
    return is_elsewhere(entry, file_system_) ? Descend::kSkip : Descend::kEnter;
  }
  void unreadable(const std::string& /*path*/, const Error& /*error*/) override {}
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::optional<dev_t> file_system_;
  std::uint64_t bytes_ = 0;
};

// Of a symbolic link.
Result<std::string> read_target(const TreeEntry& entry) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size =
      readlinkat(entry.directory_fd, entry.leaf.c_str(), target.data(), target.size());
  if (size < 0) return system_error(errno, entry.path, "cannot read the link");
  target.resize(static_cast<std::size_t>(size));
  return target;
}

// Adds the range, joined with the one before where they touch.
void add_range(std::vector<ByteRange>& ranges, const ByteRange& range) {
  if (!ranges.empty() && ranges.back().offset + ranges.back().length == range.offset) {
    ranges.back().length += range.length;
  } else {
    ranges.push_back(range);
  }
}

}  // namespace

Importer::Importer(Session& session, Store& store, std::string prefix,
                   const TransferOptions& options)
    : session_(session),
      prefix_(std::move(prefix)),
      options_(options),
      store_(store),
      target_(store, session.executor(), session.collection()),
      progress_(session.out(), session.clock(), "import", 0),
      run_id_(random_id()),
      piece_(kLargeFile) {}

void Importer::leave_out(const PoolDescription& pool) {
  for (const auto* paths : {&pool.devices, &pool.fast_directories}) {
    for (const std::string& path : *paths) {
      struct stat info = {};
      if (stat(path.c_str(), &info) == 0) left_out_.insert(identity(info));
    }
  }
}

Status Importer::run(const std::string& directory) {
  HEXAD_TRY(target_.look(prefix_));
  if (options_.mounts == Mounts::kSkip) {
    struct stat info = {};
    if (stat(directory.c_str(), &info) != 0)
      return system_error(errno, directory, "cannot look at");
    file_system_ = info.st_dev;
  }
  if (progress_.enabled()) {
    SizeCount count(file_system_);
    HEXAD_TRY(walk_tree(directory, count));
    progress_.set_total(count.bytes());
  }
  Status done = walk_tree(directory, *this);
  if (done.ok() && options_.extra == Extra::kDelete) done = delete_gone(directory);
  // What has been read is stored even when the work ended early.
  const Status finished = target_.finish();
  report_.deleted += target_.displaced();
  return done.ok() ? finished : done;
}

void Importer::say(const char* what, const std::string& name) {
  if (!session_.out().json()) {
    session_.out().write(fmt::format("{} {}\n", what, shown_name(session_.out(), name)));
  }
}

Result<Descend> Importer::visit(const TreeEntry& entry) {
  if (interrupted()) return interrupted_error();
  ++entries_;
  const mode_t mode = entry.info.st_mode;
  const std::string name = prefix_ + entry.path + (S_ISDIR(mode) ? "/" : "");
  if (left_out_.contains(identity(entry.info))) {
    report_.skip(session_.out(), entry.path, "part of the pool itself");
    return Descend::kSkip;
  }
  if (is_part_name(entry.leaf) && !S_ISDIR(mode)) {
    report_.skip(session_.out(), entry.path, "a file that an export or get has not finished");
    return Descend::kSkip;
  }
  if (name.size() > kMaxNameSize) {
    report_.refuse(session_.out(), entry.path,
                   {ErrorCode::kTooBig,
                    "the name would have " + std::to_string(name.size()) + " bytes; at most " +
                        std::to_string(kMaxNameSize),
                    "Import it from a directory further down, or with a shorter --prefix."});
    return Descend::kSkip;
  }
  if (is_too_long(entry, entry.info)) return Descend::kSkip;
  if (S_ISREG(mode) || S_ISLNK(mode)) {
    HEXAD_TRY(add_leaf(entry, name));
  } else if (S_ISDIR(mode)) {
    HEXAD_TRY(add_directory(entry, name));
  } else {
    report_.skip(session_.out(), entry.path, special_file(mode));
  }
  if (!is_elsewhere(entry, file_system_)) return Descend::kEnter;
  report_.skip(session_.out(), entry.path, "another file system is mounted there");
  return Descend::kSkip;
}

bool Importer::is_too_long(const TreeEntry& entry, const struct stat& info) {
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size <= kMaxObjectSize) return false;
  report_.refuse(session_.out(), entry.path,
                 {ErrorCode::kTooBig,
                  "the file has " + std::to_string(size) + " bytes; an object has at most " +
                      std::to_string(kMaxObjectSize),
                  "Cut it into several files."});
  return true;
}

void Importer::unreadable(const std::string& path, const Error& error) {
  report_.fail_local(session_.out(), path.empty() ? "." : path, error);
}

bool Importer::read_xattrs(const TreeEntry& entry, PosixAttributes& posix) {
  if (options_.xattrs == Xattrs::kDrop) return true;
  Result<ExtendedAttributes> found =
      read_extended_attributes_at(entry.directory_fd, entry.leaf, entry.path);
  if (!found.ok()) {
    unreadable(entry.path, found.error());
    return false;
  }
  posix.xattrs = std::move(found).value();
  return true;
}

Status Importer::add_directory(const TreeEntry& entry, const std::string& name) {
  PosixAttributes posix = posix_attributes(entry.info, FileType::kDirectory);
  if (!read_xattrs(entry, posix)) return {};
  HEXAD_TRY_ASSIGN(const Present present, target_.find(name));
  HEXAD_TRY_ASSIGN(const std::uint64_t in_the_way, target_.count_in_the_way(name));
  if (options_.same == Same::kKeep && in_the_way == 0 && present.has_value() &&
      remembers(*present, posix)) {
    ++report_.unchanged;
    return {};
  }
  ++report_.directories;
  if (options_.dry()) {
    report_.deleted += in_the_way;
    say("store", name);
    return {};
  }
  return target_.put_directory({name, posix, present});
}

void Importer::stored(const TreeEntry& entry, const ImportTarget::File& file, std::uint64_t size) {
  if (file.posix.type == FileType::kSymlink) {
    ++report_.symlinks;
  } else {
    ++report_.files;
    report_.bytes += size;
  }
  if (!file.posix.link.empty()) {
    groups_.try_emplace(identity(entry.info), LinkGroup{file.name, file.posix.link});
  }
}

// A group that is stored already keeps its name, so that what has not changed need not be written.
std::string Importer::link_for(const TreeEntry& entry, const Present& present) {
  if (entry.info.st_nlink < 2) return "";
  std::string link;
  if (options_.same == Same::kKeep && present.has_value()) {
    link = decode(present->attributes).link;
  }
  if (link.empty() || used_links_.contains(link)) {
    link = run_id_ + "-" + std::to_string(used_links_.size());
  }
  used_links_.insert(link);
  return link;
}

Status Importer::add_leaf(const TreeEntry& entry, const std::string& name) {
  const bool symlink = S_ISLNK(entry.info.st_mode);
  HEXAD_TRY_ASSIGN(const Present present, target_.find(name));
  PosixAttributes posix =
      posix_attributes(entry.info, symlink ? FileType::kSymlink : FileType::kFile);
  const auto group = groups_.find(identity(entry.info));
  posix.link = group != groups_.end() ? group->second.id : link_for(entry, present);
  // Of a file that is read they are read together with its content.
  const bool may_be_unchanged = options_.same == Same::kKeep && present.has_value();
  if ((symlink || may_be_unchanged || group != groups_.end()) && !read_xattrs(entry, posix)) {
    return {};
  }
  const ImportTarget::File file{name, posix, present};
  if (group != groups_.end()) {
    HEXAD_TRY_ASSIGN(const bool done, add_further_name(entry, file, group->second));
    if (done) return {};
  } else if (may_be_unchanged) {
    HEXAD_TRY_ASSIGN(const bool done, keep_unchanged(entry, file));
    if (done) return {};
  }
  if (options_.dry()) {
    HEXAD_TRY_ASSIGN(const std::uint64_t in_the_way, target_.count_in_the_way(name));
    report_.deleted += in_the_way;
    say("store", name);
    stored(entry, file, static_cast<std::uint64_t>(entry.info.st_size));
    return {};
  }
  if (symlink) return store_symlink(entry, name, posix, present);
  return store_file(entry, name, posix.link, present);
}

Result<bool> Importer::add_further_name(const TreeEntry& entry, const ImportTarget::File& file,
                                        const LinkGroup& group) {
  const auto size = static_cast<std::uint64_t>(entry.info.st_size);
  // Another mark: the first name may have been stored anew. A clone costs less than to compare.
  if (options_.same == Same::kKeep && file.present.has_value() && file.present->size == size &&
      decode(file.present->attributes).mark == file.posix.mark &&
      remembers(*file.present, file.posix)) {
    ++report_.unchanged;
    progress_.advance(size, 1);
    return true;
  }
  if (options_.dry()) {
    say("link", file.name);
  } else {
    HEXAD_TRY_ASSIGN(const bool cloned, target_.clone(file, group.first, size));
    if (!cloned) return false;
  }
  ++report_.links;
  stored(entry, file, size);
  progress_.advance(size, 1);
  return true;
}

Result<bool> Importer::has_bytes_of(const TreeEntry& entry, const ImportTarget::File& file) {
  if (file.posix.type == FileType::kSymlink) {
    HEXAD_TRY_ASSIGN(const Bytes stored, store_.get(session_.collection(), file.name));
    const Result<std::string> target = read_target(entry);
    return target.ok() && *target == as_text(stored);
  }
  const Result<SourceFile> source = SourceFile::open(entry.directory_fd, entry.leaf, entry.path);
  // What cannot be opened, or is changing, is met again when it is to be stored.
  if (!source.ok() || !is_same_state(entry.info, source->info())) return false;
  HEXAD_TRY_ASSIGN(const bool same, same_as_file(store_, session_.executor(), session_.collection(),
                                                 file.name, file.present->size, source->fd()));
  if (!same) return false;
  const Result<bool> unchanged = source->is_unchanged();
  return unchanged.ok() && *unchanged;
}

Result<bool> Importer::keep_unchanged(const TreeEntry& entry, const ImportTarget::File& file) {
  const PosixAttributes before = decode(file.present->attributes);
  const auto size = static_cast<std::uint64_t>(entry.info.st_size);
  if (before.type != file.posix.type || file.present->size != size ||
      before.mtime != file.posix.mtime) {
    return false;
  }
  // Size and time can be given to any file; a mark cannot (I8).
  const bool marked = before.mark == file.posix.mark;
  if (!marked) {
    HEXAD_TRY_ASSIGN(const bool same, has_bytes_of(entry, file));
    if (!same) return false;
  }
  progress_.advance(size, 1);
  const bool known = remembers(*file.present, file.posix);
  if (known) {
    ++report_.unchanged;
  } else {
    if (options_.dry()) say("attributes", file.name);
    ++(file.posix.type == FileType::kSymlink ? report_.symlinks : report_.files);
  }
  if (!options_.dry() && !(known && marked)) HEXAD_TRY(target_.set_attributes(file));
  if (!file.posix.link.empty()) {
    groups_.try_emplace(identity(entry.info), LinkGroup{file.name, file.posix.link});
  }
  return true;
}

Status Importer::store_symlink(const TreeEntry& entry, const std::string& name,
                               const PosixAttributes& posix, const Present& present) {
  const Result<std::string> target = read_target(entry);
  if (!target.ok()) {
    unreadable(entry.path, target.error());
    return {};
  }
  const ImportTarget::File file{name, posix, present};
  const ByteView bytes = as_bytes(*target);
  HEXAD_TRY(
      target_.put(file, bytes.size(), {{0, bytes.size()}}, Bytes(bytes.begin(), bytes.end())));
  stored(entry, file, 0);
  return {};
}

Status Importer::store_file(const TreeEntry& entry, const std::string& name,
                            const std::string& link, const Present& present) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<SourceFile> source = SourceFile::open(entry.directory_fd, entry.leaf, entry.path);
    if (!source.ok()) {
      unreadable(entry.path, source.error());
      return {};
    }
    if (!S_ISREG(source->info().st_mode)) {
      report_.skip(session_.out(), entry.path, special_file(source->info().st_mode));
      return {};
    }
    if (is_too_long(entry, source->info())) return {};
    HEXAD_TRY_ASSIGN(const Taken taken, take(*source, entry, name, link, present));
    if (taken != Taken::kChanged) return {};
  }
  Error error = changing_file_error(entry.path, kAttempts);
  error.message += present.has_value() ? "; what was stored of it before stays" : "";
  unreadable(entry.path, error);
  return {};
}

Result<Importer::Taken> Importer::given_up(const TreeEntry& entry, const Error& error) {
  if (interrupted()) return error;
  unreadable(entry.path, error);
  return Taken::kLeftOut;
}

Result<Importer::Taken> Importer::take(SourceFile& source, const TreeEntry& entry,
                                       const std::string& name, const std::string& link,
                                       const Present& present) {
  PosixAttributes posix = posix_attributes(source.info(), FileType::kFile);
  posix.link = link;
  if (options_.xattrs == Xattrs::kKeep) {
    Result<ExtendedAttributes> found = read_extended_attributes(source.fd(), entry.path);
    if (!found.ok()) return given_up(entry, found.error());
    posix.xattrs = std::move(found).value();
  }
  const ImportTarget::File file{name, posix, present};
  std::vector<ByteRange> ranges;
  std::size_t used = 0;
  while (used < piece_.size() && ranges.size() < kManyRanges) {
    const Result<SourceFile::Piece> piece = source.next(MutByteView(piece_).subspan(used));
    if (!piece.ok()) return given_up(entry, piece.error());
    if (piece->length == 0) {
      const Result<bool> unchanged = source.is_unchanged();
      if (!unchanged.ok()) return given_up(entry, unchanged.error());
      if (!*unchanged) return Taken::kChanged;
      const auto end = piece_.begin() + static_cast<std::ptrdiff_t>(used);
      HEXAD_TRY(target_.put(file, source.end(), ranges, Bytes(piece_.begin(), end)));
      stored(entry, file, source.end());
      progress_.advance(source.end(), 1);
      return Taken::kStored;
    }
    add_range(ranges, {piece->offset, piece->length});
    used += piece->length;
  }
  return take_large(source, entry, file, ranges);
}

Result<Importer::Taken> Importer::take_large(SourceFile& source, const TreeEntry& entry,
                                             const ImportTarget::File& file,
                                             const std::vector<ByteRange>& ranges) {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectWriter> writer, target_.open_writer(file.name));
  ByteView first = piece_;
  for (const ByteRange& range : ranges) {
    HEXAD_TRY(writer->skip(range.offset - writer->size()));
    HEXAD_TRY(writer->append(first.first(range.length)));
    first = first.subspan(range.length);
  }
  progress_.advance(writer->size());
  for (;;) {
    const Result<SourceFile::Piece> piece = source.next(piece_);
    if (!piece.ok()) return given_up(entry, piece.error());  // the writer leaves nothing
    progress_.advance(source.end() - writer->size());
    HEXAD_TRY(writer->skip(piece->offset - writer->size()));
    if (piece->length == 0) break;
    HEXAD_TRY(writer->append(ByteView(piece_).first(piece->length)));
  }
  const Result<bool> unchanged = source.is_unchanged();
  if (!unchanged.ok()) return given_up(entry, unchanged.error());
  if (!*unchanged) return Taken::kChanged;
  HEXAD_TRY(target_.publish(file, *writer));
  stored(entry, file, source.end());
  progress_.advance(0, 1);
  return Taken::kStored;
}

Status Importer::delete_gone(const std::string& directory) {
  if (target_.is_fresh()) return {};
  if (entries_ == 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "the directory is empty: --delete would remove every object under the prefix",
                 "Check that what belongs there is mounted. To remove the objects: hexad rm " +
                     session_.pool().word() + " " +
                     (prefix_.empty() ? "--all" : "--prefix " + shell_word(prefix_)) +
                     session_.collection_option()};
  }
  const Fd root(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return system_error(errno, directory, "cannot open the directory");
  LocalEntries local(root.get());
  ListOptions options{prefix_, "", "", 1000};
  for (bool more = true; more;) {
    HEXAD_TRY_ASSIGN(const ListPage page, store_.list(session_.collection(), options));
    for (const ListEntry& listed : page.entries) {
      if (interrupted()) return interrupted_error();
      const std::string name(listed.name);
      if (name.size() == prefix_.size() || !is_gone(local, name.substr(prefix_.size()))) continue;
      ++report_.deleted;
      if (options_.dry()) {
        say("delete", name);
      } else {
        HEXAD_TRY(target_.remove(name));
      }
    }
    more = page.next.has_value();
    if (more) options.start_after = *page.next;
  }
  return {};
}

// Whether nothing is there that an import would store under this name.
bool Importer::is_gone(LocalEntries& local, std::string relative) {
  const Result<ObjectPath> path = split_object_name(relative);
  if (!path.ok()) return true;  // no file can have it
  if (path->directory) relative.pop_back();
  const Result<std::optional<struct stat>> found = local.find(relative);
  if (!found.ok()) {
    unreadable(relative, found.error());  // it may be there
    return false;
  }
  if (!found->has_value()) return true;
  const mode_t mode = (*found)->st_mode;
  return path->directory ? !S_ISDIR(mode) : !S_ISREG(mode) && !S_ISLNK(mode);
}

}  // namespace hexad::tools
