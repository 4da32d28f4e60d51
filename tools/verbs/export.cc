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
    arguments.flag("--set-id", set_id_, "Restore set-user-id and set-group-id bits too");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(prefix_, session.name(prefix_));
    return session.with_store(Access::kReadOnly, [&](Store& store) -> Result<int> {
      // An unknown collection should not leave an empty directory behind.
      HEXAD_TRY(store.list(session.collection(), ListOptions{prefix_, "", "", 1}));
      HEXAD_TRY_ASSIGN(SafeTree tree, SafeTree::open(directory_));
      Exporter exporter(session, store, std::move(tree),
                        set_id_ ? SetIdBits::kKeep : SetIdBits::kDrop);
      HEXAD_TRY(exporter.run(prefix_));
      exporter.report().print(session.out(), "exported");
      return exporter.report().exit_code();
    });
  }

 private:
  std::string directory_;
  std::string prefix_;
  bool set_id_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_export() { return std::make_unique<Export>(); }

}  // namespace hexad::tools
