#include "tools/import_export/exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/import_export/object_ahead.h"
#include "tools/import_export/object_compare.h"
#include "tools/import_export/piece_reader.h"

namespace hexad::tools {

namespace {

// Threads that read: devices answer many requests at once in little more than the time of one.
constexpr int kReaders = 8;
constexpr std::int64_t kSecond = 1'000'000'000;  // nanoseconds

std::vector<std::string> with_leaf(const ObjectPath& path) {
  std::vector<std::string> components = path.parents;
  components.push_back(path.leaf);
  return components;
}

bool is_one_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool has_other_names(int directory, const std::string& leaf) {
  struct stat info = {};
  return fstatat(directory, leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_nlink > 1;
}

std::uint32_t current_umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

}  // namespace

FileTime Exporter::Object::fallback_time() const {
  const std::int64_t time = stat().mtime;
  const std::int64_t rest = (time % kSecond + kSecond) % kSecond;
  return {(time - rest) / kSecond, static_cast<std::uint32_t>(rest)};
}

Exporter::Exporter(Session& session, Store& store, std::string directory,
                   const MetadataRules& rules, const TransferOptions& options)
    : session_(session),
      store_(store),
      directory_(std::move(directory)),
      rules_(rules),
      options_(options),
      progress_(session.out(), session.clock(), "export", 0),
      readers_(io::make_thread_executor(kReaders)) {
  rules_.umask = current_umask();
  rules_.xattrs = options.xattrs;
}

void Exporter::leave_alone(const PoolDescription& pool, const std::string& directory) {
  std::vector<std::string> paths = pool.devices;
  paths.insert(paths.end(), pool.fast_directories.begin(), pool.fast_directories.end());
  if (!directory.empty()) paths.push_back(directory);
  for (const std::string& path : paths) {
    struct stat info = {};
    if (stat(path.c_str(), &info) == 0) left_alone_.emplace(info.st_dev, info.st_ino);
  }
}

// For the time that is left.
Status Exporter::add_sizes(const std::string& prefix) {
  if (!progress_.enabled()) return {};
  std::uint64_t total = 0;
  ListOptions options{prefix, "", "", kMaxListPage};
  for (bool more = true; more;) {
    if (interrupted()) return interrupted_error();
    HEXAD_TRY_ASSIGN(const ListPage page, store_.list(session_.collection(), options));
    for (const ListEntry& entry : page.entries) total += entry.size;
    more = page.next.has_value();
    if (more) options.start_after = *page.next;
  }
  progress_.set_total(total);
  return {};
}

Status Exporter::run(const std::string& prefix) {
  if (options_.extra == Extra::kDelete) HEXAD_TRY(delete_first(prefix));
  if (options_.dry()) {
    root_ = Fd(open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    before_.emplace(root_.get());
  } else {
    HEXAD_TRY_ASSIGN(SafeTree tree, SafeTree::open(directory_));
    tree_.emplace(std::move(tree));
  }
  open_record(prefix);
  HEXAD_TRY(add_sizes(prefix));
  HEXAD_TRY(readers_->start_pool());
  ObjectAhead objects(
      store_, *readers_, session_.collection(), prefix,
      [this](const OpenObject& opened) { return wants_data(opened); }, AheadLimits(),
      &session_.wrong_reads());
  for (;;) {
    if (interrupted()) return interrupted_error();
    HEXAD_TRY_ASSIGN(const std::optional<OpenObject> opened, objects.next());
    if (!opened.has_value()) break;
    finish_directories(opened->name);
    HEXAD_TRY(judge(opened->name, export_object(*opened)));
  }
  finish_directories("");
  if (options_.dry()) return {};
  if (syncfs(tree_->root()) != 0) return system_error(errno, "export", "cannot sync");
  record_.finish();
  return {};
}

// Before anything is written, so that directories get their times behind it, and what stands where
// something else belongs is out of the way.
Status Exporter::delete_first(const std::string& prefix) {
  HEXAD_TRY_ASSIGN(const ListPage page,
                   store_.list(session_.collection(), ListOptions{prefix, "", "", 1}));
  if (page.entries.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "no object has the prefix: --delete would remove everything it stands for", ""};
  }
  struct stat info = {};
  if (stat(directory_.c_str(), &info) != 0 && errno == ENOENT) return {};
  return delete_extra(
      session_, store_, directory_, prefix, left_alone_, options_.run,
      [&](const std::string& name) {
        if (options_.dry()) say("delete", name);
      },
      report_);
}

void Exporter::say(const char* what, const std::string& name) {
  if (!session_.out().json()) {
    session_.out().write(fmt::format("{} {}\n", what, shown_name(session_.out(), name)));
  }
}

Error Exporter::store_failed(const Error& error) {
  store_failure_ = error;
  return error;
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
    report_.refuse(session_.out(), name, status.error());
  } else {
    report_.fail_local(session_.out(), name, status.error());
  }
  return {};
}

void Exporter::open_record(const std::string& prefix) {
  std::error_code failure;
  const std::string where = std::filesystem::canonical(directory_, failure).string();
  if (failure) return;  // of a dry run: nothing is there
  const std::string key =
      to_string(store_.status().uuid) + '\0' + session_.collection() + '\0' + prefix + '\0' + where;
  record_ = ExportRecord(export_record_directory(), key,
                         options_.dry() ? ExportRecord::Use::kLook : ExportRecord::Use::kNote);
}

// Whoever has written the file meanwhile has given it another time.
void Exporter::record(int fd, const Object& object) {
  struct stat info = {};
  if (fstat(fd, &info) == 0 && has_same(info, object)) {
    record_.note(object.name(), object.stat(), info);
  }
}

void Exporter::note(const std::string& name, const MetadataLoss& loss) {
  if (loss.owner) ++report_.other_owner;
  if (loss.set_id_bits) ++report_.without_set_id;
  if (loss.rounded_time) ++report_.rounded_times;
  if (!loss.other.ok()) report_.lose(session_.out(), name, loss.other.error());
}

// Whether it will be written, as far as can be told without looking at it in its turn. On any
// thread.
bool Exporter::wants_data(const OpenObject& opened) const {
  if (options_.dry() || opened.name.ends_with('/') || !opened.posix.link.empty()) return false;
  if (options_.same == Same::kReplace) return true;
  struct stat info = {};
  return fstatat(tree_->root(), opened.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
         !has_same(info, Object{opened, {}});
}

Status Exporter::export_object(const OpenObject& opened) {
  HEXAD_TRY_ASSIGN(ObjectPath path, split_object_name(opened.name));
  if (!opened.status.ok()) return store_failed(opened.status.error());
  const Object object{opened, std::move(path)};
  if (object.path.directory) return export_directory(object);
  return options_.dry() ? plan_leaf(object) : export_leaf(object);
}

Status Exporter::export_directory(const Object& object) {
  if (object.stat().size > 0) {
    return Error{ErrorCode::kInvalidArgument, "the name ends in \"/\" but the object has data", ""};
  }
  ++report_.directories;
  if (options_.dry()) {
    const std::string path = object.name().substr(0, object.name().size() - 1);
    HEXAD_TRY_ASSIGN(const std::optional<struct stat> info, before_->find(path));
    if (!info.has_value()) say("write", object.name());
    return {};
  }
  HEXAD_TRY(tree_->directory(with_leaf(object.path), SafeTree::Rights::kMakeUsable).status());
  pending_.push_back({object.name(), object.path, object.posix()});
  return {};
}

void Exporter::finish_directories(const std::string& name) {
  while (!pending_.empty() && !name.starts_with(pending_.back().name)) {
    const PendingDirectory& done = pending_.back();
    const Result<int> directory = tree_->directory(with_leaf(done.path));
    Status status = directory.status();
    struct stat info = {};
    if (status.ok() && fstat(*directory, &info) == 0) {
      const FileTime unchanged{info.st_mtim.tv_sec,
                               static_cast<std::uint32_t>(info.st_mtim.tv_nsec)};
      const Result<MetadataLoss> loss =
          restore_metadata(*directory, done.posix, unchanged, rules_, done.path.leaf);
      status = loss.status();
      if (loss.ok()) note(done.name, *loss);
    }
    if (!status.ok()) report_.fail_local(session_.out(), done.name, status.error());
    pending_.pop_back();
  }
}

bool Exporter::has_same(const struct stat& info, const Object& object) const {
  const FileTime time{info.st_mtim.tv_sec, static_cast<std::uint32_t>(info.st_mtim.tv_nsec)};
  return S_ISREG(info.st_mode) && object.posix().type == FileType::kFile &&
         static_cast<std::uint64_t>(info.st_size) == object.stat().size && time == object.time();
}

// A program that writes objects itself may have left the time of the file that this one was, and a
// file may have been given any time.
Result<bool> Exporter::is_current(int fd, const struct stat& info, const Object& object) {
  if (record_.knows(object.name(), object.stat(), info)) return true;
  Result<bool> same = same_as_file(store_, *readers_, session_.collection(), object.name(),
                                   object.stat().size, fd, &session_.wrong_reads());
  if (!same.ok()) return store_failed(same.error());
  return same;
}

// Whether a run that is not dry would leave it as it is: as make_leaf() decides.
Result<bool> Exporter::would_keep(const Object& object) {
  if (options_.same != Same::kKeep) return false;
  const auto group = groups_.find(object.posix().link);
  const bool is_another = !object.posix().link.empty() && group != groups_.end();
  if (is_another) {
    const Result<bool> same = shows_same_as(object, group->second);
    if (!same.ok()) return store_failed(same.error());
    if (*same) return would_keep_link(object, group->second);
  }
  HEXAD_TRY_ASSIGN(const std::optional<struct stat> info, find_then(object.name()));
  if (!info.has_value()) return false;
  if (info->st_nlink > 1 && (is_another || object.posix().link.empty())) return false;
  if (object.posix().type == FileType::kSymlink) return is_same_link(before_->parent(), object);
  if (!has_same(*info, object)) return false;
  const Fd file(openat(before_->parent(), object.path.leaf.c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return file.valid() ? is_current(file.get(), *info, object) : Result<bool>(false);
}

// The local entry when its turn comes: names that were written before have left its file.
Result<std::optional<struct stat>> Exporter::find_then(const std::string& name) {
  HEXAD_TRY_ASSIGN(std::optional<struct stat> info, before_->find(name));
  if (info.has_value()) {
    const auto left = names_left_.find({info->st_dev, info->st_ino});
    if (left != names_left_.end()) info->st_nlink -= left->second;
  }
  return info;
}

// Whether it is a name of the first one's file already, and that stays.
Result<bool> Exporter::would_keep_link(const Object& object, const std::string& first) {
  if (rewritten_.contains(first)) return false;
  HEXAD_TRY_ASSIGN(const std::optional<struct stat> its, before_->find(first));
  HEXAD_TRY_ASSIGN(const std::optional<struct stat> mine, before_->find(object.name()));
  return its.has_value() && mine.has_value() && is_one_file(*its, *mine);
}

Status Exporter::plan_leaf(const Object& object) {
  HEXAD_TRY_ASSIGN(const bool kept, would_keep(object));
  if (!object.posix().link.empty()) {
    const bool is_first = groups_.try_emplace(object.posix().link, object.name()).second;
    if (is_first && !kept) rewritten_.insert(object.name());
  }
  if (kept) {
    ++report_.unchanged;
    return {};
  }
  HEXAD_TRY_ASSIGN(const std::optional<struct stat> info, before_->find(object.name()));
  if (info.has_value() && info->st_nlink > 1) ++names_left_[{info->st_dev, info->st_ino}];
  say("write", object.name());
  if (object.posix().type == FileType::kSymlink) {
    ++report_.symlinks;
  } else {
    ++report_.files;
    report_.bytes += object.stat().size;
  }
  return {};
}

Status Exporter::export_leaf(const Object& object) {
  HEXAD_TRY_ASSIGN(const int directory, tree_->directory(object.path.parents));
  HEXAD_TRY_ASSIGN(const Made made, make_leaf(directory, object));
  if (!object.posix().link.empty()) groups_.try_emplace(object.posix().link, object.name());
  const std::uint64_t size = object.stat().size;
  const bool symlink = object.posix().type == FileType::kSymlink;
  progress_.advance(made == Made::kWritten ? 0 : size, 1);
  if (made == Made::kKept) {
    ++report_.unchanged;
    return {};
  }
  if (made == Made::kLinked) ++report_.links;
  ++(symlink ? report_.symlinks : report_.files);
  if (!symlink) report_.bytes += size;
  return {};
}

Result<Exporter::Made> Exporter::make_leaf(int directory, const Object& object) {
  const auto group = groups_.find(object.posix().link);
  if (!object.posix().link.empty() && group != groups_.end()) {
    // Reaching the other name's directory lets go of this one.
    const Fd here(fcntl(directory, F_DUPFD_CLOEXEC, 0));
    if (!here.valid()) return system_error(errno, object.path.leaf, "cannot create");
    HEXAD_TRY_ASSIGN(const std::optional<Made> made, link_to(here.get(), object, group->second));
    if (made.has_value()) return *made;
    return keep_or_write(here.get(), object, has_other_names(here.get(), object.path.leaf));
  }
  return keep_or_write(directory, object, false);
}

Result<Exporter::Made> Exporter::keep_or_write(int directory, const Object& object, bool anew) {
  if (options_.same == Same::kKeep && !anew) {
    HEXAD_TRY_ASSIGN(const bool kept, keep_same(directory, object));
    if (kept) return Made::kKept;
  }
  HEXAD_TRY(write_file_or_link(directory, object));
  return Made::kWritten;
}

Status Exporter::write_file_or_link(int directory, const Object& object) {
  return object.posix().type == FileType::kSymlink ? write_symlink(directory, object)
                                                   : write_file(directory, object);
}

Result<bool> Exporter::keep_same(int directory, const Object& object) {
  if (object.posix().type == FileType::kSymlink) return keep_same_link(directory, object);
  struct stat info = {};
  const std::string& leaf = object.path.leaf;
  if (fstatat(directory, leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (written_.has_other(directory, leaf)) return other_spelling_error();
  // A file with other names might change under those.
  if (!has_same(info, object) || (info.st_nlink > 1 && object.posix().link.empty())) return false;
  const Fd file(openat(directory, leaf.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return false;
  HEXAD_TRY_ASSIGN(const bool current, is_current(file.get(), info, object));
  if (!current) return false;
  HEXAD_TRY_ASSIGN(const MetadataLoss loss, restore_metadata(file.get(), object.posix(),
                                                             object.fallback_time(), rules_, leaf));
  note(object.name(), loss);
  record(file.get(), object);
  written_.add(info);
  return true;
}

Result<bool> Exporter::is_same_link(int directory, const Object& object) {
  HEXAD_TRY_ASSIGN(const std::string target, read_target(object));
  std::string found(PATH_MAX, '\0');
  const ssize_t size = readlinkat(directory, object.path.leaf.c_str(), found.data(), found.size());
  return size >= 0 && found.compare(0, static_cast<std::size_t>(size), target) == 0;
}

Result<bool> Exporter::keep_same_link(int directory, const Object& object) {
  const std::string& leaf = object.path.leaf;
  HEXAD_TRY_ASSIGN(const bool same, is_same_link(directory, object));
  struct stat info = {};
  if (!same || fstatat(directory, leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (written_.has_other(directory, leaf)) return other_spelling_error();
  if (info.st_nlink > 1 && object.posix().link.empty()) return false;
  HEXAD_TRY_ASSIGN(const MetadataLoss loss,
                   restore_link_metadata(directory, leaf, object.posix(), rules_, leaf));
  note(object.name(), loss);
  written_.add(info);
  return true;
}

Result<std::string> Exporter::read_target(const Object& object) {
  const std::uint64_t size = object.stat().size;
  if (size == 0 || size >= PATH_MAX) {
    return Error{ErrorCode::kInvalidArgument,
                 "the target of the link has " + std::to_string(size) + " bytes", ""};
  }
  Result<Bytes> target = store_.get(session_.collection(), object.name());
  if (!target.ok()) return store_failed(target.error());
  return std::string(as_text(*target));
}

Status Exporter::put_in_place(int directory, TemporaryEntry& written, const Object& object) {
  const std::string& leaf = object.path.leaf;
  if (written_.has_other(directory, leaf)) return other_spelling_error();
  struct stat info = {};
  if (fstatat(directory, written.name().c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error(errno, leaf, "cannot look at");
  }
  HEXAD_TRY(written.rename_to(leaf));
  written_.add(info);
  return {};
}

Status Exporter::write_symlink(int directory, const Object& object) {
  const std::string& leaf = object.path.leaf;
  HEXAD_TRY_ASSIGN(const std::string target, read_target(object));
  TemporaryEntry temporary(directory);
  HEXAD_TRY(temporary.make(
      leaf, [&](const char* name) { return symlinkat(target.c_str(), directory, name); }));
  HEXAD_TRY_ASSIGN(const MetadataLoss loss, restore_link_metadata(directory, temporary.name(),
                                                                  object.posix(), rules_, leaf));
  HEXAD_TRY(put_in_place(directory, temporary, object));
  note(object.name(), loss);
  return {};
}

Status Exporter::write_file(int directory, const Object& object) {
  const std::string& leaf = object.path.leaf;
  TemporaryEntry temporary(directory);
  HEXAD_TRY_ASSIGN(const Fd file, temporary.open(leaf));
  HEXAD_TRY(copy_data(object, file.get()));
  HEXAD_TRY_ASSIGN(const MetadataLoss loss, restore_metadata(file.get(), object.posix(),
                                                             object.fallback_time(), rules_, leaf));
  HEXAD_TRY(put_in_place(directory, temporary, object));
  note(object.name(), loss);
  record(file.get(), object);
  return {};
}

Status Exporter::copy_data(const Object& object, int fd) {
  const std::string& leaf = object.path.leaf;
  std::uint64_t end = 0;  // of what was written
  const auto write = [&](const ObjectPiece& piece, ByteView data) -> Status {
    progress_.advance(piece.length);
    if (piece.hole) return leave_hole(fd, piece.end(), SEEK_SET, leaf);
    end = piece.end();
    return write_all(fd, data, leaf);
  };
  const std::uint64_t size = object.stat().size;
  if (const std::optional<ObjectBody>& body = object.opened.body; body.has_value()) {
    ByteView left = body->data;
    for (const ObjectPiece& piece : body->pieces) {
      const ByteView data = left.first(piece.hole ? 0 : piece.length);
      HEXAD_TRY(write(piece, data));
      left = left.subspan(data.size());
    }
  } else {
    PieceReader pieces(store_, *readers_, session_.collection(), object.name(), size,
                       PieceReader::kPieceBytes, &session_.wrong_reads());
    for (;;) {
      if (interrupted()) return interrupted_error();
      const Result<std::optional<PieceReader::Piece>> piece = pieces.next();
      if (!piece.ok()) return store_failed(piece.error());
      if (!piece->has_value()) break;
      HEXAD_TRY(write((*piece)->where, (*piece)->data));
    }
  }
  // A hole at the end is none until the size says so.
  if (end == size || ftruncate(fd, static_cast<off_t>(size)) == 0) return {};
  return system_error(errno, leaf, "cannot set the size");
}

Result<bool> Exporter::shows_same_as(const Object& object, const std::string& first) {
  const std::string& collection = session_.collection();
  HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectReader> other,
                   store_.open_reader(collection, first));
  const std::uint64_t size = object.stat().size;
  if (other->stat().size != size) return false;
  HEXAD_TRY_ASSIGN(PosixAttributes posix,
                   load_posix_attributes(store_, collection, first, other->attributes()));
  posix.mark = object.posix().mark;  // links may have been made between the imports of the two
  if (posix != object.posix()) return false;
  return same_objects(store_, *readers_, collection, object.name(), first, size);
}

Result<std::optional<Exporter::Made>> Exporter::link_to(int directory, const Object& object,
                                                        const std::string& first) {
  const std::optional<Made> none;
  // Objects of one group are changed one by one: what has become another file is written as one.
  const Result<bool> same = shows_same_as(object, first);
  if (!same.ok()) return store_failed(same.error());
  if (!*same) return none;
  const std::string& leaf = object.path.leaf;
  HEXAD_TRY_ASSIGN(const ObjectPath path, split_object_name(first));
  HEXAD_TRY_ASSIGN(const int source, tree_->directory(path.parents));
  struct stat its = {};
  struct stat mine = {};
  if (fstatat(source, path.leaf.c_str(), &its, AT_SYMLINK_NOFOLLOW) == 0 &&
      fstatat(directory, leaf.c_str(), &mine, AT_SYMLINK_NOFOLLOW) == 0 && is_one_file(its, mine)) {
    if (may_be_one_name(first, object.name()) && is_other_spelling(directory, leaf)) {
      return other_spelling_error();
    }
    return std::optional<Made>(options_.same == Same::kKeep ? Made::kKept : Made::kLinked);
  }
  TemporaryEntry temporary(directory);
  const Status linked = temporary.make(leaf, [&](const char* name) {
    return linkat(source, path.leaf.c_str(), directory, name, 0);
  });
  if (!linked.ok()) {
    report_.lose(
        session_.out(), object.name(),
        linked.error().with_context("a file of its own, not a link of " + display_name(first)));
    return none;
  }
  HEXAD_TRY(put_in_place(directory, temporary, object));
  return std::optional<Made>(Made::kLinked);
}

}  // namespace hexad::tools
