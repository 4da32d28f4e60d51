// Stores a directory tree: small files many per transaction, large ones through a writer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/progress.h"
#include "tools/cli/verb.h"
#include "tools/import_export/import_target.h"
#include "tools/import_export/local_entries.h"
#include "tools/import_export/posix_attributes.h"
#include "tools/import_export/source_file.h"
#include "tools/import_export/transfer_options.h"
#include "tools/import_export/transfer_report.h"
#include "tools/import_export/tree_walk.h"

namespace hexad::tools {

// Every name is `prefix` followed by the path relative to the directory; a directory's own object
// has a "/" behind it. The directory itself gets no object.
//
//   I8  with --update a file is not stored again only if it is the one that the object remembers,
//   in
//       the state that it remembers, or has its bytes
//
// A file is stored as it was at one time, or not at all: one that changes while it is read is read
// again, and given up in the end. What was stored of it before stays then. Memory: some batches of
// 8 MiB, and an entry for every file that has several names.
class Importer final : private TreeVisitor {
 public:
  // All outlive the importer. In a dry run the store may be open read-only.
  Importer(Session& session, Store& store, std::string prefix, const TransferOptions& options);

  // Files of the pool itself, which must not be stored in it.
  void leave_out(const PoolDescription& pool);
  // Returns when everything is durable. Errors: the store does not take more (report() says what it
  // has taken), a signal, or nothing to import where everything else would be deleted. Files that
  // cannot be read are in the report.
  Status run(const std::string& directory);

  const TransferReport& report() const { return report_; }
  // Objects that are durable, also after an error.
  std::uint64_t acknowledged_objects() { return target_.acknowledged_objects(); }

 private:
  using Present = std::optional<ImportTarget::Present>;
  // Several names of one file.
  struct LinkGroup {
    std::string first;  // the object that has its data
    std::string id;     // PosixAttributes::link
  };
  // What one attempt at reading a file has come to.
  enum class Taken : std::uint8_t { kStored, kChanged, kLeftOut };

  Result<Descend> visit(const TreeEntry& entry) override;
  void unreadable(const std::string& path, const Error& error) override;

  // Whether no object holds so much, as of a file with holes, which is reported.
  bool is_too_long(const TreeEntry& entry, const struct stat& info);
  Status add_directory(const TreeEntry& entry, const std::string& name);
  // A file or a symbolic link: a further name, unchanged, or to be stored.
  Status add_leaf(const TreeEntry& entry, const std::string& name);
  Result<bool> add_further_name(const TreeEntry& entry, const ImportTarget::File& file,
                                const LinkGroup& group);
  // Whether the file, or link, shows the bytes of the object, and is still as `entry` found it.
  Result<bool> has_bytes_of(const TreeEntry& entry, const ImportTarget::File& file);
  // Whether `--update` has nothing more to do.
  Result<bool> keep_unchanged(const TreeEntry& entry, const ImportTarget::File& file);
  Status store_symlink(const TreeEntry& entry, const std::string& name,
                       const PosixAttributes& posix, const Present& present);
  Status store_file(const TreeEntry& entry, const std::string& name, const std::string& link,
                    const Present& present);
  Result<Taken> take(SourceFile& source, const TreeEntry& entry, const std::string& name,
                     const std::string& link, const Present& present);
  // The whole content is in piece_, or `ranges` fills it and more may come.
  Result<Taken> take_large(SourceFile& source, const TreeEntry& entry,
                           const ImportTarget::File& file, const std::vector<ByteRange>& ranges);
  Result<Taken> given_up(const TreeEntry& entry, const Error& error);
  // False: they could not be read, which is reported.
  bool read_xattrs(const TreeEntry& entry, PosixAttributes& posix);
  void stored(const TreeEntry& entry, const ImportTarget::File& file, std::uint64_t size);
  std::string link_for(const TreeEntry& entry, const Present& present);
  Status delete_gone(const std::string& directory);
  bool is_gone(LocalEntries& local, std::string relative);
  // A line of a dry run.
  void say(const char* what, const std::string& name);

  Session& session_;
  std::string prefix_;
  TransferOptions options_;
  Store& store_;
  ImportTarget target_;
  Progress progress_;
  TransferReport report_;
  std::set<std::pair<dev_t, ino_t>> left_out_;
  std::optional<dev_t> file_system_;  // directories of others are not entered; nothing: they are
  std::map<std::pair<dev_t, ino_t>, LinkGroup> groups_;
  std::set<std::string> used_links_;
  std::string run_id_;  // of new link groups
  std::uint64_t entries_ = 0;
  Bytes piece_;
};

}  // namespace hexad::tools
