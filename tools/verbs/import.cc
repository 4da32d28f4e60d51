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
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(prefix_, session.name(prefix_));
    HEXAD_TRY_ASSIGN(const PoolDescription pool, session.pool().describe());
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      Importer importer(session, store, prefix_);
      importer.leave_out(pool);
      const Status status = importer.run(directory_);
      if (!status.ok()) {
        session.out().warn(fmt::format("import ended early; {} objects are stored",
                                       importer.acknowledged_objects()));
        return status.error();
      }
      importer.report().print(session.out(), "imported");
      return importer.report().exit_code();
    });
  }

 private:
  std::string directory_;
  std::string prefix_;
};

}  // namespace

std::unique_ptr<Verb> make_import() { return std::make_unique<Import>(); }

}  // namespace hexad::tools
