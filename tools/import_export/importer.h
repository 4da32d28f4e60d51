// Stores a directory tree: small files many per transaction, large ones through a writer.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "tools/cli/progress.h"
#include "tools/cli/verb.h"
#include "tools/import_export/batch_committer.h"
#include "tools/import_export/posix_attributes.h"
#include "tools/import_export/transfer_report.h"
#include "tools/import_export/tree_walk.h"

namespace hexad::tools {

// Every name is `prefix` followed by the path relative to the directory; a directory's own object
// has a "/" behind it. The directory itself gets no object.
class Importer final : private TreeVisitor {
 public:
  // All outlive the importer.
  Importer(Session& session, Store& store, std::string prefix);

  // Files of the pool itself, which must not be stored in it.
  void leave_out(const PoolDescription& pool);
  // Returns when everything is durable. Errors: the store does not take more (report() says what it
  // has taken), or a signal. Files that cannot be read are in the report.
  Status run(const std::string& directory);

  const TransferReport& report() const { return report_; }
  // Objects that are durable, also after an error.
  std::uint64_t acknowledged_objects() { return committer_.acknowledged().objects; }

 private:
  Result<Descend> visit(const TreeEntry& entry) override;
  void unreadable(const std::string& path, const Error& error) override;

  Status add_file(const TreeEntry& entry, const std::string& name);
  Status add_symlink(const TreeEntry& entry, const std::string& name);
  Status add_directory(const TreeEntry& entry, const std::string& name);
  Status add_large_file(int fd, const BatchCommitter::Object& object, Bytes first_piece);

  Session& session_;
  Store& store_;
  std::string prefix_;
  BatchCommitter committer_;
  Progress progress_;
  TransferReport report_;
  std::set<std::pair<dev_t, ino_t>> left_out_;
};

}  // namespace hexad::tools
