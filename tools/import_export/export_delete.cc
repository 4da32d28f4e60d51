#include "tools/import_export/export_delete.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tools/cli/file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/part_file.h"

namespace hexad::tools {

namespace {

std::pair<dev_t, ino_t> identity(const struct stat& info) { return {info.st_dev, info.st_ino}; }

// Whether something that stays is below a directory.
class Search final : public TreeVisitor {
 public:
  explicit Search(const FileIds& kept) : kept_(kept) {}
  Result<Descend> visit(const TreeEntry& entry) override {
    found_ = found_ || kept_.contains(identity(entry.info));
    return found_ ? Descend::kSkip : Descend::kEnter;
  }
  // What cannot be looked at is left alone.
  void unreadable(const std::string& /*path*/, const Error& /*error*/) override { found_ = true; }
  bool found() const { return found_; }

 private:
  const FileIds& kept_;
  bool found_ = false;
};

// A directory is empty behind its last child, which is when it can go: children first.
Status remove_tree(int directory, const std::string& leaf, bool is_directory,
                   const std::string& path) {
  if (!is_directory) {
    if (unlinkat(directory, leaf.c_str(), 0) == 0 || errno == ENOENT) return {};
    return system_error(errno, path, "cannot delete");
  }
  const Fd inside(openat(directory, leaf.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inside.valid()) return system_error(errno, path, "cannot open the directory");
  HEXAD_TRY_ASSIGN(const std::vector<std::string> names, names_in_directory(inside.get(), path));
  for (const std::string& name : names) {
    struct stat info = {};
    if (fstatat(inside.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    HEXAD_TRY(remove_tree(inside.get(), name, S_ISDIR(info.st_mode), path + "/" + name));
  }
  if (unlinkat(directory, leaf.c_str(), AT_REMOVEDIR) == 0) return {};
  return system_error(errno, path, "cannot delete the directory");
}

class Deletion final : public TreeVisitor {
 public:
  Deletion(Session& session, Store& store, const std::string& root, const std::string& prefix,
           const FileIds& kept, Run run, const std::function<void(const std::string&)>& say,
           TransferReport& report)
      : session_(session),
        store_(store),
        root_(root),
        prefix_(prefix),
        kept_(kept),
        run_(run),
        say_(say),
        report_(report) {}

  Result<Descend> visit(const TreeEntry& entry) override {
    if (interrupted()) return interrupted_error();
    const bool directory = S_ISDIR(entry.info.st_mode);
    const std::string name = entry.path + (directory ? "/" : "");
    if (directory && name != prefix_ && prefix_.starts_with(name)) return Descend::kEnter;
    if (!name.starts_with(prefix_) || kept_.contains(identity(entry.info))) return Descend::kSkip;
    if (!directory && is_part_name(entry.leaf)) return Descend::kSkip;
    HEXAD_TRY_ASSIGN(const bool wanted, is_wanted(name));
    if (wanted) return Descend::kEnter;
    if (directory && holds_kept(entry.path)) return Descend::kEnter;
    say_(name);
    if (run_ == Run::kReal) {
      const Status status = remove_tree(entry.directory_fd, entry.leaf, directory, entry.path);
      if (!status.ok()) {
        unreadable(entry.path, status.error());
        return Descend::kSkip;
      }
    }
    ++report_.deleted;
    return Descend::kSkip;
  }

  void unreadable(const std::string& path, const Error& error) override {
    report_.fail_local(session_.out(), path.empty() ? "." : path, error);
  }

 private:
  // A directory is also made for the objects below it.
  Result<bool> is_wanted(const std::string& name) {
    if (name.size() > kMaxNameSize) return false;
    if (!name.ends_with('/')) return store_.exists(session_.collection(), name);
    HEXAD_TRY_ASSIGN(const ListPage page,
                     store_.list(session_.collection(), ListOptions{name, "", "", 1}));
    return !page.entries.empty();
  }

  bool holds_kept(const std::string& path) const {
    if (kept_.empty()) return false;
    Search search(kept_);
    return !walk_tree(root_ + "/" + path, search).ok() || search.found();
  }

  Session& session_;
  Store& store_;
  const std::string& root_;
  const std::string& prefix_;
  const FileIds& kept_;
  Run run_;
  const std::function<void(const std::string&)>& say_;
  TransferReport& report_;
};

}  // namespace

Status delete_extra(Session& session, Store& store, const std::string& directory,
                    const std::string& prefix, const FileIds& kept, Run run,
                    const std::function<void(const std::string&)>& say, TransferReport& report) {
  Deletion deletion(session, store, directory, prefix, kept, run, say, report);
  return walk_tree(directory, deletion);
}

}  // namespace hexad::tools
