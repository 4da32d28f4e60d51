// hexad import: a directory tree into the pool.
#include <fmt/format.h>

#include "tools/import_export/importer.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class Import final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("DIR", directory_, "Directory whose content is stored");
    arguments.option("--prefix", prefix_, "Put this text before every path");
    arguments.flag("--update", update_,
                   "Do not read files again that are stored with this size and time");
    arguments.flag("--delete", delete_, "Remove objects under the prefix that are not in DIR");
    arguments.flag("-n,--dry-run", dry_run_, "Only say what would be done; change nothing");
    arguments.flag("-x,--one-file-system", one_file_system_,
                   "Leave out what is in directories on which other file systems are mounted");
    arguments.flag("--no-xattrs", no_xattrs_,
                   "Leave extended attributes, ACLs and capabilities out");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(prefix_, session.name(prefix_));
    HEXAD_TRY_ASSIGN(const PoolDescription pool, session.pool().describe());
    const Access access = dry_run_ ? Access::kReadOnly : Access::kReadWrite;
    return session.with_store(access, [&](Store& store) -> Result<int> {
      Importer importer(session, store, prefix_, options());
      importer.leave_out(pool);
      const Status status = importer.run(directory_);
      if (!status.ok() && importer.acknowledged_objects() == 0) return status.error();
      if (!status.ok()) {
        session.out().warn(fmt::format(
            "import ended early; {} objects are stored; with --update the next one goes on there",
            importer.acknowledged_objects()));
        return status.error();
      }
      importer.report().print(session.out(), dry_run_ ? "would have imported" : "imported");
      return importer.report().exit_code();
    });
  }

 private:
  TransferOptions options() const {
    TransferOptions options;
    if (update_) options.same = Same::kKeep;
    if (delete_) options.extra = Extra::kDelete;
    if (dry_run_) options.run = Run::kDry;
    if (no_xattrs_) options.xattrs = Xattrs::kDrop;
    if (one_file_system_) options.mounts = Mounts::kSkip;
    return options;
  }

  std::string directory_;
  std::string prefix_;
  bool update_ = false;
  bool delete_ = false;
  bool dry_run_ = false;
  bool no_xattrs_ = false;
  bool one_file_system_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_import() { return std::make_unique<Import>(); }

}  // namespace hexad::tools
