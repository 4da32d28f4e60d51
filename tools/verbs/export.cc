// hexad export: objects back into a directory tree.
#include "tools/import_export/exporter.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class Export final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("DIR", directory_, "Where to write; existing files are replaced");
    arguments.option("--prefix", prefix_, "Only objects whose names begin with this");
    arguments.flag("--update", update_,
                   "Do not write files again that have the size and time of their object");
    arguments.flag("--delete", delete_,
                   "Remove what is in DIR and is no object, as far as the prefix reaches");
    arguments.flag("-n,--dry-run", dry_run_, "Only say what would be done; change nothing");
    arguments.flag("--no-xattrs", no_xattrs_,
                   "Leave extended attributes, ACLs and capabilities as they are");
    arguments.flag("--no-owner", no_owner_, "Leave owner and group as they are");
    arguments.flag("--no-repair", no_repair_, kNoRepairHelp);
    arguments.flag("--set-id", set_id_,
                   "Set-user-id and set-group-id bits also for files that get another owner");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(prefix_, session.name(prefix_));
    HEXAD_TRY_ASSIGN(const PoolDescription pool, session.pool().describe());
    if (no_repair_) session.leave_wrong_reads();
    return session.with_store(Access::kReadOnly, [&](Store& store) -> Result<int> {
      // An unknown collection should not leave an empty directory behind.
      HEXAD_TRY(store.list(session.collection(), ListOptions{prefix_, "", "", 1}));
      MetadataRules rules;
      if (no_owner_) rules.owners = Owners::kIgnore;
      if (set_id_) rules.set_id_bits = SetIdBits::kKeep;
      Exporter exporter(session, store, directory_, rules, options());
      exporter.leave_alone(pool, session.pool().directory);
      const Status status = exporter.run(prefix_);
      if (!status.ok() && !exporter.report().has_done_anything()) return status.error();
      if (!status.ok()) {
        session.out().warn("export ended early; with --update the next one goes on there");
        return status.error();
      }
      exporter.report().print(session.out(), dry_run_ ? "would have exported" : "exported");
      return exporter.report().exit_code();
    });
  }

 private:
  TransferOptions options() const {
    TransferOptions options;
    if (update_) options.same = Same::kKeep;
    if (delete_) options.extra = Extra::kDelete;
    if (dry_run_) options.run = Run::kDry;
    if (no_xattrs_) options.xattrs = Xattrs::kDrop;
    return options;
  }

  std::string directory_;
  std::string prefix_;
  bool no_repair_ = false;
  bool update_ = false;
  bool delete_ = false;
  bool dry_run_ = false;
  bool no_xattrs_ = false;
  bool no_owner_ = false;
  bool set_id_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_export() { return std::make_unique<Export>(); }

}  // namespace hexad::tools
