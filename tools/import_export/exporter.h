// Writes objects below a directory: what an import stored comes back as it was.
//
//   I5  two names are linked only if their objects show the same bytes and remember the same
//   I7  with --update a file stays as it is only if it has size and time of its object, and an
//       export has noted that the one shows the other and neither has changed since, or it shows
//       its bytes
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/executor.h"
#include "tools/cli/progress.h"
#include "tools/cli/verb.h"
#include "tools/import_export/export_delete.h"
#include "tools/import_export/export_record.h"
#include "tools/import_export/file_metadata.h"
#include "tools/import_export/local_entries.h"
#include "tools/import_export/object_ahead.h"
#include "tools/import_export/object_path.h"
#include "tools/import_export/posix_attributes.h"
#include "tools/import_export/safe_tree.h"
#include "tools/import_export/temporary_entry.h"
#include "tools/import_export/transfer_options.h"
#include "tools/import_export/transfer_report.h"
#include "tools/import_export/written_files.h"

namespace hexad::tools {

// Each file is written under a temporary name and renamed when it is whole; existing files and
// links are replaced, as tar does. Directories get what they remember when the last name below them
// has been written. Names of one link group become links of one file, if their objects still show
// the same. Objects are read ahead on several threads; everything else happens on the caller's.
// Memory: what is read ahead (AheadLimits) or six pieces of data, one page of names, an entry per
// link group, and a few bits to 64 bytes per file (WrittenFiles).
class Exporter {
 public:
  // All outlive the exporter. In a dry run nothing is written, and `directory` need not be there.
  Exporter(Session& session, Store& store, std::string directory, const MetadataRules& rules,
           const TransferOptions& options);

  // Files of the pool itself, which --delete leaves alone. `directory`: where its description is;
  // empty: nowhere.
  void leave_alone(const PoolDescription& pool, const std::string& directory);
  // Everything that begins with `prefix`, then makes it durable. Errors: the listing fails, no
  // space, a signal, no object where everything else would be deleted. Objects that could not be
  // written are in the report.
  Status run(const std::string& prefix);

  const TransferReport& report() const { return report_; }

 private:
  struct PendingDirectory {
    std::string name;  // of the object, ends in "/"
    ObjectPath path;
    PosixAttributes posix;
  };
  struct Object {
    const OpenObject& opened;
    ObjectPath path;

    const std::string& name() const { return opened.name; }
    const PosixAttributes& posix() const { return opened.posix; }
    const ObjectStat& stat() const { return opened.reader->stat(); }
    // Of what remembers none: when the object was changed.
    FileTime fallback_time() const;
    FileTime time() const { return posix().mtime.value_or(fallback_time()); }
  };
  // What was done for a name, by way of counting.
  enum class Made : std::uint8_t { kWritten, kLinked, kKept };

  Status delete_first(const std::string& prefix);
  Status add_sizes(const std::string& prefix);
  bool wants_data(const OpenObject& opened) const;
  // Errors only when going on makes no sense.
  Status export_object(const OpenObject& opened);
  Status export_directory(const Object& object);
  Status export_leaf(const Object& object);
  Status plan_leaf(const Object& object);  // of a dry run
  Result<bool> would_keep(const Object& object);
  Result<std::optional<struct stat>> find_then(const std::string& name);
  Result<bool> would_keep_link(const Object& object, const std::string& first);
  // Writes, links or keeps it.
  Result<Made> make_leaf(int directory, const Object& object);
  // anew: even with --update.
  Result<Made> keep_or_write(int directory, const Object& object, bool anew);
  Status write_file_or_link(int directory, const Object& object);
  // Gives what was written the object's name (I9).
  Status put_in_place(int directory, TemporaryEntry& written, const Object& object);
  Status write_symlink(int directory, const Object& object);
  Status write_file(int directory, const Object& object);
  Status copy_data(const Object& object, int fd);
  // Whether the local file has size and time of the object already; its metadata is brought up. A
  // symbolic link has to have the target, too.
  Result<bool> keep_same(int directory, const Object& object);
  bool has_same(const struct stat& info, const Object& object) const;
  // The same of the open file's bytes. Compares them, unless they are known to be the same.
  Result<bool> is_current(int fd, const struct stat& info, const Object& object);
  Result<bool> keep_same_link(int directory, const Object& object);
  // Whether a link with the object's target is there.
  Result<bool> is_same_link(int directory, const Object& object);
  Result<std::string> read_target(const Object& object);
  // Makes it a link of the file of object `first`. Nothing: it has to be written.
  Result<std::optional<Made>> link_to(int directory, const Object& object,
                                      const std::string& first);
  Result<bool> shows_same_as(const Object& object, const std::string& first);
  void note(const std::string& name, const MetadataLoss& loss);
  // The file shows the object now, also to the next export.
  void record(int fd, const Object& object);
  void open_record(const std::string& prefix);
  // Gives the directories that `name` is not below what they remember; names come sorted, so
  // nothing more will be written there.
  void finish_directories(const std::string& name);
  // Sorts a failure: the end of everything, or a line in the report.
  Status judge(const std::string& name, const Status& status);
  // Remembers that the failure is one of the store.
  Error store_failed(const Error& error);
  void say(const char* what, const std::string& name);

  Session& session_;
  Store& store_;
  std::string directory_;
  MetadataRules rules_;
  TransferOptions options_;
  std::optional<SafeTree> tree_;        // not of a dry run
  std::optional<LocalEntries> before_;  // of a dry run
  Fd root_;                             // of before_
  ExportRecord record_;
  WrittenFiles written_;
  Progress progress_;
  std::unique_ptr<io::Executor> readers_;
  TransferReport report_;
  std::vector<PendingDirectory> pending_;
  std::map<std::string, std::string> groups_;  // link group to the object that was written first
  // Of a dry run: those of these objects that would be written, and how many names of a local file.
  std::set<std::string> rewritten_;
  std::map<std::pair<dev_t, ino_t>, nlink_t> names_left_;
  FileIds left_alone_;
  Status store_failure_;  // of the object at hand, to tell it from failures of local files
};

}  // namespace hexad::tools
