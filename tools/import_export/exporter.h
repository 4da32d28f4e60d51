// Writes objects below a directory: what an import stored comes back as it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/progress.h"
#include "tools/cli/verb.h"
#include "tools/import_export/object_path.h"
#include "tools/import_export/posix_attributes.h"
#include "tools/import_export/safe_tree.h"
#include "tools/import_export/transfer_report.h"

namespace hexad::tools {

// Set-user-id and set-group-id bits: owners are not restored, so by default neither are these.
enum class SetIdBits : std::uint8_t { kDrop, kKeep };

// Each file is written under a temporary name and renamed when it is whole; existing files and
// links are replaced, as tar does. Directories get their mode and time when the last name below
// them has been written. Memory: one piece of data, one page of names.
class Exporter {
 public:
  // All outlive the exporter.
  Exporter(Session& session, Store& store, SafeTree tree, SetIdBits set_id_bits);

  // Everything that begins with `prefix`, then makes it durable. Errors: the listing fails, no
  // space, a signal. Objects that could not be written are in the report.
  Status run(const std::string& prefix);

  const TransferReport& report() const { return report_; }

 private:
  struct PendingDirectory {
    std::string name;  // of the object, ends in "/"
    ObjectPath path;
    PosixAttributes posix;
  };

  // Errors only when going on makes no sense.
  Status export_object(const std::string& name);
  Status export_directory(const std::string& name, const ObjectPath& path, ObjectReader& reader);
  Status export_symlink(int directory, const ObjectPath& path, ObjectReader& reader);
  Status export_file(int directory, const ObjectPath& path, ObjectReader& reader);
  Status copy_data(ObjectReader& reader, int fd, const std::string& leaf);
  // Sets modes and times of the directories that `name` is not below; names come sorted, so
  // nothing more will be written there.
  void finish_directories(const std::string& name);
  Status set_metadata(int fd, const PosixAttributes& posix, std::int64_t fallback_mtime,
                      const std::string& leaf) const;
  // Sorts a failure: the end of everything, or a line in the report.
  Status judge(const std::string& name, const Status& status);

  Session& session_;
  Store& store_;
  SafeTree tree_;
  SetIdBits set_id_bits_;
  Progress progress_;
  TransferReport report_;
  Bytes piece_;
  std::vector<PendingDirectory> pending_;
  Status store_failure_;  // of the object at hand, to tell it from failures of local files
  std::uint64_t next_temporary_ = 0;
  std::uint32_t umask_;
};

}  // namespace hexad::tools
